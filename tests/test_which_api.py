"""`bench/when.py`: which calls the table "Which API when?" names for a need."""

import sys

import pytest
from conftest import ROOT
from lenet_bench.show.page import gather
from msgspec.structs import replace
from sample_results import blocks, result

sys.path.insert(0, str(ROOT / "bench"))
from when import Choice, called, from_python


def scattered(name, us, rounds):
    """Starts that are 10 % slower and faster in turns, which hides a difference of 2 %."""
    made = enumerate(blocks(name, us, rounds))
    by = (1.1, 0.9, 0.9, 1.1)  # of one backend and of another, not in step
    shift = int(us) % 2
    return tuple(
        replace(block, samples_ns=(int(1000 * us * by[(number + shift) % 4]),) * 50)
        for number, block in made
    )


@pytest.mark.parametrize(
    ("rounds", "says"),
    [(12, "LiteRT or Halide"), (3, "LiteRT; too few starts to be sure")],
)
def test_calls_that_a_run_cannot_tell_apart_are_named_together(rounds, says):
    rows = {"fused": 20, "litert": 50, "halide": 51, "mnn": 90, "caffe": 50, "torch:cpp": 50}
    made = result(*(scattered(name, us, rounds) for name, us in rows.items()))
    (run,) = gather([("run.jsonl", made)])
    ways = from_python(run.rows)
    assert [row["name"] for row in ways] == ["litert", "halide", "mnn"]
    assert Choice("a file", run, ways).calls(called) == says

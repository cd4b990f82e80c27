"""`bench/when.py`: which calls the table "Which API when?" names for a need."""

import ast
import sys
from typing import Any

import pytest
from conftest import ROOT
from lenet_bench.show.page import gather
from sample_results import result, timed_starts

sys.path.insert(0, str(ROOT / "bench"))
from when import BATCH, MADE, WRITTEN, Choice, called, from_python, of_many_images


def scattered(name, us, rounds):
    """Starts that are 10 % slower and faster in turns, which hides a difference of 2 %."""
    by = (1.1, 0.9, 0.9, 1.1)  # of one backend and of another, not in step
    return timed_starts(name, *(us * by[(number + int(us)) % 4] for number in range(rounds)))


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


def test_a_loop_of_calls_is_no_call_with_many_images():
    """In the published run some had the batches of another call."""
    rates = {"openvino:tensors": 4.0, "litert": 3.0, "torch": 1.0, "openvino": 2.0}
    rows = [{"name": name, "rates": {BATCH: rate}} for name, rate in rates.items()]
    rows.append({"name": "numpy", "rates": {}})
    assert [row["name"] for row in of_many_images(rows)] == ["openvino", "torch"]


@pytest.mark.parametrize("name", WRITTEN)
def test_the_line_of_a_call_builds_nothing(name):
    """What is built in it would be loaded or compiled at each call."""
    line = WRITTEN[name]
    expression: Any = ast.parse(line).body[0]
    assert not any(isinstance(part, ast.Call) for part in ast.walk(expression.value.func))
    assert line.startswith(MADE.get(name, line).partition(" = ")[0])

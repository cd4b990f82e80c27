"""The table of APIs in C++ beside the same in Python."""

import sys
from pathlib import Path

from lenet_bench import units
from lenet_bench.results import read_result
from sample_results import blocks, log, write_log

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
from without_python import PAIRS, without_python


def test_each_pair_has_both_medians_and_their_ratio(tmp_path: Path) -> None:
    rows = [
        blocks(name, us, lines_of_code=int(us))
        for pair in PAIRS.items()
        for name, us in zip(pair, (60, 90), strict=True)
    ]
    write_log(tmp_path / "run.jsonl", log(*rows))
    found = read_result(tmp_path / "run.jsonl")
    slow, fast = (found.row(name).summary.p50_us for name in ("torch", "torch:cpp"))
    (line,) = [
        line for line in without_python(tmp_path / "run.jsonl") if line.startswith("| torch ")
    ]
    name, python, cpp, of_that, bounds, *lines = (
        cell.strip() for cell in line.strip("|").split("|")
    )
    assert (name, python, cpp) == ("torch", units.time(slow), units.time(fast))
    assert of_that == units.ratio(fast / slow)
    low, high = map(float, bounds.split("-"))
    assert low <= float(of_that) <= high
    assert lines == ["90", "60"]

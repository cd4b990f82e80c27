"""The table of APIs in C++ beside the same in Python."""

from collections.abc import Iterator
from pathlib import Path

from lenet_bench.results import read_result, start_medians_us
from lenet_bench.results.statistics import ratio_interval
from lenet_bench.show.markdown import table as markdown
from lenet_bench.show.sentences import conditions as measured_how
from lenet_bench.units import count, interval, ratio, time

#: In C++, and the nearest variant in Python.
PAIRS = {
    "tensorflow:cpp": "tensorflow:session",
    "onnxruntime:cpp": "onnxruntime",
    "openvino:cpp": "openvino",
    "torch:cpp": "torch",
}


def without_python(path: Path) -> Iterator[str]:
    """Each pair of the result: both medians, their ratio, and the lines of both."""
    result = read_result(path)
    yield from [measured_how(result), ""]
    found = {row.name: row for row in result.backends if row.summary}
    rows: list[tuple[str, ...]] = []
    for pair in PAIRS.items():
        if not found.keys() >= {*pair}:
            continue
        both = in_cpp, in_python = [found[name] for name in pair]
        fast, slow = (row.summary.p50_us if row.summary else None for row in both)
        new, old = (start_medians_us(row.blocks) for row in both)
        bounds = ratio_interval(new, old, result.rules.seed)
        less = ratio(fast / slow) if fast and slow else "-"
        ends = interval(bounds.low, bounds.high) if bounds else "-"
        lines = (count(row.lines_of_code) for row in (in_python, in_cpp))
        rows.append((in_python.name, time(slow), time(fast), less, ends, *lines))
    titles = ("backend", "from Python", "in C++", "C++ / Python", "95 % interval")
    yield from markdown((*titles, "lines in Python", "in C++ "), rows, ("backend",))

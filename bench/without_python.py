"""The table of APIs in C++ beside the same in Python."""

from collections.abc import Iterator
from pathlib import Path

from lenet_bench.cost import lines_of_code
from lenet_bench.results import read_result, start_medians_us
from lenet_bench.results.statistics import ratio_interval
from lenet_bench.show.markdown import table as markdown
from lenet_bench.show.sentences import conditions as measured_how
from lenet_bench.units import interval, ratio, time

#: In C++, and the nearest variant in Python.
PAIRS = {
    "tensorflow:cpp": "tensorflow:session",
    "onnxruntime:cpp": "onnxruntime",
    "openvino:cpp": "openvino",
    "torch:cpp": "torch",
}


def without_python(folder: Path) -> Iterator[str]:
    """Each pair of each result: both medians, their ratio, and the lines of both."""
    for path in sorted(folder.glob("*.jsonl")):
        result = read_result(path)
        yield from [measured_how(result), ""]
        found = {row.name: row for row in result.backends if row.summary}
        rows: list[tuple[str, ...]] = []
        for in_cpp, in_python in PAIRS.items():
            if in_cpp not in found or in_python not in found:
                continue
            both = [found[in_cpp], found[in_python]]
            fast, slow = (row.summary.p50_us if row.summary else None for row in both)
            bounds = ratio_interval(
                *(start_medians_us(row.blocks) for row in both), result.rules.seed
            )
            less = ratio(fast / slow) if fast and slow else "-"
            ends = interval(bounds.low, bounds.high) if bounds else "-"
            lines = (str(lines_of_code(name)) for name in (in_python, in_cpp))
            rows.append((in_python, time(slow), time(fast), less, ends, *lines))
        titles = ("backend", "from Python", "in C++", "of that", "95 % interval")
        yield from markdown((*titles, "lines in Python", "in C++ "), rows, ("backend",))

"""The GPU rungs beside the launch floor, and the frameworks that are installed for a GPU, in one
run; then which goals were reached.

python bench/gpu.py RESULT [--quick] [RUNG...]
"""

import sys
from pathlib import Path

from lenet_bench.backends import find, names
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.options import QUICK_BUDGET_S, CompareOptions, Entry
from lenet_bench.results import Result

FLOOR = Entry(
    "launch floor", factory="lenet_bench.backends.cuda:LaunchFloor", checked=False, device="gpu"
)

#: goal -> rung, what it is compared with, the ratio that it may have at most
GOALS = {
    "cudnn:graph takes at most half of cudnn": ("cudnn:graph", "cudnn", 0.5),
    "cuda:mapped takes at most 1.5 times the floor": ("cuda:mapped", FLOOR.name, 1.5),
    "cuda:persistent takes less than the floor": ("cuda:persistent", FLOOR.name, 1.0),
}

#: whose best on the GPU every rung of ours has to beat
FRAMEWORKS = ("keras", "tensorflow")

#: where one image's time goes, as far as the rung tells (docs/gpu.md)
STAGES = ("enqueue_us", "h2d_us", "kernels_us", "d2h_us", "signals_us")


def main() -> None:
    """Measure, and say which goals were reached."""
    quick, (output, *chosen) = "--quick" in sys.argv, [a for a in sys.argv[1:] if a != "--quick"]
    result = compare(
        CompareOptions(
            rungs=(FLOOR, *(chosen or names(gone=False, device="gpu"))),
            baseline=FLOOR.name,
            budget_s=QUICK_BUDGET_S if quick else 120.0,
            output=Path(output),
        )
    )
    medians = {rung.name: rung.summary.p50_us for rung in result.rungs if rung.summary}
    print_rows(result)
    print_goals(medians)
    if not any(name != FLOOR.name for name in medians):
        raise SystemExit("no GPU rung ran")


def print_rows(result: Result) -> None:
    """A line a rung: its median and its stages, or why it has none."""
    for rung in result.rungs:
        if rung.summary:
            stages = (rung.gpu and rung.gpu.profile_us) or {}
            told = "".join(f"  {name} {stages[name]:.2f}" for name in STAGES if name in stages)
            print(f"{rung.name:20} {rung.summary.p50_us:9.2f} us{told}")
        else:
            print(f"{rung.name:20} {rung.status}: {rung.reason}")


def print_goals(medians: dict[str, float]) -> None:
    """Which were reached, which were not, and which nobody can tell."""
    for goal, (rung, other, allowed) in GOALS.items():
        if absent := [name for name in (rung, other) if name not in medians]:
            print(f"{goal}: not judged, without {' and '.join(absent)}")
            continue
        ratio = medians[rung] / medians[other]
        print(f"{goal}: {ratio:.2f}, {'reached' if ratio <= allowed else 'NOT reached'}")
    ours = [name for name in medians if name != FLOOR.name and not find(name)[0].framework]
    for framework in FRAMEWORKS:
        theirs = [medians[name] for name in medians if name.startswith(framework)]
        slower = [name for name in ours if theirs and medians[name] >= min(theirs)]
        told = f"NOT reached by {', '.join(slower)}" if slower else "reached"
        told = told if theirs else f"not judged, without {framework}"
        print(f"every GPU rung is faster than the best of {framework}: {told}")


if __name__ == "__main__":
    main()

"""The GPU backends beside their floors, and the frameworks that are installed for a GPU, in one
run; then which goals were reached.

python bench/gpu.py RESULT [--quick] [BACKEND...]
"""

import sys
from pathlib import Path

from lenet_bench.measure.comparison import compare
from lenet_bench.measure.options import QUICK_S, CompareOptions, Entry
from lenet_bench.registry import Network, find, names
from lenet_bench.registry.cuda import native
from lenet_bench.results import Result
from lenet_bench.weights import Weights

#: What a way to the GPU and back costs without a network, each for backends that go this way.
COPIES, FLAG, ECHO = FLOORS = tuple(
    Entry(
        name,
        factory=f"{Path(__file__).stem}:{function}",
        path=(str(Path(__file__).parent),),
        checked=False,
        device="gpu",
    )
    for name, function in {
        "floor: launch and copies": "launch_and_copies",
        "floor: launch and flag": "launch_and_flag",
        "floor: resident echo": "resident_echo",
    }.items()
)

#: goal -> backend, what it is compared with, the ratio that it may have at most
GOALS = {
    "cudnn:graph takes at most half of cudnn": ("cudnn:graph", "cudnn", 0.5),
    "cuda:mapped takes at most 0.9 of launch and copies": ("cuda:mapped", COPIES.name, 0.9),
}

#: goal -> backend, the microseconds that it may take at most
LIMITS = {"cuda:persistent takes at most 5 us": ("cuda:persistent", 5.0)}

#: the floor that a backend's time is compared with; where none is named, the first
FLOOR_OF = {"cuda:mapped": FLAG.name, "cuda:persistent": ECHO.name}

#: whose best on the GPU every backend of ours has to beat
FRAMEWORKS = ("keras", "tensorflow")

#: where one image's time goes, as far as the backend says (docs/gpu.md)
STAGES = ("enqueue_us", "h2d_us", "kernels_us", "d2h_us", "signals_us")


def launch_and_copies(weights: Weights, *, threads: int) -> Network:
    """An empty kernel, two copies and a synchronisation."""
    return native().LaunchAndCopies(weights, threads=threads)


def launch_and_flag(weights: Weights, *, threads: int) -> Network:
    """A graph of one kernel that stores a flag in host memory."""
    return native().LaunchAndFlag(weights, threads=threads)


def resident_echo(weights: Weights, *, threads: int) -> Network:
    """A kernel that stays on the GPU and echoes the mailbox."""
    return native().ResidentEcho(weights, threads=threads)


def main() -> None:
    """Measure, and say which goals were reached."""
    quick, (output, *chosen) = "--quick" in sys.argv, [a for a in sys.argv[1:] if a != "--quick"]
    result = compare(
        CompareOptions(
            backends=(*FLOORS, *(chosen or names(gone=False, device="gpu"))),
            baseline=COPIES.name,
            budget_s=QUICK_S if quick else 120.0,
            output=Path(output),
        )
    )
    medians = {
        row.name: row.summary.p50_us
        for row in result.backends
        if row.summary and row.summary.p50_us
    }
    print_rows(result, medians)
    print_goals(medians)
    if not networks(medians):
        raise SystemExit("no GPU backend ran")


def networks(medians: dict[str, float]) -> list[str]:
    """The backends among what was measured."""
    return [name for name in medians if name not in [floor.name for floor in FLOORS]]


def print_rows(result: Result, medians: dict[str, float]) -> None:
    """A line a backend: its median, how many times its floor that is, its stages; or why not."""
    measured = networks(medians)
    for row in result.backends:
        if row.name not in medians:
            print(f"{row.name:24} {row.status}: {row.reason}")
            continue
        floor = medians.get(FLOOR_OF.get(row.name, COPIES.name))
        times = f"  {medians[row.name] / floor:5.2f} of its floor" if floor else ""
        profile = (row.gpu and row.gpu.profile_us) or {}
        stages = "".join(f"  {name} {profile[name]:.2f}" for name in STAGES if name in profile)
        print(
            f"{row.name:24} {medians[row.name]:9.2f} us"
            f"{times if row.name in measured else ''}{stages}"
        )


def print_goals(medians: dict[str, float]) -> None:
    """Which were reached, which were not, and which were not measured."""
    for goal, (name, other, allowed) in GOALS.items():
        if absent := [one for one in (name, other) if one not in medians]:
            print(f"{goal}: not judged, without {' and '.join(absent)}")
            continue
        ratio = medians[name] / medians[other]
        print(f"{goal}: {ratio:.2f}, {'reached' if ratio <= allowed else 'NOT reached'}")
    for goal, (name, limit_us) in LIMITS.items():
        if name not in medians:
            print(f"{goal}: not judged, without {name}")
            continue
        reached = "reached" if medians[name] <= limit_us else "NOT reached"
        print(f"{goal}: {medians[name]:.2f} us, {reached}")
    ours = [name for name in networks(medians) if not find(name)[0].framework]
    for framework in FRAMEWORKS:
        theirs = [medians[name] for name in medians if name.startswith(framework)]
        slower = [name for name in ours if theirs and medians[name] >= min(theirs)]
        verdict = f"NOT reached by {', '.join(slower)}" if slower else "reached"
        verdict = verdict if theirs else f"not judged, without {framework}"
        print(f"every GPU backend is faster than the best of {framework}: {verdict}")


if __name__ == "__main__":
    main()

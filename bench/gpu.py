"""The GPU rungs beside the launch floor, and the frameworks that are installed for a GPU, in one
run; then where the time of one image goes.

python bench/gpu.py FOLDER [--quick]
"""

import json
import sys
from pathlib import Path

import numpy as np
from lenet_bench.backends import find, load, names
from lenet_bench.errors import LenetBenchError
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.options import QUICK_BUDGET_S, CompareOptions, Entry
from lenet_bench.network import IMAGE_SIDE

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


def main() -> None:
    """Measure, profile, and say which goals were reached."""
    output, quick = Path(sys.argv[1]), "--quick" in sys.argv
    rungs = names(gone=False, device="gpu")
    budget_s = QUICK_BUDGET_S if quick else 120.0
    result = compare(
        CompareOptions(
            rungs=(FLOOR, *rungs),
            baseline=FLOOR.name,
            budget_s=budget_s,
            output=output / "compare.json",
        )
    )
    medians = {rung.name: rung.summary.p50_us for rung in result.rungs if rung.summary}
    for name, median in medians.items():
        print(f"{name:20} {median:9.2f} us")
    ours = [name for name in rungs if name in medians and not find(name)[0].framework]
    profiles = {name: profile(name) for name in ours}
    (output / "profile.json").write_text(json.dumps(profiles, indent=1))
    for goal, (rung, other, allowed) in GOALS.items():
        if rung in medians and other in medians:
            ratio = medians[rung] / medians[other]
            print(f"{goal}: {ratio:.2f}, {'reached' if ratio <= allowed else 'NOT reached'}")
    for framework in FRAMEWORKS:
        theirs = [medians[name] for name in medians if name.startswith(framework)]
        slower = [name for name in ours if theirs and medians[name] >= min(theirs)]
        if theirs:
            told = f"NOT reached by {', '.join(slower)}" if slower else "reached"
            print(f"every GPU rung is faster than the best of {framework}: {told}")
    if not profiles:
        raise SystemExit("no GPU rung ran")


def profile(name: str) -> "dict[str, object]":
    """The stages of one image, and what really ran."""
    try:
        net = load(name)
    except LenetBenchError as error:
        return {"error": str(error)}
    image = np.random.default_rng(0).random((IMAGE_SIDE, IMAGE_SIDE), dtype=np.float32)
    split = getattr(net, "profile", None)
    return {"runs": net.describe(), "stages": split(image, 1000) if split else None}


if __name__ == "__main__":
    main()

"""The steps of bench/gpu.sh that know the backends. Each writes as it goes, so that one that is
ended early leaves what it had.

python bench/gpu.py [--quick] STEP FOLDER SECONDS [BACKEND...]
"""

import os
import shutil
import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, TextIO

from lenet_bench.measure.comparison import compare
from lenet_bench.measure.options import CompareOptions, Entry
from lenet_bench.registry import Network, find, names
from lenet_bench.registry.availability import ask
from lenet_bench.registry.cuda import native
from lenet_bench.results import Result, failures
from lenet_bench.weights import Weights

ROOT = Path(__file__).parents[1]

#: For one answer. The slowest framework imports in a tenth of it.
ANSWER_S = 45.0

#: What a step takes after its last block, and compute-sanitizer for one backend.
TO_PRINT_S, SANITIZER_S = 10.0, 60.0

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

#: the floor that a backend's time is compared with; where none is named, the first
FLOOR_OF = {"cuda:mapped": FLAG.name, "cuda:persistent": ECHO.name}


class Goal(NamedTuple):
    """What a backend may take at most, as a multiple of another's time or in microseconds."""

    backend: str
    most: float
    other: str | None = None


GOALS = (
    Goal("cuda:persistent", 5.0),
    Goal("cuda:mapped", 0.9, COPIES.name),
    Goal("cudnn:cudagraph", 0.5, "cudnn"),
)

#: A framework's variants that are timed with its usual one, before the rest.
FASTEST = ("compile", "cudagraph", "reduce_overhead")

#: Six that explain each other: the API, its graph, and our kernels from launches to none.
APART = ("cudnn", "cudnn:cudagraph", "cuda", "cuda:mapped", "cuda:persistent", "torch@gpu")

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


def groups() -> dict[str, list[str]]:
    """Every backend on the GPU by the step that times it."""
    there = names(device="gpu")
    ours = [name for name in there if not find(name)[0].framework]
    first = [name for name in there if name not in ours and is_first(name)]
    rest = [name for name in there if name not in (*ours, *first)]
    return {"ours": ours, "frameworks": first, "rest": rest}


def is_first(name: str) -> bool:
    row, variant = find(name)
    return variant in (row.default, *FASTEST) and variant not in row.reduced


def main() -> None:
    """Do one of the steps; ends with 0 where all is right."""
    parser = ArgumentParser()
    parser.add_argument("step", choices=("infer", *groups(), "verify", "why", "sanitizer"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("seconds", type=float)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("backends", nargs="*")
    given = parser.parse_args()
    step, folder, seconds, quick = given.step, given.folder, given.seconds, given.quick

    def chosen(among: Sequence[str]) -> list[str]:
        return [name for name in among if not given.backends or name in given.backends]

    by_step = {step: chosen(those) for step, those in groups().items()}
    ours, first = by_step["ours"], by_step["frameworks"]
    if step == "infer":
        raise SystemExit(infer([*ours, *first]))
    if step == "verify":
        words = [word for name in given.backends for word in ("--backend", name)]
        lenet_bench("verify", "--device", "gpu", *words, "-o", folder / "verify.json")
    if step == "why" and chosen(APART):
        ends = ("--rounds", 1 if quick else 2, "--budget", f"{seconds - TO_PRINT_S:g}s")
        lenet_bench("why", *chosen(APART), *ends, "-o", folder / "why.jsonl")
    if step == "sanitizer":
        raise SystemExit(sanitize(folder, [name for name in ours if find(name)[0].native]))
    if by_step.get(step):
        raise SystemExit(timed(step, by_step[step], folder / f"{step}.jsonl", seconds, quick))


def lenet_bench(*words: object) -> None:
    """Go on as this command of lenet-bench, which keeps what it has when it is ended."""
    command = (sys.executable, "-m", "lenet_bench", *map(str, words))
    os.execv(sys.executable, command)


def infer(backends: Sequence[str]) -> int:
    """One picture with each in a process of its own: right, or why not. None right is a failure."""
    found = []
    for name in backends:
        found += ask(find(name)[0], [name], seconds=ANSWER_S)
        right = f"right, on {found[-1].runs.get('device')}"
        print(f"{name:28} {right if found[-1].available else found[-1].reason}", flush=True)
    return int(not any(one.available for one in found))


def timed(step: str, backends: Sequence[str], file: Path, seconds: float, quick: bool) -> int:
    """One whole round of all first, then as many as there is time for."""
    result = compare(
        CompareOptions(
            backends=(*FLOORS, *backends) if step == "ours" else tuple(backends),
            baseline=COPIES.name if step == "ours" else "cudnn",
            budget_s=max(seconds - TO_PRINT_S, 1.0),
            rounds=1 if quick else None,
            least_rounds=1,
            timeout_s=ANSWER_S,
            output=file,
        )
    )
    medians = {row.name: row.p50_us for row in result.backends if row.p50_us}
    print_rows(result, medians)
    if step == "ours":
        print_goals(medians)
    return int(bool(failures(result.backends)) or not medians)


def print_rows(result: Result, medians: dict[str, float]) -> None:
    """A line a backend: its median beside its floor and cudnn, its stages; or why it has none."""
    floors = [floor.name for floor in FLOORS]
    for row in result.backends:
        if row.name not in medians:
            print(f"{row.name:28} {row.status}: {row.reason}")
            continue
        others = {"its floor": FLOOR_OF.get(row.name, COPIES.name), "cudnn": "cudnn"}
        ratios = "".join(
            f"  {medians[row.name] / medians[other]:6.2f} of {what}"
            for what, other in others.items()
            if other in medians and row.name not in floors
        )
        profile = (row.gpu and row.gpu.profile_us) or {}
        stages = "".join(f"  {name} {profile[name]:.2f}" for name in STAGES if name in profile)
        print(f"{row.name:28} {medians[row.name]:9.2f} us{ratios}{stages}")


def print_goals(medians: dict[str, float]) -> None:
    """Which were reached, which were not, and which were not measured."""
    for backend, most, other in GOALS:
        goal = f"{backend} takes at most {most:g} " + (f"of {other}" if other else "us")
        absent = [name for name in (backend, other) if name and name not in medians]
        if absent:
            print(f"{goal}: not judged, without {' and '.join(absent)}")
            continue
        found = medians[backend] / (medians[other] if other else 1.0)
        print(f"{goal}: {found:.2f}, {'reached' if found <= most else 'NOT reached'}")


def sanitize(folder: Path, backends: Sequence[str]) -> int:
    """compute-sanitizer on the backends without Python: it would report what Python does, too."""
    sys.path.append(str(ROOT / "tests"))
    from cuda_setting import build_driver, built_major, wheel_folders

    major = built_major()
    assert major is not None
    path = os.pathsep.join((os.environ["PATH"], *map(str, wheel_folders("bin", major))))
    program = shutil.which("compute-sanitizer", path=path)
    if program is None:
        print("there is no compute-sanitizer here: left out")
        return 0
    driver = ROOT / "build" / "gpu-driver" / "driver"
    build_driver(driver, major)
    # NVRTC of 13.0 finds its builtins by this path only; a backend in Python loads them itself.
    libraries = [str(libraries) for libraries in wheel_folders("lib", major)]
    searched = os.pathsep.join((*libraries, os.environ.get("LD_LIBRARY_PATH", "")))
    places = {"LD_LIBRARY_PATH": searched, "XDG_CACHE_HOME": str(driver.parent)}
    failed = 0
    for tool in ("memcheck", "racecheck", "synccheck", "initcheck"):
        for name in backends:
            own = name.partition(":")[0] == "cuda"  # the other kernels are NVIDIA's
            if not own and tool != "memcheck":
                continue
            options = ("--tool", tool, "--error-exitcode", "9", "--report-api-errors", "no")
            with (folder / "sanitizer.txt").open("a") as file:
                print(f"== {tool} {name}", file=file, flush=True)
                code = bounded((program, *options, driver, name), file, **places)
            # racecheck does not know that an mbarrier's counted bytes order what comes after it.
            advisory = tool == "racecheck" and name in FLOOR_OF
            how = "right" if code == 0 else f"ended with {code}"
            how = f"not done within {SANITIZER_S:g} s" if code is None else how
            print(
                f"{tool:10} {name:20} {how}{' (advisory)' if code and advisory else ''}", flush=True
            )
            failed |= code != 0 and not advisory
    return failed


def bounded(command: Sequence[object], output: TextIO, **variables: str) -> int | None:
    """How it ended; None where that took too long. All that it started is ended with it."""
    process = subprocess.Popen(
        list(map(str, command)),
        stdout=output,
        stderr=subprocess.STDOUT,
        env={**os.environ, **variables},
        start_new_session=True,
    )
    try:
        return process.wait(SANITIZER_S)
    except subprocess.TimeoutExpired:
        return None
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that what waits cleans up
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)

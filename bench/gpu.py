"""The steps of bench/gpu.sh that know the backends. Each writes as it goes, so that one that is
ended early leaves what it had.

python bench/gpu.py [--quick] STEP FOLDER SECONDS [BACKEND...]
"""

import asyncio
import os
import shutil
import signal
import subprocess
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryFile

from lenet_bench import render
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.options import CompareOptions, Entry
from lenet_bench.registry import Network, find, names, why_absent
from lenet_bench.registry.availability import ask, by_row
from lenet_bench.registry.cuda import native
from lenet_bench.results import is_well
from lenet_bench.subjects.network import OtherNetwork
from lenet_bench.weights import Weights

ROOT = Path(__file__).parents[1]

#: For one answer: some variants are compiled on one core when they are called first. But a third of
#: its step at most, since the budget does not bound a first round.
ANSWER_S = 120.0

QUICK_S = 60.0  # for `why`

#: What a step takes after its last block, and compute-sanitizer for one backend of so many at once.
TO_PRINT_S, SANITIZER_S, AT_ONCE = 10.0, 60.0, 8

#: What a way to the GPU and back costs without a network, each for backends that go this way.
FLOORS = tuple(
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

#: compute-sanitizer's tools. memcheck is last: it has looked once, and found nothing.
TOOLS = ("racecheck", "synccheck", "initcheck", "memcheck")

#: Kernels of ours that wait at an mbarrier.
WITH_BARRIERS = ("cuda:mapped", "cuda:persistent")

#: Timed beside the frameworks: cuDNN as most call it and at its best, and kernels of our own.
BESIDE = ("cudnn", "cudnn:fused", "cudnn:graph_api_cudagraph", "cuda:mapped")

#: A framework's variants that are timed with its usual one, before the rest.
FASTEST = ("compile", "cudagraph", "pinned")
#: PyTorch's own default for a convolution.
AS_INSTALLED = "torch:tf32@gpu"

#: Frameworks start threads that dispatch and wait: they get these cores, though one computes.
CORES = 4

#: Asked for one picture before all else: cuDNN, our kernels, and the two frameworks.
FIRST = ("cudnn", "cuda", "cuda:mapped", "cuda:persistent", "torch@gpu", "jax@gpu")

#: Six that explain each other: two APIs of cuDNN, our kernels from launches to none, a framework.
APART = ("cudnn", "cudnn:graph_api", "cuda", "cuda:mapped", "cuda:persistent", "torch@gpu")

#: What other networks, batches and rare calls are timed with.
NETWORKS = ("resnet50", "vgg16")
ON_NETWORKS = (
    *("cudnn", "cudnn:cudagraph", "cudnn:find"),
    *("torch@gpu", "torch:compile@gpu", "jax@gpu"),
)
BATCHES = (16, 128, 1024)
ON_BATCHES = ("cudnn", "cudnn:graph_api", "cudnn:graph_api_cudagraph", "torch@gpu", "jax@gpu")
INTERVAL_S = 0.02
PACED = ("cudnn", "cudnn:graph_api_cudagraph", "cuda:mapped", "cuda:persistent", "torch@gpu")


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
    return name == AS_INSTALLED or variant in (row.default, *FASTEST)


def is_here(name: str) -> bool:
    """Whether it is installed; C++ may also find a CUDA that is no package."""
    return bool(find(name)[0].native) or not why_absent(name)


def main() -> None:
    """Do one of the steps; ends with 0 where all is right."""
    parser = ArgumentParser()
    parser.add_argument("step")
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
        raise SystemExit(infer(given.backends or FIRST, min(ANSWER_S, seconds / 2)))
    if step == "verify":
        those = [name for name in (*ours, *first) if given.backends or is_here(name)]
        words = [word for name in those for word in ("--backend", name)]
        lenet_bench("verify", *words, "-o", folder / "verify.json")
    if step == "why" and chosen(APART):
        budget_s = min(seconds - TO_PRINT_S, QUICK_S) if quick else seconds - TO_PRINT_S
        within = ("--budget", f"{budget_s:g}s", "--timeout", f"{seconds / 3:g}s")
        starts = ("--rounds", 1 if quick else 2)
        lenet_bench("why", *chosen(APART), *starts, *within, "-o", folder / "why.jsonl")
    if step == "sanitizer":
        raise SystemExit(sanitize(folder, [name for name in ours if find(name)[0].native]))
    if options := comparison(step, chosen, by_step, seconds):
        budget_s, rounds = max(seconds - TO_PRINT_S, 1.0), 1 if quick else None
        limits = {"budget_s": budget_s, "rounds": rounds, "output": folder / f"{step}.jsonl"}
        raise SystemExit(timed(replace(options, **limits)))


def comparison(
    step: str,
    chosen: Callable[[Sequence[str]], list[str]],
    by_step: dict[str, list[str]],
    seconds: float,
) -> CompareOptions | None:
    """What the step compares; None for no names."""
    answer_s = min(ANSWER_S, seconds / 3)
    one_round = CompareOptions(least_rounds=1, timeout_s=answer_s, baseline="cudnn")
    if step == "ours" and by_step["ours"]:
        return replace(one_round, backends=(*FLOORS, *by_step["ours"]), baseline=FLOORS[0].name)
    if step in ("frameworks", "rest") and by_step[step]:
        return replace(one_round, backends=(*BESIDE, *by_step[step]), cores=CORES)
    if step in NETWORKS and chosen(ON_NETWORKS):
        return replace(one_round, backends=tuple(chosen(ON_NETWORKS)), subject=OtherNetwork(step))
    if step == "batches" and chosen(ON_BATCHES):
        names = tuple(chosen(ON_BATCHES))
        return replace(one_round, backends=names, batches=BATCHES, cores=CORES)
    if step == "paced" and chosen(PACED):
        return replace(one_round, backends=tuple(chosen(PACED)), interval_s=INTERVAL_S)
    return None


def lenet_bench(*words: object) -> None:
    """Go on as this command of lenet-bench, which keeps what it has when it is ended."""
    command = (sys.executable, "-m", "lenet_bench", *map(str, words))
    os.execv(sys.executable, command)


def infer(backends: Sequence[str], answer_s: float) -> int:
    """One picture with each: right, or why not, a process a row, side by side.

    None right is a failure.
    """
    rows = by_row(backends)
    found = []
    with ThreadPoolExecutor(len(rows)) as pool:
        asked = [pool.submit(ask, *one, seconds=answer_s) for one in rows]
        for answered in as_completed(asked):
            answers, _ = answered.result()
            found += answers
            for one in answers:
                right = f"right, on {one.runs.get('device')}"
                print(f"{one.name:28} {right if one.available else one.reason}", flush=True)
    return int(not any(one.available for one in found))


def timed(options: CompareOptions) -> int:
    """One whole round of all first, then as many as there is time for."""
    result = compare(options)
    print(render(result))
    return int(not is_well(result.backends))


def sanitize(folder: Path, backends: Sequence[str]) -> int:
    """compute-sanitizer on the backends without Python: it would report what Python does, too."""
    sys.path.append(str(ROOT / "tests"))
    from cuda_setting import build_driver, built_major, compiler, wheel_folders

    major = built_major()
    assert major is not None
    path = os.pathsep.join((os.environ["PATH"], *map(str, wheel_folders("bin", major))))
    program = shutil.which("compute-sanitizer", path=path)
    if program is None or shutil.which(compiler()) is None:
        print("there is no compute-sanitizer here, or no C++ compiler: left out")
        return 0
    driver = ROOT / "build" / "gpu-driver" / "driver"
    build_driver(driver, major)
    # NVRTC of 13.0 finds its builtins by this path only; a backend in Python loads them itself.
    libraries = [str(libraries) for libraries in wheel_folders("lib", major)]
    searched = os.pathsep.join((*libraries, os.environ.get("LD_LIBRARY_PATH", "")))
    places = {"LD_LIBRARY_PATH": searched, "XDG_CACHE_HOME": str(driver.parent)}
    return asyncio.run(look(program, driver, backends, folder / "sanitizer.txt", places))


async def look(
    program: str, driver: Path, backends: Sequence[str], output: Path, places: dict[str, str]
) -> int:
    """Each tool at each backend, so many at once. What one says is written when it ends."""
    this = asyncio.current_task()
    assert this is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, this.cancel)
    at_once = asyncio.Semaphore(AT_ONCE)

    async def with_tool(tool: str, name: str) -> bool:
        options = ("--tool", tool, "--error-exitcode", "9", "--report-api-errors", "no")
        async with at_once:
            code, said = await bounded((program, *options, driver, name), **places)
        file.write(f"== {tool} {name}\n".encode() + said)
        file.flush()
        # racecheck does not know that an mbarrier's counted bytes order what comes after it.
        advisory = tool == "racecheck" and name in WITH_BARRIERS
        how = "right" if code == 0 else f"ended with {code}"
        how = f"not done within {SANITIZER_S:g} s" if code is None else how
        print(f"{tool:10} {name:20} {how}{' (advisory)' if code and advisory else ''}", flush=True)
        return code != 0 and not advisory

    asked = [
        with_tool(tool, name)
        for tool in TOOLS
        for name in backends
        if tool == "memcheck" or name.partition(":")[0] == "cuda"  # other kernels are NVIDIA's
    ]
    with output.open("ab") as file:
        return int(any(await asyncio.gather(*asked)))


async def bounded(command: Sequence[object], **variables: str) -> tuple[int | None, bytes]:
    """How it ended, None where that took too long, and what it said.

    All that it started is ended with it, also when this program is.
    """
    with TemporaryFile() as said:
        process = await asyncio.create_subprocess_exec(
            *map(str, command),
            stdout=said,
            stderr=subprocess.STDOUT,
            env={**os.environ, **variables},
            start_new_session=True,
        )
        code = None
        try:
            with suppress(asyncio.TimeoutError):
                code = await asyncio.wait_for(process.wait(), SANITIZER_S)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
        said.seek(0)
        return code, said.read()


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that what waits cleans up
    try:
        main()
    except (KeyboardInterrupt, asyncio.CancelledError):
        sys.exit(130)

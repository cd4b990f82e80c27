"""How far `fused` is from what this core can do at most, and from `openblas`, in one run.

    python bench/serial_limit.py [--isa avx2] [--rounds 100] [--steps] [--json results/FILE.json]

The serial limit is the time for the convolutions' multiplications (371,200 with Winograd) at the
core's peak rate, plus the time to read fc1's 1.6 MB at the rate at which a buffer of that size is
read again and again. Both are measured here, by a C++ program compiled for the same instruction
set, in rounds with the backends: in each round everyone has one burst of calls, in shuffled order,
so that drift and noise fall on all alike. Ratios are taken round by round.
"""

import argparse
import ctypes
import json
import os
import platform
import random
import shlex
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

CONVOLUTION_MACS = 115_200 + 256_000  # Winograd F(4,5) by rows, and F(4x4,5x5)
FC1_BYTES = 500 * 800 * 4
WARM_UP, TIMED = 20, 100  # calls of a burst
BUFFERS = 8  # read in turns, a round each: how fast one is depends on the pages that it got

#: The steps of fused_steps.cpp.
BACKENDS = {
    1: "plain loops",
    2: "SIMD, fused, packed",
    3: "conv2 by Winograd",
    4: "conv1 by Winograd",
    5: "fc1 backwards by turns",
    6: "pages that fit",
}

#: By instruction set: the vectors' floats, the compiler's flags, OpenBLAS's name for its kernels.
ISAS = {
    "avx512": (16, "-mavx512f", "SkylakeX"),
    "avx2": (8, "-mavx2 -mfma", "Haswell"),
    "sse2": (4, "", "Prescott"),
    "neon": (4, "", "ARMV8"),
}


def main() -> None:
    """Measure, print, and write the raw figures if asked to."""
    options = arguments()
    one_thread(options.isa)
    from lenet_bench import load

    backends, build_seconds = {}, {}
    for name in ("fused", "fused:int16", "openblas"):
        start = time.perf_counter()
        backends[name] = load(name)
        build_seconds[name] = time.perf_counter() - start
    isa = backends["fused"].describe()["isa"]
    bursts: dict[str, Callable[[], list[float]]] = {
        name: infer_burst(backend.infer) for name, backend in backends.items()
    }
    bursts |= limit_bursts(isa)
    if options.steps:
        bursts |= step_bursts(isa)
    rounds = [round_of(bursts) for _ in range(options.rounds)]
    result = {
        "machine": machine(),
        "isa": isa,
        "backends": {name: backend.describe() for name, backend in backends.items()},
        "build_seconds": build_seconds,
        "calls_a_burst": TIMED,
        "seconds": {name: [r[name] for r in rounds] for name in bursts},
        "summary": summary(rounds),
    }
    report(result)
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")


def arguments() -> argparse.Namespace:
    """What the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--isa", choices=ISAS, help="instruction set (the widest)")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--steps", action="store_true", help="the steps to `fused`, too")
    parser.add_argument("--json", type=Path, help="write all of it to this file")
    return parser.parse_args()


def one_thread(isa: str | None) -> None:
    """Tell the libraries, before they are loaded: one thread, and this instruction set."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    if isa:
        os.environ["LENET_BENCH_ISA"] = isa
        os.environ["OPENBLAS_CORETYPE"] = ISAS[isa][2]


def go_first() -> None:
    """Run before all other programs from here on, and what is started with us; it takes root."""
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))


def infer_burst(infer: Callable[[Any], Any]) -> Callable[[], list[float]]:
    """Calls of one backend, each timed, with images that rotate."""
    import numpy as np

    images = np.random.default_rng(0).random((16, 28, 28), dtype=np.float32)

    def burst() -> list[float]:
        seconds = []
        for i in range(WARM_UP + TIMED):
            image = images[i % len(images)]
            start = time.perf_counter_ns()
            infer(image)
            seconds.append((time.perf_counter_ns() - start) * 1e-9)
        return seconds

    return burst


def limit_bursts(isa: str) -> dict[str, Callable[[], list[float]]]:
    """The limit's two parts: the convolutions' multiplications and fc1's bytes."""
    library = compiled("serial_limit.cpp", isa)
    library.seconds_to_read.restype = ctypes.c_double
    buffers = [(ctypes.c_char * (FC1_BYTES + 64))() for _ in range(BUFFERS)]
    for buffer in buffers:
        ctypes.memset(buffer, 1, len(buffer))

    def read() -> list[float]:
        buffers.append(buffers.pop(0))
        address = ctypes.addressof(buffers[0])
        start, size = ctypes.c_void_p(address + -address % 64), ctypes.c_size_t(FC1_BYTES)
        return [library.seconds_to_read(start, size) for _ in range(WARM_UP + TIMED)]

    return {"multiply": multiply_burst(library, isa, CONVOLUTION_MACS), "read": read}


def multiply_burst(library: ctypes.CDLL, isa: str, macs: int) -> Callable[[], list[float]]:
    """So many multiply-adds at the core's peak rate."""
    library.seconds_to_multiply.restype = ctypes.c_double
    steps = ctypes.c_long(macs // (10 * ISAS[isa][0]))
    return lambda: [library.seconds_to_multiply(steps) for _ in range(WARM_UP + TIMED)]


def step_bursts(isa: str) -> dict[str, Callable[[], list[float]]]:
    """Each step to `fused` that fused_steps.cpp names; all must give the same probabilities."""
    library = compiled("fused_steps.cpp", isa)
    library.seconds_for_step.restype = ctypes.c_double
    answers = []
    for step in BACKENDS:
        answer = (ctypes.c_float * 10)()
        library.seconds_for_step(step, 0, answer)
        answers.append(list(answer))
    for other in answers:
        assert max(abs(a - b) for a, b in zip(other, answers[0], strict=True)) < 1e-5, answers

    def burst_of(step: int) -> Callable[[], list[float]]:
        ignored = (ctypes.c_float * 10)()
        return lambda: [
            library.seconds_for_step(step, i % 2, ignored) for i in range(WARM_UP + TIMED)
        ]

    return {f"{step} {name}": burst_of(step) for step, name in BACKENDS.items()}


def compiled(source: str, isa: str) -> ctypes.CDLL:
    """A C++ file of this folder as a library for one instruction set."""
    here = Path(__file__).resolve().parent
    lanes, flags, _ = ISAS[isa]
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "library.so"
        command = [*shlex.split(os.environ.get("CXX", "c++")), "-O3", "-std=c++17", "-shared"]
        command += ["-fPIC", *flags.split(), f"-DLENET_LANES={lanes}", f"-DLENET_ISA={isa}"]
        command += [f"-I{here.parent / 'csrc'}", str(here / source), "-o", str(library)]
        subprocess.run(command, check=True)
        return ctypes.CDLL(str(library))


def round_of(bursts: dict[str, Callable[[], list[float]]]) -> dict[str, dict[str, float]]:
    """One burst of each, in shuffled order."""
    result = {}
    for name in random.sample(list(bursts), len(bursts)):
        seconds = sorted(bursts[name]()[WARM_UP:])
        result[name] = {"min": seconds[0], "median": seconds[len(seconds) // 2]}
    return {name: result[name] for name in bursts}


def summary(rounds: list[dict[str, dict[str, float]]]) -> dict[str, dict[str, float]]:
    """Microseconds of each, and the ratios, from the bursts' minima and from their medians."""
    result = {}
    for which in ("min", "median"):
        of = {name: [r[name][which] for r in rounds] for name in rounds[0]}
        limits = [m + r for m, r in zip(of["multiply"], of["read"], strict=True)]
        figures = {f"{name} us": 1e6 * statistics.median(values) for name, values in of.items()}
        figures["limit us"] = 1e6 * statistics.median(limits)
        for name in ("fused", "fused:int16"):
            ours = of[name]
            figures[f"openblas / {name}"] = ratio(of["openblas"], ours)
            figures[f"{name} / limit"] = ratio(ours, limits)
        result[which] = figures
    return result


def ratio(above: list[float], below: list[float]) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def machine() -> dict[str, str | None]:
    """Processor and system, as they name themselves."""
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text().splitlines()
        if line.startswith("model name")
    ]
    caches = Path("/sys/devices/system/cpu/cpu0/cache")
    return {
        "processor": names[0] if names else platform.processor(),
        "architecture": platform.machine(),
        "cores": str(os.cpu_count()),
        "second-level cache": _text(caches / "index2" / "size"),
        "system": platform.platform(),
        "python": platform.python_version(),
    }


def _text(path: Path) -> str | None:
    return path.read_text().strip() if path.exists() else None


def report(result: dict[str, Any]) -> None:
    """One line a figure: from the bursts' minima, and from their medians."""
    print(f"{result['machine']['processor']}, {result['isa']}: figure, of minima, of medians")
    for name, value in result["summary"]["min"].items():
        print(f"  {name:24} {value:8.2f} {result['summary']['median'][name]:8.2f}")


if __name__ == "__main__":
    main()

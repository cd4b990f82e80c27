"""How fast one core here multiplies and reads, which limits every network (tables.py).

python bench/limit.py > results/networks/limit.json

A loop that has everything in registers multiplies; the C compiler compiles it. As many bytes as a
network has weights are read again and again, from the caches or from memory. Each rate is the best
of many tries, which other programs can only make slower.
"""

import json
import os
from argparse import ArgumentParser
from collections.abc import Callable
from ctypes import CDLL, c_float, c_long
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory
from time import perf_counter

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # before NumPy is imported

import numpy as np
from lenet_bench.measure.environment import read_machine
from lenet_bench.networks import NETWORKS, network

SECONDS = 2.0  # for each rate
TURNS, CHAINS = 100_000, 12  # a chain for each of two units and four cycles, and some more
LOOP = """
typedef float vec __attribute__((vector_size(__BIGGEST_ALIGNMENT__)));  /* a register */
const long in_a_turn = CHAINS * sizeof(vec) / sizeof(float);

float multiply(long turns, float by) {
    vec sums[CHAINS], all = {0};
    for (int i = 0; i < CHAINS; i++) sums[i] = all + by * i;  /* of equal chains gcc computes one */
    while (turns--)
        for (int i = 0; i < CHAINS; i++) sums[i] = sums[i] * by + by;
    for (int i = 0; i < CHAINS; i++) all += sums[i];
    return all[0];
}
"""


def fastest_s(call: Callable[[], object]) -> float:
    """The fastest of many calls."""
    took, end = [], perf_counter() + SECONDS
    while perf_counter() < end:
        began = perf_counter()
        call()
        took.append(perf_counter() - began)
    return min(took)


def multiply_adds_per_s() -> float:
    """In float32, of vectors in registers."""
    with TemporaryDirectory() as folder:
        library = Path(folder) / "loop.so"
        flags = ("-O3", "-march=native", f"-DCHAINS={CHAINS}", "-shared", "-fPIC", "-xc", "-")
        run([os.environ.get("CC", "cc"), *flags, "-o", library], input=LOOP, text=True, check=True)
        loop = CDLL(str(library))
    done = TURNS * c_long.in_dll(loop, "in_a_turn").value
    return done / fastest_s(lambda: loop.multiply(c_long(TURNS), c_float(0.5)))


def bytes_per_s(size: int) -> float:
    """At which so many bytes are read again and again, by a product of two vectors."""
    halves = np.ones((2, size // 8), np.float32)
    return halves.nbytes / fastest_s(lambda: np.dot(*halves))


def main() -> None:
    ArgumentParser(description=__doc__.partition("\n")[0]).parse_args()
    processor = read_machine().processor
    rates = {
        "processor": processor.model,
        "isa": processor.isa,
        "multiply_adds_per_s": multiply_adds_per_s(),
        "bytes_per_s": {name: bytes_per_s(4 * network(name).weights) for name in NETWORKS},
    }
    print(json.dumps(rates, indent=1))


if __name__ == "__main__":
    main()

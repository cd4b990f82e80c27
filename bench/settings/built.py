"""LeNet by the builder of other networks beside LeNet by hand: is a builder as fast?"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from lenet_bench import Entry
from lenet_bench.network import LENET
from lenet_bench.networks import network
from lenet_bench.subjects.network import place
from lenet_bench.weights import Weights

BACKEND = "LENET_BENCH_BUILT"  # the variable that names it, in the process that is timed
BUILT = ", built"


def lenet(weights: Weights, *, threads: int) -> Any:
    """LeNet by the builder, on the backend's own function and behind the same check of images.

    A builder in C++ checks their size, not their values: a tenth of a microsecond less.
    """
    return place(os.environ[BACKEND], network(LENET), weights, threads)


def both(name: str) -> list[Entry]:
    """A backend by hand, and built."""
    by_hand = Entry.of_backend(name, threads=1)
    built = replace(
        by_hand,
        name=f"{by_hand.name}{BUILT}",
        factory="bench.settings.built:lenet",
        path=(str(Path(__file__).parents[2]),),
        variables={**by_hand.variables, BACKEND: by_hand.name},
    )
    return [by_hand, built]

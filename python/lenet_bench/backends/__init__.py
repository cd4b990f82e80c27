"""LeNet on each API: a file for each API, with the network and a function for each variant.

A function is called `build`, or by its variant's name. It takes what it needs of `weights`,
`threads`, `device` ("cpu" or "cuda") and a model file (export.MAKERS), by these names, and returns
a function: float32 images (n, 28, 28) in, probabilities (n, 10) out, in memory of their own. The
harness does the rest: registry/ has the rows that name these files, and one adapter for all.
"""

import sys
from collections.abc import Callable
from importlib import import_module
from types import ModuleType

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float32]
Infer = Callable[[Array], Array]


class _Package(ModuleType):
    """Makes `lenet_bench.backends()` callable, although this folder has that name."""

    def __call__(self) -> object:
        """Every backend and variant, and whether it runs here."""
        return import_module("lenet_bench.registry.availability").backends()


sys.modules[__name__].__class__ = _Package

"""The ladder: every rung as data, and the two ways to use one: `load` it, or ask why it cannot.

A rung is one row here and one exhibit file beside this one. An exhibit's class is built from the
weights and answers `infer`; it imports its API when it is imported, and nobody imports it before
its rung runs.
"""

import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from ..errors import LenetBenchError, Unavailable
from ..weights import Weights, read_weights

if TYPE_CHECKING:
    from .availability import Availability

FLOAT32 = 1e-5  # the largest difference from the reference's probabilities that float32 may show


class Backend(Protocol):
    """A rung that has been built: the network on one API, holding its own copy of the weights."""

    def infer(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities (10,) of one image (28, 28), or (n, 10) of (n, 28, 28).

        Images are float32 from 0 (paper) to 1 (ink). Wrong shapes, types and values (NaN, 0 to
        255) raise ValueError or TypeError.
        """
        ...

    def layers(self, image: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """What each layer gave for one image, as far as this API shows it (network.LAYERS)."""
        ...

    def describe(self) -> dict[str, str]:
        """What really runs: library version, instruction set, algorithm."""
        ...


@dataclass(frozen=True)
class Rung:
    """One way to run the network, as the ladder knows it without importing it."""

    name: str
    summary: str  # what one writes against
    calls: str  # what that calls underneath
    exhibit: str  # "module:Class" in this folder
    variants: Mapping[str, str] = field(default_factory=dict)  # name -> what it changes
    device: str = "cpu"
    extra: str | None = None  # the optional dependencies that bring its API
    tolerances: Mapping[str, float] = field(default_factory=dict)  # by variant, where not FLOAT32

    def names(self) -> Iterator[str]:
        """The rung and its variants as the user spells them: fused, fused:int16."""
        yield self.name
        yield from (f"{self.name}:{variant}" for variant in self.variants)


#: From silicon to Keras.
LADDER: tuple[Rung, ...] = (
    Rung(
        name="cuda",
        summary="C++ and CUDA, four kernels of our own, compiled for the GPU at hand",
        calls="nothing but CUDA's runtime",
        exhibit="cuda:FusedOnGpu",
        variants={
            "graph": "copies and kernels captured once as a CUDA graph",
            "mapped": "no copies: the kernels use host memory, the host polls a flag",
        },
        device="gpu",
        extra="cuda13",
    ),
    Rung(
        name="cudnn",
        summary="C++ on cuDNN and cuBLAS, algorithm named by hand",
        calls="NVIDIA's kernels, one or more a step",
        exhibit="cudnn:Cudnn",
        variants={
            "find": "the algorithm that cuDNN measured to be the fastest",
            "heuristic": "the algorithm that cuDNN guesses to be the fastest",
            "tf32": "TF32 allowed: 10 bits of mantissa in the convolutions",
            "graph": "all of it captured once as a CUDA graph",
        },
        device="gpu",
        extra="cuda13",
        tolerances={"tf32": 5e-3},
    ),
    Rung(
        name="fused",
        summary="C++, our own SIMD kernels: Winograd convolutions fused with pooling",
        calls="nothing",
        exhibit="fused:Fused",
        variants={"int16": "fc1's weights as int16 with one scale a row"},
        tolerances={"int16": 1e-4},
    ),
    Rung(
        name="onednn",
        summary="C++ on oneDNN primitives, the CPU's cuDNN",
        calls="kernels that oneDNN generates at run time",
        exhibit="onednn:OneDnn",
        extra="onednn",
    ),
    Rung(
        name="openblas",
        summary="C++, im2col and OpenBLAS sgemm/sgemv",
        calls="OpenBLAS's assembly kernels",
        exhibit="openblas:OpenBlas",
        extra="openblas",
    ),
    Rung(
        name="cupy",
        summary="Python, CuPy's array code: NumPy's way of writing on a GPU",
        calls="cuBLAS, and kernels that CuPy compiles at run time",
        exhibit="cupy:CuPy",
        device="gpu",
        extra="cupy",
    ),
    Rung(
        name="numpy",
        summary="Python, im2col and matmul on float32 arrays",
        calls="the BLAS that NumPy was built with",
        exhibit="numpy:NumPy",
    ),
    Rung(
        name="reference",
        summary="Python, float64 NumPy: what all parity is measured against",
        calls="the BLAS that NumPy was built with",
        exhibit="reference:Reference",
    ),
)


def names() -> list[str]:
    """Every rung and variant, in the ladder's order."""
    return [name for rung in LADDER for name in rung.names()]


def find(name: str) -> tuple[Rung, str]:
    """The rung and the variant ("" for the plain one) that `name` spells."""
    base, _, variant = name.partition(":")
    for rung in LADDER:
        if rung.name == base:
            if variant and variant not in rung.variants:
                known = ", ".join(rung.names())
                raise LenetBenchError(f"{base} has no variant {variant!r}; it has {known}")
            return rung, variant
    raise LenetBenchError(f"no rung is called {name!r}; the ladder has {', '.join(names())}")


def tolerance(name: str) -> float:
    """How far this rung's probabilities may be from the reference's."""
    rung, variant = find(name)
    return rung.tolerances.get(variant, FLOAT32)


def load(
    name: str,
    *,
    threads: int = 1,
    weights: Weights | str | os.PathLike[str] | None = None,
) -> Backend:
    """Build one rung: `load("fused").infer(image)`.

    `weights` is a file or what `read_weights` gave; without it, the canonical weights.
    Raises Unavailable, with the command that mends it, where the rung cannot run.
    """
    rung, variant = find(name)
    if threads < 1:
        raise LenetBenchError(f"expected at least 1 thread, got {threads}")
    if not isinstance(weights, Weights):
        weights = read_weights(weights)
    module, _, cls = rung.exhibit.partition(":")
    try:
        exhibit = getattr(import_module(f"{__name__}.{module}"), cls)
    except ImportError as error:
        package = f"'lenet-bench[{rung.extra}]'" if rung.extra else "--force-reinstall lenet-bench"
        raise Unavailable(
            f"{name} cannot be imported ({error}); mend it with: pip install {package}"
        ) from error
    options = {"variant": variant} if rung.variants else {}
    backend: Backend = exhibit(weights, threads=threads, **options)
    return backend


class _Ladder(ModuleType):
    """Makes this module answer `lenet_bench.backends()` too."""

    def __call__(self) -> "list[Availability]":
        """Every rung and variant, and whether it runs here."""
        from .availability import backends

        return backends()


sys.modules[__name__].__class__ = _Ladder

"""The ladder: every rung as data, and the two ways to use one: `load` it, or ask why it cannot.

A rung is one row here and one exhibit file beside this one. An exhibit's class is built from the
weights and answers `infer`; it imports its API when it is imported, and nobody imports it before
its rung runs.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from .. import environments
from ..errors import LenetBenchError, Unavailable, first_line
from ..installed import extra_requirements, fits, installed_version, package_name
from ..weights import Weights, read_weights
from . import _gpu
from ._frameworks import FRAMEWORKS, GONE
from ._rung import ON_GPU
from ._rung import Device as Device
from ._rung import Rung as Rung
from ._silence import only_our_words as only_our_words
from ._silence import silence

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


#: From silicon to Keras.
LADDER: tuple[Rung, ...] = (
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
        name="cuda:persistent",
        summary="C++ and CUDA, one kernel that stays on the GPU and waits for images",
        calls="nothing: the host rings, the kernel answers",
        exhibit="persistent:PersistentOnGpu",
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
        name="cudnn:frontend",
        summary="C++ on cuDNN's graph API: a convolution and its bias in one plan",
        calls="NVIDIA's kernels, the engines that cuDNN's heuristics name",
        exhibit="cudnn_frontend:CudnnFrontend",
        device="gpu",
        extra="cuda13",
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
    *FRAMEWORKS,
    *GONE,
)


def names(*, gone: bool = True, device: Device | None = None) -> list[str]:
    """Every rung and variant, in the ladder's order; with or without those that are gone.

    With a device, those that run there: on the GPU also torch@gpu, which `names()` leaves out.
    """
    here = [rung if device is None else rung.on(device) for rung in LADDER if gone or not rung.gone]
    return [name for rung in here if rung for name in rung.names()]


def every_name() -> list[str]:
    """All that `find` understands: names(), and after each rung its names on a GPU."""
    return [name for row in _rows() for name in row.names()]


def held_by(environment: str) -> list[str]:
    """The rungs that this isolated environment is for."""
    return [row.spell(row.default) for row in _rows() if row.environment == environment]


def _rows() -> Iterator[Rung]:
    """Each row of the ladder and, where it has one, its form on a GPU."""
    for rung in LADDER:
        yield rung
        if rung.gpu and (moved := rung.on("gpu")):
            yield moved


def find(name: str) -> tuple[Rung, str]:
    """The rung and the variant ("" for the plain one) that `name` spells.

    The rung of torch:compile@gpu is the row of torch as it is on a GPU.
    """
    spelt = name.removesuffix(ON_GPU)
    for rung in LADDER:
        if rung.name == spelt:  # a variant with an exhibit of its own has a row
            return rung if spelt == name else _on_gpu(rung, name), rung.default
    base, _, variant = spelt.partition(":")
    for rung in LADDER:
        if rung.name == base:
            if variant and variant not in rung.variants:
                known = ", ".join(n for n in names() if n.partition(":")[0] == base)
                raise LenetBenchError(f"{base} has no variant {variant!r}; it has {known}")
            return rung if spelt == name else _on_gpu(rung, name), variant or rung.default
    meant = nearest(name, every_name())
    raise LenetBenchError(
        f"no rung is called {name!r}; {meant or 'the ladder has ' + ', '.join(names())}"
    )


def nearest(name: str, known: Sequence[str]) -> str | None:
    """A question after the one that was probably meant."""
    from difflib import get_close_matches

    return next((f"did you mean {one}?" for one in get_close_matches(name, known, n=1)), None)


def _on_gpu(rung: Rung, name: str) -> Rung:
    """The rung that a name ending in @gpu is of."""
    if rung.device == "gpu":
        raise LenetBenchError(f"{rung.name} is on the GPU as it is; leave out {ON_GPU} in {name!r}")
    moved = rung.on("gpu")
    if moved is None:
        able = ", ".join(other.name for other in LADDER if other.gpu)
        raise LenetBenchError(f"{rung.name} runs on the CPU only; {able} run on a GPU too")
    return moved


def usual_name(name: str) -> str:
    """The name as the ladder lists it: `keras` of `keras:predict`, which is what `keras` is."""
    rung, variant = find(name)
    return rung.spell(variant)


def on_device(name: str, device: Device | None) -> str:
    """The name of the same on that device: torch@gpu of torch; None leaves it as it is.

    Raises LenetBenchError where it cannot run there.
    """
    rung, variant = find(name)
    if device == "cpu" and rung.device == "gpu":
        raise LenetBenchError(f"{name} runs on the GPU, and the CPU was asked for")
    if device == "gpu" and rung.device == "cpu":
        rung = _on_gpu(rung, name)
    return rung.spell(variant)


def tolerance(name: str) -> float:
    """How far this rung's probabilities may be from the reference's."""
    rung, variant = find(name)
    return rung.tolerances.get(variant, FLOAT32)


def load(
    name: str,
    *,
    threads: int = 1,
    weights: Weights | str | os.PathLike[str] | None = None,
    quiet: bool = True,
) -> Backend:
    """Build one rung: `load("fused").infer(image)`; `load("torch@gpu")` on a GPU.

    `weights` is a file or what `read_weights` gave; without it, the canonical weights.
    A framework is set up by environment variables, and a process can do that once: a rung that
    needs other values than an earlier one, another device, or an environment of its own, is
    built in a process of its own, to which `infer` talks. `quiet` keeps what frameworks print
    while they are built off the terminal.
    Raises Unavailable, with the command that mends it, where the rung cannot run.
    """
    rung, variant = find(name)
    if threads < 1:
        raise LenetBenchError(f"expected at least 1 thread, got {threads}")
    if not isinstance(weights, Weights):
        weights = read_weights(weights)
    if rung.gone:
        raise Unavailable(f"{name} {rung.gone}")
    check_needs(rung, variant)
    if _needs_its_own_process(rung, threads):
        from .apart import Apart

        return Apart(name, weights, threads=threads, quiet=quiet)
    quiet = quiet and rung.framework and not os.environ.get("LENET_BENCH_DEBUG")
    variables = rung.variables_for(threads)
    os.environ.update(variables)
    _set_here.update(variables)
    if rung.framework:
        _devices_here.add(rung.device)
    if quiet:
        os.environ.update(rung.quieting)
    with silence() if quiet else nullcontext():
        return _build(rung, variant, weights, threads)


#: What rungs of this process have been set up by: variables, and frameworks' devices.
_set_here: dict[str, str] = {}
_devices_here: set[Device] = set()


def check_needs(rung: Rung, variant: str) -> None:
    """What no Python package brings: a GPU, a compiler."""
    name = rung.spell(variant)
    if rung.moved and (none := _gpu.why_none()):
        raise Unavailable(f"{name} needs an NVIDIA GPU ({none}); where there is one, {_mend(rung)}")
    if variant in rung.compiled:
        compiler = os.environ.get("CXX") or "g++"
        if not shutil.which(compiler):
            raise Unavailable(
                f"{name} compiles C++, and there is no {compiler}; {MEND}"
                "apt install g++, or name another compiler: export CXX=clang++"
            )


def _needs_its_own_process(rung: Rung, threads: int) -> bool:
    if rung.environment and environments.interpreter(rung) != sys.executable:
        return True
    if rung.framework and _devices_here - {rung.device}:
        return True
    imported = rung.name.partition("-")[0] in sys.modules  # with what was set then
    settled = {**os.environ, **_set_here} if imported else _set_here
    unsettled = "" if imported else None
    return any(
        settled.get(name, unsettled) not in (value, None)
        for name, value in rung.variables_for(threads).items()
    )


def _build(rung: Rung, variant: str, weights: Weights, threads: int) -> Backend:
    """Import the exhibit and build it; whatever a framework raises is Unavailable."""
    module, _, cls = rung.exhibit.partition(":")
    options = {"variant": variant} if rung.variants else {}
    if rung.gpu:
        options["device"] = rung.device
    name = rung.spell(variant)
    expected = (Exception, SystemExit) if rung.framework else (ImportError,)
    try:
        exhibit = getattr(import_module(f"{__name__}.{module}"), cls)
    except LenetBenchError:
        raise
    except expected as error:
        why = first_line(error)
        raise Unavailable(
            wrong_version(rung, name, why)
            or f"{name} cannot be imported ({why}); {_mend_damaged(rung)}"
        ) from error
    _check_programs(rung, name)
    try:
        backend: Backend = exhibit(weights, threads=threads, **options)
    except LenetBenchError:
        raise
    except (Exception, SystemExit) as error:
        if not rung.framework:
            raise
        why = ": ".join(dict.fromkeys((type(error).__name__, first_line(error))))
        if rung.moved and not str(error):  # JAX asserts that it has found a device, no more
            why += ": it sees no GPU, or was built for none"
        what = "cannot run on the GPU" if rung.moved else "cannot be built"
        raise Unavailable(
            wrong_version(rung, name, why) or f"{name} {what} ({why}); {_mend_damaged(rung)}"
        ) from error
    if rung.moved:
        from ._proof import ProvenOnGpu

        return ProvenOnGpu(backend, name)
    return backend


def _check_programs(rung: Rung, name: str) -> None:
    for program in rung.programs:
        if not shutil.which(program):
            raise Unavailable(
                f"{name} calls the program {program}, which is not on the PATH; "
                f"install it (on Debian: apt install {program})"
            )


#: What stands before the command that mends it, in every reason.
MEND = "mend it with: "


def wrong_version(rung: Rung, name: str, why: str) -> str | None:
    """The reason where a rung failed and its packages are of other versions than it is made for.

    Those beside lenet-bench; where it runs in its environment, they are the pinned ones.
    """
    if environments.interpreter(rung) != sys.executable:
        return None
    here = _versions(rung)
    unfit = [f"{asked} and {found} is here" for asked, found in here if not fits(found, asked)]
    return f"{name} needs {', '.join(unfit)} ({why}); {_mend(rung)}" if unfit else None


def _versions(rung: Rung) -> list[tuple[str, str]]:
    """What the rung needs of pip, and the versions that are here; nothing where one is absent."""
    needed = list(extra_requirements(rung.extra)) if rung.extra else []
    if rung.environment:
        needed = list(environments.environments()[rung.environment].beside) or needed
    versions = [installed_version(requirement) for requirement in needed]
    here = [version for version in versions if version is not None]
    return list(zip(needed, here, strict=True)) if len(here) == len(needed) else []


def _mend(rung: Rung) -> str:
    """The command that brings what the rung needs."""
    if rung.environment:
        return f"{MEND}lenet-bench env create {rung.environment}"
    if not rung.extra:
        return f"{MEND}pip install --force-reinstall lenet-bench"
    return f"{MEND}pip install 'lenet-bench[{rung.extra}]'"


def _mend_damaged(rung: Rung) -> str:
    """The same where all of it may be here, in versions that fit: pip would leave that alone."""
    here = _versions(rung)
    if not here:
        return _mend(rung)
    names = " ".join(f"{package_name(asked)}=={version}" for asked, version in here)
    anew = f"{MEND}pip install --force-reinstall --no-deps {names}"
    return f"if it is damaged, {_mend(rung) if rung.environment else anew}"


class _Ladder(ModuleType):
    """Makes this module answer `lenet_bench.backends()` too."""

    def __call__(self) -> "list[Availability]":
        """Every rung and variant, and whether it runs here."""
        from .availability import backends

        return backends()


sys.modules[__name__].__class__ = _Ladder

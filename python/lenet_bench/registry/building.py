"""Build a backend in this process, or say why it cannot be built."""

import ast
import os
import shutil
import sys
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from shlex import quote

import numpy as np
from numpy.typing import NDArray

from ..errors import LenetBenchError, Unavailable, Unsupported, first_line
from ..export import NotConverted
from ..installed import extra_requirements, fits, installed_version, package_name
from ..network import LENET
from ..silence import silence
from ..weights import Weights
from . import environments, gpu, native
from .backend import Backend, Device, Network
from .cuda import BUILD, built_majors, load_for_cupy, load_for_tinygrad
from .devices import ProvenOnGpu
from .rows import find

#: The words before the command that fixes it, in every reason.
FIX = "fix it with: "
#: Before what needs PyTorch, since pip would install gigabytes of CUDA with it.
_CPU_TORCH = "pip install torch --index-url https://download.pytorch.org/whl/cpu"

#: The variables and frameworks' devices that backends of this process were built with.
_set_here: dict[str, str] = {}
_devices_here: set[Device] = set()


def load_here(
    row: Backend, variant: str, weights: Weights, threads: int, *, hide_output: bool = True
) -> Network:
    """Prepare this process for the backend, and build it."""
    hide_output = hide_output and row.framework and not os.environ.get("LENET_BENCH_DEBUG")
    variables = row.variables_for(threads)
    if row.framework:
        from ..process import without_reports

        without_reports()
    os.environ.update(variables)
    _set_here.update(variables)
    if row.framework:
        _devices_here.add(row.device)
    if hide_output:
        os.environ.update(row.silencing_variables)
    with silence() if hide_output else nullcontext():
        return build(row, variant, weights, threads)


def needs_its_own_process(row: Backend, threads: int) -> bool:
    """Whether this process is set up for other backends, or has the wrong interpreter."""
    if row.environment and environments.interpreter(row) != sys.executable:
        return True
    if row.framework and _devices_here - {row.device}:
        return True
    imported = row.name.partition("-")[0] in sys.modules  # with what was set then
    settled = {**os.environ, **_set_here} if imported else _set_here
    unsettled = "" if imported else None
    return any(
        settled.get(name, unsettled) not in (value, None)
        for name, value in row.variables_for(threads).items()
    )


def exact_probabilities(weights: Weights, images: NDArray[np.float32]) -> NDArray[np.float64]:
    """The reference's probabilities (n, 10) of images (n, 28, 28), before they are rounded."""
    from ..backends.reference import build as build_reference

    infer = build_reference(weights)
    starts = range(0, len(images), 50)
    return np.concatenate([infer(images[i : i + 50])["probabilities"] for i in starts])


def check_needs(row: Backend, variant: str) -> None:
    """Raise Unavailable if something other than a package is missing."""
    name = row.spell(variant)
    if row.device == "gpu" and (none := gpu.why_none()):
        built = row.native and row.native.module == "cuda" and built_majors()
        remedy = none.remedy or (None if built else f"on a machine with a GPU, {fix(row)}")
        raise Unavailable("; ".join(filter(None, [f"{name} cannot run here: {none.why}", remedy])))
    chosen = os.environ.get(gpu.VARIABLE, "0")
    if row.device == "gpu" and row.framework and chosen != "0":
        raise Unavailable(
            f"{name} takes the first GPU, and {gpu.VARIABLE} names another; CUDA_VISIBLE_DEVICES "
            f"chooses one for every backend, so fix it with: unset {gpu.VARIABLE}"
        )
    if variant in row.compiled:
        compiler = os.environ.get("CXX") or "g++"
        if not shutil.which(compiler):
            raise Unavailable(
                f"{name} compiles C++, and {compiler} is not installed; {FIX}"
                "apt install g++, or name another compiler: export CXX=clang++"
            )
    for program in row.programs:
        if not shutil.which(program):
            raise Unavailable(
                f"{name} calls the program {program}, which is not on the PATH; "
                f"install it (on Debian: apt install {program})"
            )


def check_modules(row: Backend, variant: str) -> None:
    """Raise Unavailable if its file imports a package that is absent, which nobody imports here.

    What Keras runs on is imported by Keras itself.
    """
    if not row.framework or row.device == "gpu" or environments.interpreter(row) != sys.executable:
        return
    below = row.variables.get("KERAS_BACKEND")
    for module in [*_imported(row.module), *([below] if below else [])]:
        with suppress(ValueError, ImportError):  # it is there, and importing it will say more
            if find_spec(module) is None:
                error = ModuleNotFoundError(f"No module named {module!r}")
                raise _unavailable(row, variant, error, "cannot be imported")


@cache
def _imported(module: str) -> list[str]:
    """The packages that a file in backends/ imports when it is imported, in its order."""
    tree = ast.parse((Path(__file__).parents[1] / "backends" / f"{module}.py").read_text())
    found: list[str] = []
    for node in tree.body:
        if isinstance(node, ast.Import):
            found += [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom) and not node.level:
            found.append(str(node.module))
    return [name.partition(".")[0] for name in found]


def import_backend(row: Backend) -> None:
    """Import the API of the backend; any exception is possible."""
    if row.version and not environments.is_here(row.environment or ""):
        raise Unavailable(f"{row.spell(row.default)} is not installed; {fix(row)}")
    if row.native:
        native.load(row.native)
    else:
        if row.module == "cupy":
            load_for_cupy()
        if row.module == "tinygrad" and row.device == "gpu":
            load_for_tinygrad()
        import_module(f"lenet_bench.backends.{row.module}")


def build(
    row: Backend,
    variant: str,
    weights: Weights,
    threads: int,
    adapted: Callable[[Backend, str, Weights, int], Network] | None = None,
) -> Network:
    """Import the API and build the backend; any exception of a framework becomes Unavailable.

    `adapted` builds another network than LeNet.
    """
    threads = row.threads_for(threads)
    fails = "cannot be imported"
    on_gpu = row.framework and row.device == "gpu"
    expected = (Exception, SystemExit) if row.framework else (ImportError,)
    try:
        import_backend(row)
        if row.native and not adapted:
            return native.build(row.native, variant, weights, threads)
        fails = "cannot run on the GPU" if on_gpu else "cannot be built"
        network = (adapted or _adapted)(row, variant, weights, threads)
    except LenetBenchError:
        raise
    except expected as error:
        raise _unavailable(row, variant, error, fails) from error
    return ProvenOnGpu(network, row.spell(variant), _fix_damaged(row)) if on_gpu else network


def _unavailable(row: Backend, variant: str, error: BaseException, fails: str) -> LenetBenchError:
    """What a framework's exception means, and the command that fixes it."""
    name, why = row.spell(variant), _why(error)
    if isinstance(error, NotConverted):
        row = replace(row, converter=error.extra)
        if row.version:  # the converter is not in its environment
            row = replace(row, version="", environment=None)
    if isinstance(error, ModuleNotFoundError) and not is_installed(row):
        fails = "is not installed"
    if row.device == "gpu" and not str(error):  # JAX asserts that it has found a device, no more
        why += ": it finds no GPU, or was built without GPU support"
    if row.version:
        return Unsupported(f"lenet-bench's code for {row.name} does not run with it: {why}")
    reason = _wrong_version(row, name, why) or f"{name} {fails} ({why}); {_fix_damaged(row)}"
    return Unavailable(reason)


def _why(error: BaseException) -> str:
    """Its message, after its type unless that is a failed import."""
    said, kind = first_line(error), type(error).__name__
    return said if isinstance(error, ImportError) or said == kind else f"{kind}: {said}"


def _adapted(row: Backend, variant: str, weights: Weights, threads: int) -> Network:
    if row.module == "cupy":
        from .on_cupy import OnCuPy

        return OnCuPy(row, variant, weights, threads)
    from .adapter import Adapter

    return Adapter(row, variant, weights, threads)


def wrong_version(name: str, why: str = "") -> str | None:
    """The reason, if a backend's packages have unsupported versions; `why` is how it failed.

    Only for packages beside lenet-bench; an environment has the pinned versions.
    """
    return _wrong_version(find(name)[0], name, why)


def _wrong_version(row: Backend, name: str, why: str) -> str | None:
    if environments.interpreter(row) != sys.executable:
        return None
    unfit = [
        f"{asked}, but {version} is installed"
        for asked, version in _versions(row)
        if not fits(version, asked)
    ]
    failed = f" ({why})" if why else ""
    return f"{name} needs {', '.join(unfit)}{failed}; {fix(row)}" if unfit else None


def is_installed(row: Backend) -> bool:
    """Whether its packages are installed in supported versions; it may still fail to run."""
    environment = environments.of(row.environment)
    if environment and environment.created:
        return True
    if not _needed(row):
        return row.environment is None  # no version outside its environment is known to work
    here = _versions(row)
    return bool(here) and all(fits(version, asked) for asked, version in here)


def why_absent(name: str, network: str = LENET) -> str | None:
    """The reason why it cannot run here, if what it needs is not even installed.

    Of another network only its own library counts, since a model that is there needs no converter.
    """
    row, _ = find(name)
    row = row if network == LENET else row.for_a_file
    environment = environments.of(row.environment)
    if environment and environment.created:
        return None
    needed = _needed(row)
    asked = needed if network == LENET else needed[:1]
    here = all(map(installed_version, asked)) if asked else row.environment is None
    return None if here else f"{name} is not installed; {fix(row)}"


def packages_of(name: str) -> set[str]:
    """The names of the packages that it needs to run beside lenet-bench."""
    return set(map(package_name, _needed(find(name)[0])))


def _versions(row: Backend) -> list[tuple[str, str]]:
    """Its requirements and the installed versions; empty where one is absent.

    Also empty for an environment, which has the pinned versions.
    """
    if row.environment and environments.is_here(row.environment):
        return []
    needed = _needed(row)
    here = [(asked, version) for asked in needed if (version := installed_version(asked))]
    return here if len(here) == len(needed) else []


def _needed(row: Backend) -> tuple[str, ...]:
    """Its requirements to run beside lenet-bench, as far as they are known."""
    if row.version:
        return ()
    environment = environments.of(row.environment)
    beside = environment.beside if environment else ()
    return beside or tuple(dict.fromkeys(_of_extras(row.extra, row.converter)))


def _of_extras(*extras: str | None) -> list[str]:
    return [one for extra in extras if extra for one in extra_requirements(extra)]


def _are_fit(requirements: Iterable[str]) -> bool:
    """Whether each is installed in a supported version."""
    here = ((asked, installed_version(asked)) for asked in requirements)
    return all(version and fits(version, asked) for asked, version in here)


def fix(row: Backend) -> str:
    """The command that installs what it needs, LeNet's file included."""
    if row.version and not environments.has_versions(row):
        return f"{row.name} has no versions to choose from"
    if row.environment:
        create = f"lenet-bench env create {quote(row.environment)}"
        return f"{create} installs it, or says why it cannot" if row.version else f"{FIX}{create}"
    if row.extra == "cuda13":
        return f"{FIX}{BUILD}"
    if not row.extra:
        return f"{FIX}pip install --force-reinstall lenet-bench"
    first = f"{_CPU_TORCH} && " if _brings_torch(row) and sys.platform == "linux" else ""
    own, extras = "", row.extra
    if row.converter not in (None, extras) and not _are_fit(_of_extras(row.converter)):
        own = f"a model file of your own needs no {row.converter}; "
        extras = f"{extras},{row.converter}"
    return f"{own}{FIX}{first}pip install 'lenet-bench[{extras}]'"


def _brings_torch(row: Backend) -> bool:
    """Whether pip would install PyTorch, which on Linux is the build for CUDA."""
    needed = map(package_name, _needed(row))
    return "torch" in needed and installed_version("torch") is None


def _fix_damaged(row: Backend) -> str:
    """The same where pip would change nothing, since supported versions are installed."""
    here = _versions(row)
    if not here:
        return fix(row)
    names = " ".join(f"{package_name(asked)}=={version}" for asked, version in here)
    anew = f"{FIX}pip install --force-reinstall --no-deps {names}"
    return f"if it is damaged, {fix(row) if row.environment else anew}"

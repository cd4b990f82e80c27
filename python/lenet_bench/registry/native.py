"""Import a backend in C++, with the shared library that it calls, wherever pip installed that.

The modules search the folders beside them (their RUNPATH), which suffices within one environment.
`_preload` is for other cases: a user's site, another prefix, an overlay.
"""

import ctypes
from importlib import import_module
from typing import Any

from ..errors import Unavailable
from ..weights import Weights
from . import cuda
from .backend import Native, Network


def load(native: Native) -> Any:
    if native.module == "cuda":
        return getattr(cuda.native(), native.cls)
    module = f"lenet_bench.{native.module}"
    try:
        return getattr(import_module(module), native.cls)
    except ImportError as error:
        if not native.library:
            raise
        _preload(native.library, of=native.package, needed_by=error)
        return getattr(import_module(module), native.cls)


def build(native: Native, variant: str, weights: Weights, threads: int) -> Network:
    options = {"variant": variant} if variant else {}
    try:
        network: Network = load(native)(weights, threads=threads, **options)
    except RuntimeError as error:
        if native.module == "cuda":  # raises Unavailable itself; other errors are bugs
            raise
        raise Unavailable(str(error)) from None  # this processor lacks the instruction set
    return network


def _preload(library: str, *, of: str, needed_by: ImportError) -> None:
    """Load `library` from the distribution `of`, so that the next import of the module finds it.

    Raises ImportError or Unavailable where that cannot help.
    """
    if isinstance(needed_by, ModuleNotFoundError):
        raise Unavailable(
            f"lenet-bench was built without {of}, which was missing then; in its source folder, "
            "fix it with: pip install -v --force-reinstall --no-deps ."
        ) from needed_by
    from importlib.metadata import PackageNotFoundError, files

    try:
        installed = files(of) or []
    except PackageNotFoundError:
        raise needed_by from None  # `load` names the extra that brings it
    for file in sorted(installed, key=lambda file: len(file.name)):
        if file.name.startswith(f"{library}."):
            try:
                ctypes.CDLL(str(file.locate()))
            except OSError as error:
                raise Unavailable(
                    f"{library} cannot be loaded ({error}); fix it with: "
                    f"pip install --force-reinstall {of}"
                ) from needed_by
            return  # pip unpacks the library once for each of its names

"""A model file in LeNet's place, on an engine that reads it."""

from importlib import import_module
from subprocess import CalledProcessError
from textwrap import shorten
from types import SimpleNamespace
from typing import Any

from ..errors import Unsupported
from ..networks.memory import limit_memory
from ..registry import Backend, Device, check_needs, find, names
from ..registry import Network as Built
from ..registry.adapter import Adapter
from ..registry.backend import ON_GPU
from ..registry.building import build
from ..weights import Weights
from .callers import CALLERS, Model

_LONGEST = 300  # characters of an engine's sentence


class OnModel(Adapter):
    """The adapter of an engine whose function takes a model's inputs by name."""

    def infer(self, images: Any) -> Any:
        """The model's outputs in its order, of its inputs by name."""
        with self._lock:
            try:
                return list(self.answer(images))
            except Exception as error:
                raise _unsupported(self._row, error) from error


def place(name: str, model: Model, threads: int) -> Built:
    """Load the model with a backend's variant.

    Raises Unavailable where the backend cannot run here, and Unsupported, in the engine's own
    words, where it does not take this model.
    """
    row, variant = find(name)
    caller = CALLERS[model.path.suffix].get(name.removesuffix(ON_GPU))
    if caller is None:
        raise Unsupported(f"{name} reads no {model.path.suffix} file here")
    check_needs(row, variant)
    limit_memory()

    def adapted(row: Backend, variant: str, weights: Weights, threads: int) -> OnModel:
        file = SimpleNamespace(**{variant or "build": caller})
        if row.moved:  # it has to prove its device
            file.describe = import_module(f"lenet_bench.backends.{row.module}").describe
        try:
            return OnModel(row, variant, weights, threads, file=file, given={"model": model})
        except Exception as error:
            raise _unsupported(row, error) from error

    return build(row, variant, Weights({}), threads, adapted)


def readers(suffix: str, device: Device | None) -> list[str]:
    """The backends and variants that read such a file."""
    return [one for one in names(device=device) if one.removesuffix(ON_GPU) in CALLERS[suffix]]


def _unsupported(row: Backend, error: Exception) -> Unsupported:
    """In the engine's own words, from the line on that names an error."""
    said = str(error).partition("\nStack backtrace")[0]
    if isinstance(error, CalledProcessError):
        said = (error.stderr or error.stdout or b"").decode(errors="replace") or said
    lines = [line.strip() for line in said.splitlines() if line.strip()] or [type(error).__name__]
    first = next((n for n, line in enumerate(lines) if "error:" in line.lower()), 0)
    said = shorten(" ".join(lines[first:]), _LONGEST, placeholder=" ...")
    return Unsupported(f"{row.library} does not run it: {said}")

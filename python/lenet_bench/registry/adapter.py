"""The adapter of all backends in Python: the harness around the functions in backends/.

It checks the images, calls the API from one thread at a time, passes as many images at once as the
API takes, and describes what runs.
"""

import sys
from collections import defaultdict
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from importlib import import_module, metadata
from inspect import getclosurevars, unwrap
from threading import Lock
from types import FunctionType, MappingProxyType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import export
from ..errors import LenetBenchError
from ..network import CLASSES, LAYERS
from ..weights import Weights
from . import devices
from .backend import IN_CPP, Backend
from .input import check_image, check_images
from .rows import BACKENDS

Array = NDArray[np.float32]

#: One thread at a time in each API, since many APIs reuse their memory between calls.
_LOCKS: defaultdict[str, Lock] = defaultdict(Lock)


class Adapter:
    """A variant of a backend in Python, built from the weights."""

    def __init__(
        self,
        row: Backend,
        variant: str,
        weights: Weights,
        threads: int,
        file: ModuleType | SimpleNamespace | None = None,  # with the function, if not the row's
        given: Mapping[str, Any] = MappingProxyType({}),  # model files that need not be made
    ) -> None:
        self._row, self._variant, self._threads = row, variant, threads
        self._file = file or import_module(f"lenet_bench.backends.{row.module}")
        device = "cuda" if row.device == "gpu" else "cpu"
        self._given: dict[str, Any] = {"weights": weights, "threads": threads, "device": device}
        self._given |= {"images": 1, **given}
        devices.prepare(row)
        if row.set_up:
            self._call(row.set_up)
        self.answer: Callable[[Array], Any] = self._call(variant or "build")
        self._infer = self._probabilities if row.layers else self.answer
        self._lock: AbstractContextManager[Any] = _LOCKS[row.module]
        if variant not in row.batch:
            del self._given["weights"]  # the API has its own copy

    def let_all_in(self) -> None:
        """Let several threads call at once. Whoever asks knows that its API is safe then."""
        self._lock = nullcontext()

    def infer(self, images: Array) -> Array:
        """Probabilities (10,) of one image (28, 28), or (n, 10) of (n, 28, 28)."""
        images = check_images(images)
        with self._lock:
            if images.ndim == 3:
                return self._infer_batch(images)
            probabilities: Array = self._infer(images[np.newaxis])[0]
            return probabilities

    def layers(self, image: Array) -> dict[str, Array]:
        """Every layer's output, channels first."""
        image = check_image(image)
        if not self._row.layers:
            able = ", ".join(row.name for row in BACKENDS if row.layers)
            raise LenetBenchError(
                f"{self._row.spell(self._variant)} does not give the outputs of layers; {able} do"
            )
        with self._lock:
            outputs = self.answer(image[np.newaxis])
        return {name: _channels_first(name, output[0]) for name, output in outputs.items()}

    def describe(self) -> dict[str, str]:
        """The API's version and variant, what else is known of it, and the threads."""
        with self._lock:
            known = self._own_description()
        variant = {"variant": self._variant} if self._variant else {}
        return {"library": self.library(), **variant, "threads": str(self._threads), **known}

    def library(self) -> str:
        return f"{self._row.library} {_version(self._row.package)}"

    def inside(self) -> Mapping[str, Any]:
        """The objects that the answering function holds: its model, session or program."""
        return getclosurevars(unwrap(self.answer)).nonlocals

    def _own_description(self) -> dict[str, str]:
        """What `describe` in the file says of the objects that it asks for by name."""
        describe = getattr(self._file, "describe", None)
        if describe is None or self._variant == IN_CPP:
            return {}
        known = {"threads": self._threads, **self.inside()}
        said: dict[str, str] = describe(
            **{name: known[name] for name in _taken(describe) if name in known}
        )
        return said

    def _probabilities(self, images: Array) -> Array:
        """The last layer's output, as float32 for every precision."""
        exact: Array = self.answer(images)["probabilities"]
        return exact.astype(np.float32, copy=False)

    def _infer_batch(self, images: Array) -> Array:
        if len(images) == 1:
            return self._infer(images)
        if len(images) == 0:  # few APIs can do that
            return np.empty((0, CLASSES), np.float32)
        at_once = self._row.at_once.get(self._variant)
        if at_once is None:
            return self._infer(images)
        if self._variant in self._row.batch:
            return self._answer_batch(images)
        starts = range(0, len(images), at_once)
        return np.concatenate([self._infer(images[i : i + at_once]) for i in starts])

    @cached_property
    def _answer_batch(self) -> Callable[[Array], Array]:
        """The same call, built for any number of images."""
        self._given["images"] = None
        answer: Callable[[Array], Array] = self._call(self._variant)
        return answer

    def _call(self, name: str) -> Any:
        """Call a function of the backend's file with its arguments; a model file is made for it."""
        function = getattr(self._file, name)
        taken = _taken(function)
        for file in set(taken) - set(self._given):
            self._given[file] = export.model(file, self._given["weights"])
        return function(**{name: self._given[name] for name in taken})


def _taken(function: FunctionType) -> tuple[str, ...]:
    """The names of its parameters that have a place."""
    return function.__code__.co_varnames[: function.__code__.co_argcount]


def _channels_first(name: str, output: Array) -> Array:
    """A layer's output as (channels, height, width), also from APIs with the channels last."""
    return output if output.shape == LAYERS[name] else output.transpose(2, 0, 1)


def _version(package: str) -> str:
    """The version from the module, else from pip."""
    said = getattr(sys.modules.get(package), "__version__", None)
    return str(said or metadata.version(package))

"""Ways to set an API up that may be faster than the registry's.

    python -m bench.settings                             # which there are
    python -m bench.settings torch keras-torch --rounds 8 -o torch.jsonl
    python -m bench.settings --every 20 onnxruntime torch  # what idle threads can be told
    python -m bench.settings --built torch numpy         # LeNet by their builders, and by hand

A setting calls a function of the backend's own file, after something in that file or in its library
has been changed. It takes one image a call, and is measured in one interleaved comparison with all
variants of its backend. `tried.py` and `idle.py` list all settings.
"""

from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

from lenet_bench.registry import Backend, find, usable_cores
from lenet_bench.registry.adapter import Adapter
from lenet_bench.weights import Weights

from .changes import Setting
from .idle import IDLE
from .tried import SETTINGS


class Changed(Adapter):
    """A backend with a setting; what it changes stays changed in this process."""

    def __init__(
        self, row: Backend, name: str, setting: Setting, weights: Weights, *, threads: int
    ) -> None:
        file = import_module(f"lenet_bench.backends.{row.module}")
        for change in setting.changes:
            change(file)
        self._name = name
        if not threads:  # as many as its API takes
            threads = usable_cores() if row.own_threads is None else row.own_threads
        row = replace(row, at_once={setting.function: 1}, batch=frozenset())
        super().__init__(row, setting.function, weights, threads)

    def describe(self) -> dict[str, str]:
        """Which it is, of which version."""
        return {"library": self.library(), "setting": self._name}


def __getattr__(factory: str) -> Any:
    """The factory for `compare`, asked for as BACKEND__SETTING."""
    backend, _, name = factory.partition("__")
    backend = backend.replace("_", "-")
    settings = {**SETTINGS.get(backend, {}), **IDLE.get(backend, {})}
    if name not in settings:
        raise AttributeError(factory)
    return partial(Changed, find(backend)[0], name, settings[name])

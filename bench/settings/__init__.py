"""Ways to set an API up that may be faster than the registry's: a file a backend.

    python -m bench.settings                             # which there are
    python -m bench.settings torch keras-torch --budget 120 -o torch.jsonl

Each function is written as those in `lenet_bench/backends/` are, and takes one image a call. It is
measured in one interleaved comparison with all variants of the backend that its file is named
after. To try one more, add a function with a sentence on what it tries; where it needs variables of
the environment, name them in the file's VARIABLES.
"""

from dataclasses import replace
from functools import partial
from importlib import import_module
from typing import Any

from lenet_bench.backends import Array, Infer
from lenet_bench.registry import find, load
from lenet_bench.registry.adapter import Adapter
from lenet_bench.weights import Weights


def native(name: str, weights: Weights, threads: int) -> Infer:
    """A backend of ours in C++, for an alternative that changes the library below it."""
    network = load(name, threads=threads, weights=weights)

    def infer(images: Array) -> dict[str, Array]:
        return {"probabilities": network.infer(images[0])[None]}

    return infer


class Alternative(Adapter):
    """A function of a file in this folder, as a backend."""

    def __init__(self, file: str, function: str, weights: Weights, *, threads: int) -> None:
        row = replace(find(file.replace("_", "-"))[0], at_once={function: 1}, batch={})
        module = import_module(f"{__name__}.{file}")
        super().__init__(row, function, weights, threads, file=module)

    def describe(self) -> dict[str, str]:
        """Which it is, of which version, and whether Keras compiles it."""
        inside = self.inside()
        if network := inside.get("network"):  # one of ours on another library, which it asks itself
            return {**network.describe(), "setting": self._variant}
        jit = getattr(inside.get("model"), "jit_compile", None)
        compiled = {} if jit is None else {"jit_compile": str(jit)}
        return {"library": self.library(), "setting": self._variant, **compiled}


def __getattr__(name: str) -> Any:
    """The factory for `compare`, asked for as FILE__FUNCTION."""
    file, _, function = name.partition("__")
    if not file or not function:
        raise AttributeError(name)
    return partial(Alternative, file, function)

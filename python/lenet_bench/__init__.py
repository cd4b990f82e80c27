"""lenet-bench: one network, one set of weights, every API layer.

    import lenet_bench

    net = lenet_bench.load("fused", threads=1)
    probabilities = net.infer(lenet_bench.read_image("digit.png"))

The names in `__all__` are stable. Importing this imports nothing: each name brings its module
when it is first used, and no framework before its rung is loaded.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .backends import Backend, Rung, load
    from .backends.availability import Availability, backends
    from .errors import DataError, ImageError, LenetBenchError, Unavailable, WeightsError
    from .images import read_image
    from .weights import Weights, read_weights

    __version__: str

__all__ = [
    "Availability",
    "Backend",
    "DataError",
    "ImageError",
    "LenetBenchError",
    "Rung",
    "Unavailable",
    "Weights",
    "WeightsError",
    "__version__",
    "backends",
    "load",
    "read_image",
    "read_weights",
]

#: Where each public name lives. `backends` is the sub-package itself, which can be called.
_HOMES = {
    "Availability": "backends.availability",
    "Backend": "backends",
    "DataError": "errors",
    "ImageError": "errors",
    "LenetBenchError": "errors",
    "Rung": "backends",
    "Unavailable": "errors",
    "Weights": "weights",
    "WeightsError": "errors",
    "load": "backends",
    "read_image": "images",
    "read_weights": "weights",
}


if not TYPE_CHECKING:  # a type checker shall know the names above and no others

    def __getattr__(name: str) -> object:
        if name == "backends":
            return import_module(".backends", __name__)
        if name == "__version__":
            from importlib.metadata import version

            return version("lenet-bench")
        if name in _HOMES:
            value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
            globals()[name] = value
            return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

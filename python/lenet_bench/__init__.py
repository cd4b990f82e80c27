"""lenet-bench: one network, one set of weights, every API layer.

    import lenet_bench

    net = lenet_bench.load("fused", threads=1)
    probabilities = net.infer(lenet_bench.read_image("digit.png"))

    options = lenet_bench.CompareOptions(rungs=("fused", "numpy"), budget_s=10)
    print(lenet_bench.render(lenet_bench.compare(options)))

docs/python.md shows what there is. The names in `__all__` are stable. Importing this imports
nothing: each name brings its module when it is first used, and no framework before its rung is
loaded.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .backends import Backend, Rung, load
    from .backends.availability import Availability, backends
    from .cost import Cost, costs
    from .doctor import Examination, examine
    from .errors import (
        DataError,
        ImageError,
        LenetBenchError,
        ResultError,
        Unavailable,
        WeightsError,
    )
    from .images import read_image
    from .measure.comparison import NotSavedError, Progress, compare
    from .measure.difference import Difference, diff
    from .measure.options import CompareOptions, Entry
    from .measure.summary import summarise
    from .mnist import Digits, find_mnist, read_mnist
    from .report import render, write_report
    from .results import Result, RungResult, Summary, read_result, rows, write_result
    from .verify import Unverified, Verification, verify_each
    from .weights import Weights, read_weights

    __version__: str

__all__ = [
    "Availability",
    "Backend",
    "CompareOptions",
    "Cost",
    "DataError",
    "Difference",
    "Digits",
    "Entry",
    "Examination",
    "ImageError",
    "LenetBenchError",
    "NotSavedError",
    "Progress",
    "Result",
    "ResultError",
    "Rung",
    "RungResult",
    "Summary",
    "Unavailable",
    "Unverified",
    "Verification",
    "Weights",
    "WeightsError",
    "__version__",
    "backends",
    "compare",
    "costs",
    "diff",
    "examine",
    "find_mnist",
    "load",
    "read_image",
    "read_mnist",
    "read_result",
    "read_weights",
    "render",
    "rows",
    "summarise",
    "verify_each",
    "write_report",
    "write_result",
]

#: Where each public name lives. `backends` is the sub-package itself, which can be called.
_HOMES = {
    "Availability": "backends.availability",
    "Backend": "backends",
    "CompareOptions": "measure.options",
    "Cost": "cost",
    "DataError": "errors",
    "Difference": "measure.difference",
    "Digits": "mnist",
    "Entry": "measure.options",
    "Examination": "doctor",
    "ImageError": "errors",
    "LenetBenchError": "errors",
    "NotSavedError": "measure.comparison",
    "Progress": "measure.comparison",
    "Result": "results",
    "ResultError": "errors",
    "Rung": "backends",
    "RungResult": "results",
    "Summary": "results",
    "Unavailable": "errors",
    "Unverified": "verify",
    "Verification": "verify",
    "Weights": "weights",
    "WeightsError": "errors",
    "compare": "measure.comparison",
    "costs": "cost",
    "diff": "measure.difference",
    "examine": "doctor",
    "find_mnist": "mnist",
    "load": "backends",
    "read_image": "images",
    "read_mnist": "mnist",
    "read_result": "results",
    "read_weights": "weights",
    "render": "report",
    "rows": "results",
    "summarise": "measure.summary",
    "verify_each": "verify",
    "write_report": "report",
    "write_result": "results",
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

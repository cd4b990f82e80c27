"""lenet-bench: one network, one set of weights, every API layer.

    import lenet_bench

    net = lenet_bench.load("fused", threads=1)
    probabilities = net.infer(lenet_bench.read_image("digit.png"))

    options = lenet_bench.CompareOptions(backends=("fused", "numpy"), budget_s=10)
    print(lenet_bench.render(lenet_bench.compare(options)))

docs/python.md describes the API. The names in `__all__` are stable. Importing this package imports
nothing else: the module of a name is imported at its first use, and a framework when its backend is
loaded.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .cost import Cost, costs
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
    from .measure.options import CompareOptions, Entry
    from .mnist import Digits, find_mnist, read_mnist
    from .questions.diff import Difference, diff
    from .questions.doctor import Examination, examine
    from .questions.verify import Unverified, Verification, verify_each
    from .registry import Backend, Network, load
    from .registry.availability import Availability, backends
    from .results import Result, Row, Summary, read_result
    from .results.rows import rows
    from .show.forms import render
    from .show.page import write_report
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
    "Network",
    "NotSavedError",
    "Progress",
    "Result",
    "ResultError",
    "Row",
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
    "verify_each",
    "write_report",
]

#: The names of each module above. `backends` is the sub-package itself, which can be called.
_NAMES_OF = {
    "cost": ("Cost", "costs"),
    "errors": (
        "DataError",
        "ImageError",
        "LenetBenchError",
        "ResultError",
        "Unavailable",
        "WeightsError",
    ),
    "images": ("read_image",),
    "measure.comparison": ("NotSavedError", "Progress", "compare"),
    "measure.options": ("CompareOptions", "Entry"),
    "mnist": ("Digits", "find_mnist", "read_mnist"),
    "questions.diff": ("Difference", "diff"),
    "questions.doctor": ("Examination", "examine"),
    "questions.verify": ("Unverified", "Verification", "verify_each"),
    "registry": ("Backend", "Network", "load"),
    "registry.availability": ("Availability",),
    "results": ("Result", "Row", "Summary", "read_result"),
    "results.rows": ("rows",),
    "show.forms": ("render",),
    "show.page": ("write_report",),
    "weights": ("Weights", "read_weights"),
}


if not TYPE_CHECKING:  # so that a type checker knows only the names above

    def __getattr__(name: str) -> object:
        if name == "backends":
            return import_module(".backends", __name__)
        if name == "__version__":
            from importlib.metadata import version

            return version("lenet-bench")
        for module, names in _NAMES_OF.items():
            if name in names:
                value = getattr(import_module(f".{module}", __name__), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

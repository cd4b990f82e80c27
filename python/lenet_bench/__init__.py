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

if TYPE_CHECKING:  # `as` makes a name one that the package gives
    from .cost import Cost as Cost
    from .cost import costs as costs
    from .errors import DataError as DataError
    from .errors import ImageError as ImageError
    from .errors import LenetBenchError as LenetBenchError
    from .errors import ResultError as ResultError
    from .errors import Unavailable as Unavailable
    from .errors import WeightsError as WeightsError
    from .images import read_image as read_image
    from .measure.comparison import Progress as Progress
    from .measure.comparison import compare as compare
    from .measure.options import CompareOptions as CompareOptions
    from .measure.options import Entry as Entry
    from .mnist import Digits as Digits
    from .mnist import find_mnist as find_mnist
    from .mnist import read_mnist as read_mnist
    from .questions.diff import Difference as Difference
    from .questions.diff import diff as diff
    from .questions.doctor import Examination as Examination
    from .questions.doctor import examine as examine
    from .questions.verify import Unverified as Unverified
    from .questions.verify import Verification as Verification
    from .questions.verify import verify_each as verify_each
    from .registry import Backend as Backend
    from .registry import Network as Network
    from .registry import load as load
    from .registry.availability import Availability as Availability
    from .registry.availability import backends as backends
    from .results import BackendResult as BackendResult
    from .results import Result as Result
    from .results import Summary as Summary
    from .results import read_result as read_result
    from .results.flat import rows as rows
    from .show.comparison import render as render
    from .show.page import write_report as write_report
    from .subjects.lenet import LeNet as LeNet
    from .subjects.model import ModelFile as ModelFile
    from .subjects.network import OtherNetwork as OtherNetwork
    from .weights import Weights as Weights
    from .weights import read_weights as read_weights

    __version__: str

#: The names of each module above. `backends` is the sub-package itself, which can be called.
_NAMES_OF = {
    "cost": "Cost costs",
    "errors": "DataError ImageError LenetBenchError ResultError Unavailable WeightsError",
    "images": "read_image",
    "measure.comparison": "Progress compare",
    "measure.options": "CompareOptions Entry",
    "mnist": "Digits find_mnist read_mnist",
    "questions.diff": "Difference diff",
    "questions.doctor": "Examination examine",
    "questions.verify": "Unverified Verification verify_each",
    "registry": "Backend Network load",
    "registry.availability": "Availability",
    "results": "Result BackendResult Summary read_result",
    "results.flat": "rows",
    "show.comparison": "render",
    "show.page": "write_report",
    "subjects.lenet": "LeNet",
    "subjects.model": "ModelFile",
    "subjects.network": "OtherNetwork",
    "weights": "Weights read_weights",
}

__all__ = sorted(["__version__", "backends", *" ".join(_NAMES_OF.values()).split()])


if not TYPE_CHECKING:  # so that a type checker knows only the names above

    def __getattr__(name: str) -> object:
        if name == "backends":
            return import_module(".backends", __name__)
        if name == "__version__":
            from importlib.metadata import version

            return version("lenet-bench")
        for module, names in _NAMES_OF.items():
            if name in names.split():
                value = getattr(import_module(f".{module}", __name__), name)
                globals()[name] = value
                return value
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})

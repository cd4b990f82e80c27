"""What a factory makes in LeNet's place: a backend of the user's own, or of a test."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..registry import Network
from ..weights import Weights
from .lenet import LeNet

if TYPE_CHECKING:
    from ..networks import Graph


@dataclass(frozen=True)
class Factory(LeNet):
    """The callable of "module:callable", called as callable(weights, threads=n)."""

    callable: str = ""

    @property
    def _made_by(self) -> Any:
        module, _, name = self.callable.partition(":")
        return getattr(import_module(module), name)

    def import_api(self, name: str) -> None:  # noqa: ARG002
        _ = self._made_by

    def build(self, name: str, threads: int, weights: Weights, first: Any) -> Network:  # noqa: ARG002
        made: Network = self._made_by(weights, threads=threads)
        return made

    def takes_one_input(self, name: str) -> bool:  # noqa: ARG002
        return False

    def graph(self) -> "Graph | None":
        return None

    def own_probes(self, weights: Weights, threads: int) -> Sequence[Any]:
        offered = getattr(self._made_by, "probes", None)
        return list(offered(weights, threads=threads)) if offered else ()

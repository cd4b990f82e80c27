"""The arguments that a process builds a backend from, and its errors as sentences."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ..errors import LenetBenchError
from ..network import CLASSES, LENET
from ..registry import Network, find, load
from ..weights import Weights, read_weights

if TYPE_CHECKING:
    from ..models.callers import Model

Reply = dict[str, Any]


@dataclass(frozen=True)
class BuildArguments:
    """Builds the backend; `factory` is given for a backend from elsewhere."""

    name: str
    weights: Weights
    threads: int
    factory: Any
    network: str = LENET
    model: "Model | None" = None

    @property
    def answers(self) -> int | None:
        """The floats of an answer; None for a model of the user's own, which may have several."""
        if self.model:
            return None
        if self.network == LENET:
            return CLASSES
        from ..networks import network

        return network(self.network).answers

    def build(self) -> Network:
        if self.factory:
            made: Network = self.factory(self.weights, threads=self.threads)
            return made
        if self.model:
            from ..models import placed

            return placed.place(self.name, self.model, self.threads)
        if self.network != LENET:
            from ..networks import network
            from ..networks.placed import place

            return place(self.name, network(self.network), self.weights, self.threads)
        return load(self.name, threads=self.threads, weights=self.weights, hide_output=False)

    def takes_one_image(self) -> bool:
        row, variant = find(self.name) if not self.factory else (None, "")
        return row is not None and row.takes_one_image(variant)


def weights_of(name: str, path: str, model: "Model | None" = None) -> Weights:
    """LeNet's of this file, or those of another network; a model has its own inside."""
    if model:
        return Weights({})
    if name == LENET:
        return read_weights(path)
    from ..networks import network, seeded

    return seeded.weights_of(network(name))


class WrongAnswerError(Exception):
    """The backend answered with something that is not ten probabilities in float32."""


def is_expected(error: BaseException) -> bool:
    """Whether the message alone explains the error; else the traceback is kept."""
    return isinstance(error, (LenetBenchError, WrongAnswerError))


def sentence(error: BaseException) -> str:
    """An error in one line."""
    return str(error) if is_expected(error) else f"{type(error).__name__}: {error}".rstrip(": ")

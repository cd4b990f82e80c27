"""The arguments from which a worker builds its backend."""

from dataclasses import dataclass
from typing import Any

from ..registry import Network, load
from ..weights import Weights


@dataclass(frozen=True)
class Origin:
    """A backend's name, its weights and its threads; `factory` builds one from elsewhere."""

    name: str
    weights: Weights
    threads: int
    factory: Any

    def build(self) -> Network:
        if self.factory:
            made: Network = self.factory(self.weights, threads=self.threads)
            return made
        return load(self.name, threads=self.threads, weights=self.weights, quiet=False)

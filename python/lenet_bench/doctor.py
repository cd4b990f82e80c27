"""What runs here and what does not, why, and the command that mends it; and on what machine."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .backends.availability import Told, backends
from .backends.cuda_chain import Link
from .backends.cuda_chain import ask as ask_cuda
from .errors import DataError, LenetBenchError
from .measure.environment import Environment, read_environment
from .mnist import FOLDER_VARIABLE, cache_folder, read_mnist
from .weights import default_path, read_weights


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: a rung, or something that all rungs need."""

    name: str
    device: str | None  # a rung's; None for what is no rung
    available: bool
    reason: str | None  # why not, and what mends it
    summary: str = ""
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Examination:
    """All findings: the rungs in the ladder's order, the way to a GPU, weights, data, machine."""

    rungs: tuple[Finding, ...]
    gpu: tuple[Finding, ...]  # each link from the driver to the libraries
    weights: Finding
    mnist: Finding
    environment: Environment

    @property
    def works(self) -> bool:
        """Whether any rung can answer."""
        return self.weights.available and any(rung.available for rung in self.rungs)

    def findings(self) -> list[Finding]:
        """All of it as one list."""
        facts = self.environment.to_json()
        software = facts.pop("software")
        return [
            *self.rungs,
            *self.gpu,
            self.weights,
            self.mnist,
            Finding("machine", None, True, None, "the processor and its memory", facts),
            Finding("software", None, True, None, "the system, Python and libraries", software),
        ]


def examine(
    rungs: Sequence[str] = (),
    *,
    quiet: bool = True,
    seconds: float = 120,
    told: Told = lambda *_: None,
) -> Examination:
    """Look at everything, or of the rungs only at these; nothing is changed or left behind."""
    return Examination(
        rungs=tuple(
            Finding(rung.name, rung.device, rung.available, rung.reason, rung.summary, rung.runs)
            for rung in backends(rungs, quiet=quiet, seconds=seconds, told=told)
        ),
        gpu=tuple(
            Finding(link.name, None, link.reason is None, link.reason, link.summary, _found(link))
            for link in ask_cuda()
        ),
        weights=_look_at("weights", "the network's parameters", _weights),
        mnist=_look_at("mnist", "MNIST's test images, for `lenet-bench verify`", _mnist),
        environment=read_environment(),
    )


def _look_at(name: str, summary: str, look: Callable[[], dict[str, Any]]) -> Finding:
    try:
        return Finding(name, None, True, None, summary, look())
    except LenetBenchError as error:
        return Finding(name, None, False, str(error), summary)


def _found(link: Link) -> dict[str, Any]:
    found = {"found": link.found, "path": link.path}
    return {name: value for name, value in found.items() if value}


def _weights() -> dict[str, Any]:
    weights = read_weights()
    return {"path": str(default_path()), **weights.metadata, "sha256": weights.sha256}


def _mnist() -> dict[str, Any]:
    """Where the test images are; the cache is looked at and nothing fetched."""
    folder = os.environ.get(FOLDER_VARIABLE) or cache_folder()
    try:
        digits = read_mnist("test", folder)
    except DataError as error:
        raise DataError(
            f"{error}; `lenet-bench verify` downloads MNIST, or name a folder that has it:"
            f" export {FOLDER_VARIABLE}=DIR"
        ) from None
    return {"path": str(folder), "images": len(digits)}

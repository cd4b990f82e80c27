"""Which backends run here, why others do not, what to do about it, and the machine."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from msgspec import to_builtins

from ..errors import DataError, LenetBenchError
from ..measure.environment import read_machine
from ..mnist import FOLDER_VARIABLE, local_folder, read_mnist
from ..registry.availability import Answered, each
from ..registry.cuda import built_majors
from ..registry.cuda_chain import Link
from ..registry.cuda_chain import ask as ask_cuda
from ..registry.gpu import why_none
from ..results.machine import Machine
from ..weights import default_path, read_weights


@dataclass(frozen=True)
class Finding:
    """The check of a backend, or of something that all backends need."""

    name: str
    device: str | None  # a backend's, else None
    available: bool
    reason: str | None  # why not, and what to do
    summary: str = ""
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Examination:
    """All findings: the backends, the way to a GPU, weights, data, machine."""

    backends: Iterable[Finding]
    gpu: Iterable[Finding]  # the links to it, up to the first that is broken
    weights: Finding
    mnist: Finding
    machine: Machine
    no_gpu: str | None = None  # why no GPU can be used, where none can
    built_for_cuda: bool = False

    @property
    def works(self) -> bool:
        """Whether any backend can answer."""
        return self.weights.available and any(one.available for one in self.backends)

    @property
    def concerns_gpus(self) -> bool:
        """Whether there is a GPU, or the package was built for one."""
        return self.no_gpu is None or self.built_for_cuda

    def findings(self) -> list[Finding]:
        """All of it as one list."""
        machine = to_builtins(self.machine)
        software = machine.pop("software")
        return [
            *self.backends,
            *self.gpu,
            self.weights,
            self.mnist,
            Finding("machine", None, True, None, "the processor and its memory", machine),
            Finding("software", None, True, None, "the system, Python and libraries", software),
        ]


def examine(
    asked: Sequence[str] = (),
    *,
    hide_output: bool = True,
    seconds: float = 120,
    answered: Answered = lambda *_: None,
) -> Examination:
    """Check everything, or only these backends; changes nothing and leaves no files.

    The backends, then the links, are asked while they are read for the first time.
    """
    none = why_none()
    found = each(asked, hide_output=hide_output, seconds=seconds, answered=answered)
    return Examination(
        backends=_Kept(
            Finding(one.name, one.device, one.available, one.reason, one.summary, one.runs)
            for one in found
        ),
        gpu=_Kept(
            Finding(
                link.name,
                None,
                link.reason is None,
                link.reason,
                link.summary,
                {"found": link.found} if link.found else {},
            )
            for link in _links()
        ),
        weights=_look_at("weights", "the network's parameters", _weights),
        mnist=_look_at("mnist", "MNIST's test images, for `lenet-bench verify`", _mnist),
        machine=read_machine(),
        no_gpu=none.why if none else None,
        built_for_cuda=bool(built_majors()),
    )


def _links() -> Iterator[Link]:
    yield from ask_cuda()


class _Kept(Iterable[Finding]):
    """What an iterator gives, also when it is read again."""

    def __init__(self, left: Iterator[Finding]) -> None:
        self._left, self._kept = left, list[Finding]()

    def __iter__(self) -> Iterator[Finding]:
        yield from self._kept
        for one in self._left:
            self._kept.append(one)
            yield one


def _look_at(name: str, summary: str, look: Callable[[], dict[str, Any]]) -> Finding:
    try:
        return Finding(name, None, True, None, summary, look())
    except LenetBenchError as error:
        return Finding(name, None, False, str(error), summary)


def _weights() -> dict[str, Any]:
    weights = read_weights()
    return {"path": str(default_path()), **weights.metadata, "sha256": weights.sha256}


def _mnist() -> dict[str, Any]:
    """Where the test images are; nothing is downloaded."""
    folder = local_folder()
    try:
        digits = read_mnist("test", folder)
    except DataError as error:
        raise DataError(
            f"{error}; `lenet-bench verify` downloads MNIST, or name a folder that has it:"
            f" export {FOLDER_VARIABLE}=DIR"
        ) from None
    return {"path": str(folder), "images": len(digits)}

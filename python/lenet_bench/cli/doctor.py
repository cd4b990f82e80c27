"""`doctor` and `backends`: list the backends, and check which run here."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .options import (
    backends_argument,
    command,
    json_option,
    option_group,
    timeout_option,
    verbose_option,
)
from .output import SUCCESS, WRONG, answer, note_printed, screen

if TYPE_CHECKING:
    from ..show.terminal.progress import ProgressLine


@command("Check what runs here, and say how to install the rest.")
@option_group(backends_argument, json_option, timeout_option, verbose_option)
def doctor(backends: tuple[str, ...], as_json: bool, timeout: float, verbose: bool) -> int:
    """Check what runs here. For what does not, print the reason and the command that fixes it.

    Each BACKEND, or every backend if none is named, is loaded with its variants in a process of its
    own, and one answer is compared with the reference's. The weights, MNIST and the way to a GPU
    are checked too; --json adds the machine and its software.

    $ lenet-bench doctor
    $ lenet-bench doctor torch keras
    $ lenet-bench doctor torch:compile
    $ lenet-bench doctor --json | jq '.[] | select(.available | not) | .reason'

    Exit codes: 0 if at least one backend runs, else 1.
    """
    from ..questions.doctor import examine
    from ..show.terminal.doctor import examination

    with _asking(backends, verbose) as step:
        found = examine(backends, hide_output=not verbose, seconds=timeout, answered=step)
        lines = step.above(examination(screen(), found))
        answer(as_json, found.findings() if as_json else None, lines)
    return SUCCESS if found.works else WRONG


@command("List the backends, from C++ to Keras.")
@option_group(backends_argument, json_option)
def backends(backends: tuple[str, ...], as_json: bool) -> int:
    """List every API that the network is written on, and whether it is installed here.

    None is loaded; `lenet-bench doctor` checks which of them run.

    $ lenet-bench backends
    $ lenet-bench backends torch onnxruntime
    $ lenet-bench backends --json | jq -r '.[] | select(.installed) | .name'
    """
    from ..registry.availability import listed
    from ..show.terminal.doctor import backends as by_family

    found = listed(backends)
    answer(as_json, found, by_family(screen(), found))
    return SUCCESS


class _Asking:
    """How many have answered, on a line below what is printed, and what they printed."""

    def __init__(self, line: "ProgressLine") -> None:
        self._line, self.above = line, line.above
        self.outputs: dict[str, str] = {}
        line("asking the backends", 0)

    def __call__(self, name: str, output: str) -> None:
        self.outputs[name] = output
        self._line(f"{name} has answered")


@contextmanager
def _asking(asked: Sequence[str], verbose: bool) -> Iterator[_Asking]:
    """Show how many have answered; with `verbose`, their output at the end."""
    from ..registry.availability import rows_of
    from ..show.terminal.progress import progress

    with progress(len(rows_of(asked))) as line:
        step = _Asking(line)
        yield step
    if verbose:
        note_printed(step.outputs)

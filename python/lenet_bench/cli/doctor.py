"""`doctor` and `backends`: list the backends, and check which run here."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from .options import (
    backends_argument,
    command,
    json_option,
    option_group,
    timeout_option,
    verbose_option,
)
from .output import SUCCESS, WRONG, answer, note_printed, screen

_options = option_group(backends_argument, json_option, timeout_option, verbose_option)


@command("Check what runs here, and say how to install the rest.")
@_options
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

    with _asking(backends, verbose) as answered:
        found = examine(backends, hide_output=not verbose, seconds=timeout, answered=answered)
    answer(as_json, found.findings(), examination(screen(), found))
    return SUCCESS if found.works else WRONG


@command("List the backends, from C++ to Keras.")
@_options
def backends(backends: tuple[str, ...], as_json: bool, timeout: float, verbose: bool) -> int:
    """List every API that the network is written on, and whether it runs here.

    $ lenet-bench backends
    $ lenet-bench backends torch onnxruntime
    $ lenet-bench backends --json | jq -r '.[] | select(.available) | .name'
    """
    from ..registry.availability import backends as ask
    from ..show.terminal.doctor import backends as by_family

    with _asking(backends, verbose) as answered:
        found = ask(backends, hide_output=not verbose, seconds=timeout, answered=answered)
    answer(as_json, found, by_family(screen(), found))
    return SUCCESS


@contextmanager
def _asking(asked: Sequence[str], verbose: bool) -> Iterator[Callable[[str, str], None]]:
    """Show how many have answered; with `verbose`, their output at the end."""
    from ..registry.availability import rows_of
    from ..show.terminal.progress import progress

    outputs: dict[str, str] = {}
    with progress(len(rows_of(asked))) as step:

        def answered(name: str, output: str) -> None:
            outputs[name] = output
            step(name)

        yield answered
    if verbose:
        note_printed(outputs)

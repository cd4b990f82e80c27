"""`doctor` and `backends`: what there is, and what runs here."""

import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict

import click

from ..terminal import Screen
from .options import json_option, rungs_argument, timeout_option, verbose_option
from .output import SUCCESS, WRONG, note, progress, say


@click.command(
    short_help="Say what runs here, and what mends the rest.",
    epilog="""\b
Examples:
  lenet-bench doctor
  lenet-bench doctor torch keras
  lenet-bench doctor torch:compile
  lenet-bench doctor --json | jq '.[] | select(.available | not) | .reason'
""",
)
@rungs_argument
@json_option
@timeout_option
@verbose_option
def doctor(rungs: tuple[str, ...], as_json: bool, timeout: float, verbose: bool) -> int:
    """Say what runs here and what does not, why, and the command that mends it.

    Loads each RUNG (all without one) with its variants in a process of its own and compares an
    answer with the reference's. Also looks at the machine, the software, the weights and MNIST.
    Fails only where nothing works.
    """
    from ..doctor import examine
    from ..printout.examination import examination

    with _asking(rungs, verbose) as told:
        found = examine(rungs, quiet=not verbose, seconds=timeout, told=told)
    if as_json:
        say([json.dumps([asdict(finding) for finding in found.findings()], indent=2)])
    else:
        say(examination(Screen.of(sys.stdout), found))
    return SUCCESS if found.works else WRONG


@click.command(
    short_help="Show the ladder, from silicon to Keras.",
    epilog="""\b
Examples:
  lenet-bench backends
  lenet-bench backends torch onnxruntime
  lenet-bench backends --json | jq -r '.[] | select(.available) | .name'
""",
)
@rungs_argument
@json_option
@timeout_option
@verbose_option
def backends(rungs: tuple[str, ...], as_json: bool, timeout: float, verbose: bool) -> int:
    """Show the ladder: every way to run the network, from silicon to Keras."""
    from ..backends.availability import backends as ask
    from ..printout.ladder import ladder

    with _asking(rungs, verbose) as told:
        found = ask(rungs, quiet=not verbose, seconds=timeout, told=told)
    if as_json:
        say([json.dumps([asdict(rung) for rung in found], indent=2)])
    else:
        say(ladder(Screen.of(sys.stdout), found))
    return SUCCESS


@contextmanager
def _asking(rungs: Sequence[str], verbose: bool) -> Iterator[Callable[[str, str], None]]:
    """How many rungs have answered; with `verbose`, what they printed, when all have."""
    from ..backends.availability import rows_of

    outputs: dict[str, str] = {}
    with progress(len(rows_of(rungs))) as update:

        def told(name: str, output: str) -> None:
            outputs[name] = output
            update(name, 1)

        yield told
    for name, output in outputs.items() if verbose else ():
        note(output and f"{name} printed:\n{output}")

"""`doctor` and `backends`: what there is, and what runs here."""

import json
import sys
from dataclasses import asdict

import click

from ..terminal import Screen
from .options import json_option
from .output import SUCCESS, WRONG, say


@click.command(
    short_help="Say what runs here, and what mends the rest.",
    epilog="""\b
Examples:
  lenet-bench doctor
  lenet-bench doctor --json | jq '.[] | select(.available | not) | .reason'
""",
)
@json_option
def doctor(as_json: bool) -> int:
    """Say what runs here and what does not, why, and the command that mends it.

    Loads each rung in a process of its own and compares an answer with the reference's. Also
    looks at the machine, the software, the weights and MNIST. Fails only where nothing works.
    """
    from ..doctor import examine
    from ..printout import examination

    found = examine()
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
  lenet-bench backends --json | jq -r '.[] | select(.available) | .name'
""",
)
@json_option
def backends(as_json: bool) -> int:
    """Show the ladder: every way to run the network, from silicon to Keras."""
    from ..backends.availability import backends as ask
    from ..printout import ladder

    found = ask()
    if as_json:
        say([json.dumps([asdict(rung) for rung in found], indent=2)])
    else:
        say(ladder(Screen.of(sys.stdout), found))
    return SUCCESS

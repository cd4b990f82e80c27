"""`cost`: what each rung costs in code."""

import json
import sys
from dataclasses import asdict

import click

from ..terminal import Screen
from .options import checked_rungs, complete_rung, json_option, rungs_argument
from .output import SUCCESS, say


@click.command(
    short_help="Count what each rung makes you write.",
    epilog="""\b
Examples:
  lenet-bench cost
  lenet-bench cost keras torch onednn
  lenet-bench cost --show keras onednn | less
  lenet-bench cost --json | jq '.[] | {name, lines_of_code}'
""",
)
@rungs_argument
@click.option(
    "--show",
    nargs=2,
    metavar="A B",
    callback=checked_rungs,
    shell_complete=complete_rung,
    help="Print the sources of two rungs side by side, stage by stage.",
)
@json_option
def cost(rungs: tuple[str, ...], show: tuple[str, ...], as_json: bool) -> int:
    """Count what each rung makes you write: lines of code, API names, decisions.

    A line counts that holds code: not a blank one, a comment, a docstring, nor one of brackets
    only. Nothing is imported or run, so rungs count whether they run here or not.
    """
    from ..backends import find
    from ..cost import costs, sources
    from ..report.cost import side_by_side, table
    from ..report.stages import staged

    if show:
        if rungs or as_json:
            raise click.UsageError("--show takes two rungs, and neither others nor --json")
        left, right = ((name, staged(sources(find(name)[0]))) for name in show)
        say(side_by_side(left, right, Screen.of(sys.stdout)))
        return SUCCESS
    found = costs(rungs)
    if as_json:
        say([json.dumps([asdict(one) for one in found], indent=2)])
    else:
        say(table(found, Screen.of(sys.stdout)))
    return SUCCESS

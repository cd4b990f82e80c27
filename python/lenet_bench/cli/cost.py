"""`cost`: what each backend costs in code."""

import click

from .options import BACKEND, backends_argument, json_option
from .output import SUCCESS, answer, say, screen


@click.command(
    short_help="Count the code that each backend takes.",
    epilog="""\b
Examples:
  lenet-bench cost
  lenet-bench cost keras torch onednn
  lenet-bench cost --show keras onednn | less
  lenet-bench cost --json | jq '.[] | {name, lines_of_code}'
""",
)
@backends_argument
@click.option(
    "--show",
    nargs=2,
    metavar="A B",
    type=BACKEND,
    help="Print the code of two backends, stage by stage.",
)
@json_option
def cost(backends: tuple[str, ...], show: tuple[str, ...], as_json: bool) -> int:
    """Count the code that each BACKEND takes, or every backend if none is named.

    Lines with code count; blank lines, comments, docstrings and lone brackets do not. Nothing is
    imported or run, so a backend need not run here.
    """
    from ..cost import costs, sources
    from ..questions.cost import staged
    from ..show.terminal.cost import costs as in_a_table
    from ..show.terminal.cost import side_by_side

    if show:
        if backends or as_json:
            raise click.UsageError("--show takes two backends, no others, and no --json")
        left, right = ((name, staged(sources(name))) for name in show)
        say(side_by_side(left, right, screen()))
        return SUCCESS
    found = costs(backends)
    answer(as_json, found, in_a_table(found, screen()))
    return SUCCESS

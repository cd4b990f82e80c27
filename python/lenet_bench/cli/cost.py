"""`cost`: what each backend costs in code."""

from pathlib import Path

import click

from .options import backends_argument, command, json_option, option
from .output import SUCCESS, answer, say, screen


@command("Count the code that each backend takes.")
@backends_argument
@option("--show A B", "Print the code of two backends, stage by stage.", nargs=2)
@option("--times RESULT", "Take the times beside the code from this result. [the package's own]")
@json_option
def cost(
    backends: tuple[str, ...], show: tuple[str, ...], times: Path | None, as_json: bool
) -> int:
    """Count the code that each BACKEND takes, or every backend if none is named.

    Lines with code count; blank lines, comments, docstrings and lone brackets do not. Nothing is
    imported or run, so a backend need not run here.

    $ lenet-bench cost
    $ lenet-bench cost keras torch onednn
    $ lenet-bench cost --show keras onednn | less
    $ lenet-bench cost --show keras onednn --times mine.jsonl
    $ lenet-bench cost --json | jq '.[] | {name, lines_of_code}'
    """
    from ..cost import costs, sources
    from ..questions.cost import staged
    from ..show.terminal.cost import costs as in_a_table
    from ..show.terminal.cost import side_by_side

    if show:
        if backends or as_json:
            raise click.UsageError("--show takes exactly two backends, without --json")
        from ..results import read_result
        from ..show.classroom import comparison

        left, right = ((name, staged(sources(name))) for name in show)
        timed = read_result(times) if times else comparison()
        say(side_by_side(left, right, timed, screen()))
        return SUCCESS
    if times:
        raise click.UsageError("--times works only with --show: give both")
    found = costs(backends)
    answer(as_json, found, in_a_table(found, screen()))
    return SUCCESS

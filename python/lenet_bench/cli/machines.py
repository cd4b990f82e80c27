"""`machines`: many results together, a row for each machine."""

from pathlib import Path

import click

from .options import RowName, command, json_option, open_option, option, results_argument
from .output import SUCCESS, WRONG, answer, complain, give_page, screen


@command("Show the results of many machines together.")
@results_argument
@option(
    "-b, --backend NAME", "Show this backend. Repeatable.", "names", kind=RowName(), multiple=True
)
@option("--all", "Show every variant.", "every")
@option("-o, --output FILE", "Write one HTML page that works offline.")
@open_option
@json_option
def machines(
    results: tuple[Path, ...],
    names: tuple[str, ...],
    every: bool,
    output: Path | None,
    show: bool,
    as_json: bool,
) -> int:
    """Show results together: a row for each machine, a column for each backend.

    RESULT is a file that `compare` or `share` wrote, or a folder of them. A file that cannot be
    read is named and left out, and the exit code is 1.

    $ lenet-bench machines                       (in a checkout: its own results)
    $ lenet-bench machines mine.jsonl results/community
    $ lenet-bench machines -b fused -b keras
    $ lenet-bench machines -o machines.html --open
    """
    from ..questions.machines import measured_machines
    from ..show.machines import as_json as digest
    from ..show.machines import columns, in_terminal

    if as_json and output:
        raise click.UsageError("--json prints and -o writes: give one of them")
    if show and not output:
        raise click.UsageError("--open opens the page that -o FILE writes: give both")
    found, refused = measured_machines(results)
    for sentence in refused:
        complain(sentence)
    if not found:
        return WRONG
    if output:
        from ..show.page.machines import page

        give_page(output, page(found), show=show)
    else:
        shown = names or columns(found, every=every)
        answer(as_json, digest(found, refused), in_terminal(found, shown, screen()))
    return WRONG if refused else SUCCESS

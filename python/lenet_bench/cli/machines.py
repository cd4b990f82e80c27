"""`machines`: many results together, a row for each machine."""

from pathlib import Path
from typing import Any

import click

from .options import FILE, command, json_option, open_option, option
from .output import SUCCESS, WRONG, complain, give_page, note, say, say_json, screen


@command("Show the results of many machines together.")
@click.argument("results", metavar="[RESULT]...", nargs=-1, type=FILE)
@option("-b, --backend NAME", "Show this backend. Repeatable.", "names", multiple=True)
@option("--all", "Show every variant.", "every")
@option("--ratios", "Show ratios to the baseline, not times.")
@option("--baseline BACKEND", "Show ratios to this backend. [onednn]")
@option("--processor WORDS", "Only processors with these words.")
@option("--gpu WORDS", "Only machines whose GPU has these words; `none`: machines without a GPU.")
@option("--version VERSION", "Only results of this version of lenet-bench.")
@option("-o, --output FILE", "Write one HTML page that works offline.")
@open_option
@json_option
def machines(
    results: tuple[Path, ...],
    names: tuple[str, ...],
    every: bool,
    ratios: bool,
    baseline: str | None,
    output: Path | None,
    show: bool,
    as_json: bool,
    **wanted: Any,
) -> int:
    """Show results together: a row for each machine, a column for each backend.

    RESULT is a file that `compare` or `share` wrote, or a folder of them. A file that cannot be
    read is named and left out, and the exit code is 1.

    $ lenet-bench machines                       (in a checkout: its own results)
    $ lenet-bench machines mine.jsonl results/community
    $ lenet-bench machines -b fused -b keras --ratios
    $ lenet-bench machines --processor epyc -o machines.html --open
    """
    from ..questions.machines import matching, measured_machines
    from ..show.machines import as_json as digest
    from ..show.machines import baseline as chosen
    from ..show.machines import columns, in_terminal

    if as_json and output:
        raise click.UsageError("--json prints and -o writes: give one of them")
    if show and not output:
        raise click.UsageError("--open opens the page that -o FILE writes: give both")
    every_machine, refused = measured_machines(results)
    found = matching(every_machine, **wanted)
    for sentence in refused:
        complain(sentence)
    if not found:
        note("no result matches --processor, --gpu and --version; leave one of them out")
        return WRONG
    base = chosen(found, baseline)
    if output:
        from ..show.page.machines import page

        give_page(output, page(found), show=show)
    elif as_json:
        say_json(digest(found, base, refused))
    else:
        shown = names or columns(found, every=every)
        say(in_terminal(found, shown, base if ratios or baseline else None, screen()))
    return WRONG if refused else SUCCESS

"""`report` and `diff`: saved comparisons, printed, drawn, and one against another."""

from pathlib import Path
from typing import Any

import click

from ..units import counted
from .options import (
    FILE,
    RowName,
    command,
    form_option,
    open_option,
    option,
    results_argument,
    share_of,
)
from .output import SUCCESS, WRONG, give_page, note, say, screen


@command("Print saved results, or draw them as a page.")
@results_argument
@option("-o, --output FILE", "Write one HTML page that works offline: figures, code, warnings.")
@open_option
@option("--figures DIR", "Write each figure as SVG and PNG.", "folder")
@form_option("json", "csv", "markdown")
def report(
    results: tuple[Path, ...],
    output: Path | None,
    show: bool,
    folder: Path | None,
    form: str | None,
) -> int:
    """Print what `compare` saved, or draw it as a page.

    Without RESULT, the newest run in results/. Nothing is measured: every figure comes from the
    saved calls. Several results are shown one after the other. A page shows one; with a run of
    `why` it shows the parts of each call too. Results of several networks add how large a network
    must be before the API stops mattering.

    $ lenet-bench report
    $ lenet-bench report results/compare-20261121-080000.jsonl
    $ lenet-bench report mine.jsonl -o report.html --open
    $ lenet-bench report mine.jsonl results/why-20261121-090000.jsonl -o both.html
    $ lenet-bench report mine.jsonl --figures slides
    $ lenet-bench report net-*.jsonl -o networks.html
    $ lenet-bench report mine.jsonl --markdown >> NOTES.md
    $ lenet-bench report laptop.jsonl server.jsonl --csv > both.csv
    """
    from ..show.terminal.progress import progress

    results = results or (_newest(),)
    if form and (output or folder):
        other = "-o" if output else "--figures"
        raise click.UsageError(f"--{form} prints and {other} writes: give one of them")
    if show and not output:
        raise click.UsageError("--open opens the page that -o FILE writes: give both")
    with progress() as step:
        step(f"reading {counted(len(results), 'result')}")
        from ..results import read_result

        found = [(str(path), read_result(path)) for path in results]
    if not (output or folder):
        from ..show.comparison import comparison
        from ..show.sizes import answered

        read = [result for _, result in found]
        titles = [f"{path}, {result.started}" for path, result in found]
        say(comparison(read, form, screen(), titles=titles))
        say(answered(read, form, screen()))
        return SUCCESS

    with progress() as step:
        step(f"drawing {output or folder}")
        from ..results.sizes import sized
        from ..show.figures.pictures import write_figures
        from ..show.figures.sizes import sizes
        from ..show.page import gather, page

        runs = gather(found)
        of_sizes = sizes(sized([result for _, result in found]))
        if output:
            html = page(runs, of_sizes)
            step.clear()
            give_page(output, html, show=show)
        if folder:
            drawn = write_figures(folder, runs, of_sizes)
            step.clear()
            note(f"{counted(len(drawn), 'figure')} in {folder}")
    return SUCCESS


def _newest() -> Path:
    """The run that `compare` or `why` wrote last, where they write without --output."""
    runs = [*Path("results").glob("compare-*.jsonl"), *Path("results").glob("why-*.jsonl")]
    if not runs:
        raise click.UsageError("results/ has no run; name one, or measure: lenet-bench compare")
    newest = max(runs, key=lambda path: path.stat().st_mtime)
    note(f"the newest run is {newest}")
    return newest


@command("Find what became slower between two results.")
@click.argument("old", type=FILE)
@click.argument("new", type=FILE)
@option(
    "--fail-over SHARE",
    "Exit 1 if a backend is broken, or if even the low end of its interval is above this: 5%.",
    kind=share_of,
)
@option(
    "--fail-if-noisy",
    "With --fail-over: exit 1 also if noise hides whether one is slower, or NEW lacks it.",
)
@option("--relative", "Compare ratios to the baseline: for two machines.")
@option(
    "--baseline BACKEND",
    "The baseline of those ratios (implies --relative). [NEW's]",
    kind=RowName(),
)
@form_option("markdown", "json")
def diff(old: Path, new: Path, form: str | None, **chosen: Any) -> int:
    """Compare two results that `compare` saved, backend by backend.

    Each ratio of NEW's median to OLD's has a 95 % interval, from the processes of both runs. With
    --fail-over, the command exits with 1 if even the low end of a backend's interval is above that
    share, or if it ran in OLD and fails in NEW. Without --fail-over it exits with 0. Of two runs
    with an --interval p99 is compared too.

    $ lenet-bench diff before.jsonl after.jsonl
    $ lenet-bench diff main.jsonl branch.jsonl --fail-over 5%   for CI
    $ lenet-bench diff main.jsonl branch.jsonl --fail-over 5% --fail-if-noisy
    $ lenet-bench diff laptop.jsonl server.jsonl --relative     two machines
    $ lenet-bench diff old.jsonl new.jsonl --markdown >> $GITHUB_STEP_SUMMARY
    """
    from ..questions.diff import diff as differences
    from ..results import read_result
    from ..show.terminal.difference import difference

    found = differences(read_result(old), read_result(new), **chosen)
    say(difference(found, form, screen()))
    return WRONG if found.failed else SUCCESS

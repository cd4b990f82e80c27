"""`report`: what a saved result says, drawn anew."""

import sys
from pathlib import Path

import click

from ..numerals import counted
from ..terminal import Screen
from .options import FILE, FOLDER, form_options
from .output import SUCCESS, note, say


@click.command(
    short_help="Draw saved results anew.",
    epilog="""\b
Examples:
  lenet-bench report results/compare-20261121-080000.json
  lenet-bench report mine.json -o report.html --open
  lenet-bench report laptop.json server.json -o both.html
  lenet-bench report mine.json --figures slides
  lenet-bench report mine.json --markdown >> NOTES.md
  lenet-bench report laptop.json server.json --csv > both.csv
""",
)
@click.argument("results", metavar="RESULT...", nargs=-1, required=True, type=FILE)
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Write a page (HTML) that works offline, with figures, code and every warning.",
)
@click.option("--open", "show", is_flag=True, help="Show the page in the browser.")
@click.option(
    "--figures",
    "folder",
    type=FOLDER,
    metavar="DIR",
    help="Write each figure as SVG and PNG.",
)
@form_options
def report(
    results: tuple[Path, ...],
    output: Path | None,
    show: bool,
    folder: Path | None,
    form: str | None,
) -> int:
    """Draw what `compare` saved. Nothing is measured: every figure comes from the samples.

    Without an option it prints the table of `compare`. Several results (two machines, a CPU and
    a GPU) are drawn side by side.
    """
    from ..measure.summary import summarise
    from ..report import comparison
    from ..results import read_result

    if form and (output or folder):
        raise click.UsageError(f"--{form} prints and {'-o' if output else '--figures'} writes")
    if show and not output:
        raise click.UsageError("--open shows the page that -o FILE writes; give both")
    found = [(str(path), summarise(read_result(path))) for path in results]
    if not (output or folder):
        say(comparison([result for _, result in found], form, Screen.of(sys.stdout)))
        return SUCCESS

    from ..report.figures import figures
    from ..report.figures.files import write_figures
    from ..report.measured import gather
    from ..report.page import page
    from ..report.page.file import write_page

    measured = gather(found)
    drawn = figures(measured)
    if output:
        write_page(output, page(measured, drawn))
        note(f"the page is {output}")
    if folder:
        written = write_figures(folder, drawn)
        note(f"{counted(len(written), 'figure')} in {folder}")
    if output and show:
        click.launch(output.resolve().as_uri())
    return SUCCESS

"""`report`: what a saved result says, drawn anew."""

import sys
from pathlib import Path

import click

from ..terminal import Screen
from .options import FILE, form_options
from .output import SUCCESS, say


@click.command(
    short_help="Draw saved results anew.",
    epilog="""\b
Examples:
  lenet-bench report results/compare-20261121-080000.json
  lenet-bench report mine.json --markdown >> NOTES.md
  lenet-bench report laptop.json server.json --csv > both.csv
""",
)
@click.argument("results", metavar="RESULT...", nargs=-1, required=True, type=FILE)
@form_options
def report(results: tuple[Path, ...], form: str | None) -> int:
    """Draw what `compare` saved. Nothing is measured: every figure comes from the samples."""
    from ..measure import summarise
    from ..report import comparison
    from ..results import read_result

    found = [summarise(read_result(path)) for path in results]
    say(comparison(found, form, Screen.of(sys.stdout)))
    return SUCCESS

"""The commands that measure: options they share, and a run from its progress to its exit code."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .options import FILE, Command, seconds, threads_option, together, weights_option
from .output import INTERRUPTED, SUCCESS, WRONG, complain, note

if TYPE_CHECKING:
    from ..measure.options import CompareOptions
    from ..results import Result

rounds_option = click.option(
    "--rounds", type=click.IntRange(min=1), metavar="N", help="Stop after N rounds."
)


def run_options(
    command: str, *others: Callable[[Any], Any], otherwise: str = ""
) -> Callable[[Command], Command]:
    """--budget, with what ends the run without it, to --output, as CompareOptions calls them.

    The output without a value is a file named after the command and the time.
    """
    text = f"Stop after this time: 60s, 5m. {otherwise}".strip()

    def usual(_context: Any, _option: Any, file: Path | None) -> Path:
        return file or Path(f"results/{command}-{datetime.now():%Y%m%d-%H%M%S}.jsonl")

    return together(
        click.option("--budget", "budget_s", type=seconds, metavar="TIME", help=text),
        *others,
        threads_option,
        weights_option,
        click.option(
            "-o",
            "--output",
            type=FILE,
            metavar="FILE",
            callback=usual,
            help="Save the run to FILE, or continue the run saved there. "
            f"[results/{command}-DATE.jsonl]",
        ),
    )


def run(
    measure: "Callable[[CompareOptions, Callable[[Any], None]], Result]",
    options: "CompareOptions",
    show: "Callable[[Result], bool]",
    *,
    verbose: bool = False,
) -> int:
    """Measure, show the result, and return the exit code; `show` returns whether all is well."""
    from ..measure.comparison import NotSavedError
    from ..show.terminal.progress import progress

    unsaved = None
    with progress() as step:
        try:
            result = measure(options, step.of_a_run)
        except NotSavedError as error:
            result, unsaved = error.result, str(error)
    for row in result.backends if verbose else ():
        note(row.output and f"{row.name} printed:\n{row.output}")
    well = show(result)
    if unsaved:
        complain(unsaved)
        return WRONG
    note(f"the run is saved in {options.output}")
    if result.ended == "interrupted":
        return INTERRUPTED
    return SUCCESS if well else WRONG

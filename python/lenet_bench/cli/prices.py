"""`prices`: what each thing adds to a call, and what another network would take."""

from datetime import datetime
from pathlib import Path

import click

from .options import (
    FILE,
    backends_argument,
    json_option,
    seconds,
    threads_option,
    verbose_option,
    weights_option,
)
from .output import INTERRUPTED, SUCCESS, WRONG, complain, note, say, say_json, screen


@click.command(
    short_help="A price list: what would another network take?",
    epilog="""\b
Examples:
  lenet-bench prices
  lenet-bench prices onnxruntime torch keras:predict_on_batch
  lenet-bench prices numpy -o mine.jsonl       run it again to go on
  lenet-bench prices --json jax | jq '.backends[].predictions'

Exit codes: 0, or 1 where a backend failed, answered wrongly or a named one does not run.
""",
)
@backends_argument
@click.option("--rounds", type=click.IntRange(min=1), metavar="N", help="Stop after N rounds.")
@click.option("--budget", type=seconds, metavar="TIME", help="Stop after this time: 60s, 5m.")
@threads_option
@weights_option
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Write every block to FILE; go on with the run in it. [results/prices-DATE.jsonl]",
)
@json_option
@verbose_option
def prices(
    backends: tuple[str, ...],
    rounds: int | None,
    budget: float | None,
    threads: int,
    weights: Path | None,
    output: Path | None,
    as_json: bool,
    verbose: bool,
) -> int:
    """Find the price of each thing that a network consists of, for each BACKEND.

    Without one, for all that other networks are written for. The prices come from networks of
    trivial operations and from 24 drawn by chance. They predict three networks that they do not
    come from, and what these take is measured beside that.
    """
    from ..measure.comparison import NotSavedError
    from ..measure.options import CompareOptions
    from ..questions.prices import digest, measured
    from ..results import failures, priced
    from ..show.terminal.prices import lists
    from ..show.terminal.progress import progress

    options = CompareOptions(
        backends=backends,
        threads=threads,
        rounds=rounds,
        budget_s=budget,
        weights=weights,
        output=output or Path(f"results/prices-{datetime.now():%Y%m%d-%H%M%S}.jsonl"),
        quiet=not verbose,
    )
    unsaved = None
    with progress() as step:
        try:
            result = measured(options, step.of_a_run)
        except NotSavedError as error:
            result, unsaved = error.result, str(error)
    found = priced(result)
    for row in result.backends if verbose else ():
        note(row.output and f"{row.name} printed:\n{row.output}")
    if as_json:
        say_json(digest(found))
    else:
        say(lists(found, screen(), named=backends))
    if unsaved:
        complain(unsaved)
        return WRONG
    note(f"every block is in {options.output}")
    if result.ended == "interrupted":
        return INTERRUPTED
    unpriced = [one for one in found if one.status == "ok" and not one.prices]
    return WRONG if failures(found, backends) or unpriced else SUCCESS

"""`self-test`: is what `compare` says to be believed on this machine?"""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

import click

from ..units import span
from .options import (
    BACKEND,
    FILE,
    json_option,
    seconds,
    threads_option,
    weights_option,
)
from .output import INTERRUPTED, SUCCESS, WRONG, note, say, say_json, screen


@click.command(
    "self-test",
    short_help="Check compare itself with planted faults.",
    epilog="""\b
Examples:
  lenet-bench self-test
  lenet-bench self-test fused --budget 5m
  lenet-bench self-test --quick --json

Exit codes: 0 where every point passes, else 1.
""",
)
@click.argument("backend", metavar="[BACKEND]", required=False, type=BACKEND)
@click.option("--quick", is_flag=True, help="Give a rough answer from few comparisons.")
@click.option(
    "--starts",
    type=click.IntRange(min=6),
    metavar="N",
    help="Give each comparison N starts. [as many as the README's figures have]",
)
@click.option(
    "--budget",
    type=seconds,
    metavar="TIME",
    help="Stop after this time. [when there is enough for a verdict]",
)
@threads_option
@weights_option
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Write every call to FILE. [results/self-test-DATE.jsonl]",
)
@json_option
def self_test(
    backend: str | None,
    quick: bool,
    starts: int | None,
    budget: float | None,
    threads: int,
    weights: Path | None,
    output: Path | None,
    as_json: bool,
) -> int:
    """Compare a backend (numpy, or the one named) with itself and with planted faults.

    Identical backends must be called the same, slowdowns of 5 and 10 % must be found, and those
    that cheat must be caught. How many slowdowns of 2 % are found is told.
    """
    from ..measure.comparison import compare as measure
    from ..questions.self_test import (
        PUBLISHED_STARTS,
        USUAL_BACKEND,
        points,
        self_test_options,
    )
    from ..show.terminal.progress import progress
    from ..show.terminal.self_test import digest
    from ..show.terminal.self_test import self_test as drawn

    output = output or Path(f"results/self-test-{datetime.now():%Y%m%d-%H%M%S}.jsonl")
    starts = starts or PUBLISHED_STARTS
    options = self_test_options(
        backend or USUAL_BACKEND, threads=threads, quick=quick, budget_s=budget, starts=starts
    )
    if options.enough:
        most = span(options.budget_s or 0)
        note(f"this takes up to {most}; --budget sets another limit")
    with progress() as step:
        result = measure(replace(options, weights=weights, output=output), step.of_a_run)
    found = points(result, quick=quick, starts=starts)
    if as_json:
        say_json(digest(found, result))
    else:
        say(drawn(found, result, screen()))
    note(f"every call is in {output}")
    if result.ended == "interrupted":
        return INTERRUPTED
    return SUCCESS if all(point.verdict == "passed" for point in found) else WRONG

"""`self-test`: can the verdicts of `compare` be trusted on this machine?"""

from typing import TYPE_CHECKING, Any

import click

from ..units import span
from .options import BACKEND, command, json_option, option, run_options
from .output import answer, note, run, screen

if TYPE_CHECKING:
    from ..results import Result


@command("Check compare itself with planted faults.")
@click.argument("backend", metavar="[BACKEND]", required=False, type=BACKEND)
@option("--quick", "Give a rough answer from few comparisons.")
@option(
    "--starts N",
    "Give each comparison N starts. [15, as for the README's figures]",
    kind=click.IntRange(min=6),
)
@run_options("self-test", rounds=False, otherwise="[when there is enough for a verdict]")
@json_option
def self_test(
    backend: str | None, quick: bool, starts: int | None, as_json: bool, **chosen: Any
) -> int:
    """Compare a backend (numpy, or the one named) with itself and with planted faults.

    Identical backends must be called the same, slowdowns of 5 and 10 % must be found, and cheating
    backends must be caught. It also reports how many slowdowns of 2 % are found; at most 5 % of
    these may be called faster.

    $ lenet-bench self-test
    $ lenet-bench self-test fused --budget 5m
    $ lenet-bench self-test --quick --json

    Exit codes: 0 if every point passes, else 1.
    """
    from ..measure.comparison import compare as measure
    from ..questions.self_test import PUBLISHED_STARTS, USUAL_BACKEND, points, self_test_options
    from ..show.terminal.self_test import digest
    from ..show.terminal.self_test import self_test as drawn

    starts = starts or PUBLISHED_STARTS
    options = self_test_options(backend or USUAL_BACKEND, quick=quick, starts=starts, **chosen)
    if options.enough:
        most = span(options.budget_s or 0)
        note(f"this takes up to {most}; --budget sets another limit")

    def show(result: "Result") -> bool:
        found = points(result, quick=quick, starts=starts)
        answer(as_json, digest(found, result), drawn(found, result, screen()))
        return all(point.verdict == "passed" for point in found)

    return run(measure, options, show)

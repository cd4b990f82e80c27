"""`prices`: what each operation, layer and byte adds to a call, and other networks' times."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from .measuring import budget_option, output_option, rounds_option, run
from .options import backends_argument, json_option, threads_option, verbose_option, weights_option
from .output import answer, screen

if TYPE_CHECKING:
    from ..results import Result


@click.command(
    short_help="A price list: what would another network take?",
    epilog="""\b
Examples:
  lenet-bench prices
  lenet-bench prices onnxruntime torch keras:predict_on_batch
  lenet-bench prices numpy -o mine.jsonl       run it again to continue
  lenet-bench prices --json jax | jq '.backends[].predictions'

Exit codes: 0, or 1 where a backend failed, answered wrongly or a named one does not run.
""",
)
@backends_argument
@rounds_option
@budget_option()
@threads_option
@weights_option
@output_option("prices")
@json_option
@verbose_option
def prices(
    backends: tuple[str, ...],
    rounds: int | None,
    budget: float | None,
    threads: int,
    weights: Path | None,
    output: Path,
    as_json: bool,
    verbose: bool,
) -> int:
    """Find what each operation, layer and byte of a network adds to a call of each BACKEND.

    Without a BACKEND it measures all that it supports. The prices are fitted to networks of
    trivial operations and to 24 random ones. They predict the times of three other networks,
    which are also measured.
    """
    from ..measure.options import CompareOptions
    from ..questions.prices import digest, measured
    from ..results import failures, priced
    from ..show.terminal.prices import lists

    options = CompareOptions(
        backends=backends,
        threads=threads,
        rounds=rounds,
        budget_s=budget,
        weights=weights,
        output=output,
        quiet=not verbose,
    )

    def show(result: "Result") -> bool:
        found = priced(result)
        answer(as_json, digest(found), lists(found, screen(), named=backends))
        unpriced = [one for one in found if one.status == "ok" and not one.prices]
        return not failures(found, backends) and not unpriced

    return run(measured, options, show, verbose=verbose)

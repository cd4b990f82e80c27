"""`prices`: what each operation, layer and byte adds to a call, and other networks' times."""

from typing import TYPE_CHECKING, Any

from .options import backends_argument, command, json_option, run_options, verbose_option
from .output import answer, run, screen

if TYPE_CHECKING:
    from ..results import Result


@command("A price list: what would another network take?")
@backends_argument
@run_options("prices")
@json_option
@verbose_option
def prices(backends: tuple[str, ...], as_json: bool, verbose: bool, **chosen: Any) -> int:
    """Find the price of each thing that a network consists of, for each BACKEND.

    Without a BACKEND it measures all that it supports. The prices are fitted to networks of
    trivial operations and to 24 random ones. They predict the times of three other networks,
    which are also measured.

    $ lenet-bench prices
    $ lenet-bench prices onnxruntime torch keras:predict_on_batch
    $ lenet-bench prices numpy -o mine.jsonl       run it again to continue
    $ lenet-bench prices --json jax | jq '.backends[].predictions'

    Exit codes: 0, or 1 where a backend failed, answered wrongly or a named one does not run.
    """
    from ..measure.options import CompareOptions
    from ..questions.prices import digest, measured
    from ..results import failures, priced
    from ..show.terminal.prices import lists

    options = CompareOptions(backends=backends, quiet=not verbose, **chosen)

    def show(result: "Result") -> bool:
        found = priced(result)
        answer(as_json, digest(found), lists(found, screen(), named=backends))
        unpriced = [one for one in found if one.status == "ok" and not one.prices]
        return not failures(found, backends) and not unpriced

    return run(measured, options, show, verbose=verbose)

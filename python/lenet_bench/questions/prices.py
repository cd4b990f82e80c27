"""What each piece of a network costs on an API: a comparison whose blocks time other networks."""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any

from ..errors import LenetBenchError
from ..measure.comparison import Progress, compare
from ..measure.options import CompareOptions
from ..probes.written import unwritten
from ..registry import usual_name
from ..results import Priced, Result
from ..results.prices import GOAL, within


def measured(options: CompareOptions, progress: Callable[[Progress], None]) -> Result:
    """The run: as by `compare`, with the other networks after the timed calls of each block.

    LenetBenchError if a named backend is not supported.
    """
    named = [usual_name(one) for one in options.backends if isinstance(one, str)]
    if reason := unwritten(named):
        raise LenetBenchError(reason)
    return compare(replace(options, prices=True), progress)


def digest(found: Sequence[Priced]) -> dict[str, Any]:
    """The output of `--json`."""
    met, predictions = within(found)
    return {
        "backends": [asdict(one) for one in found],
        "goal": GOAL,
        "within": met,
        "predictions": predictions,
    }

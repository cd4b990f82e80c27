"""Where the time of a call goes: a comparison whose blocks also take each call apart.

`lenet-bench why` prints the result of

    for one in why(CompareOptions(("keras", "keras:call"))):
        print(one.name, one.median_us, [(part.name, part.us) for part in one.parts])
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from msgspec import to_builtins

from ..measure.comparison import Progress, compare
from ..measure.options import CompareOptions
from ..results import Breakdown, Result, breakdowns


def why(
    options: CompareOptions | None = None, progress: Callable[[Progress], None] = lambda _: None
) -> list[Breakdown]:
    """Take a call of each backend apart: after the timed calls of each block, the experiments."""
    return breakdowns(compare(replace(options or CompareOptions(), breakdown=True), progress))


def digest(result: Result) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "network": result.rules.network,
        "rounds": result.rounds,
        "ended": result.ended,
        "backends": to_builtins(breakdowns(result)),
        "warnings": list(result.warnings),
    }

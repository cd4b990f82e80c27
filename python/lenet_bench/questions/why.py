"""Why a backend takes what it takes: a comparison whose blocks also take each call apart.

`lenet-bench why` prints what comes of

    for one in why(CompareOptions(("keras", "keras:call"))):
        print(one.name, one.median_us, [(part.name, part.us) for part in one.parts])
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from msgspec import to_builtins

from ..measure.comparison import Progress, compare
from ..measure.options import CompareOptions
from ..results import Result, TakenApart, taken_apart


def why(
    options: CompareOptions | None = None, progress: Callable[[Progress], None] = lambda _: None
) -> list[TakenApart]:
    """Take a call of each backend apart."""
    return taken_apart(measured(options or CompareOptions(), progress))


def measured(options: CompareOptions, progress: Callable[[Progress], None]) -> Result:
    """The run: as `compare` does it, and after the timed calls of each block the experiments."""
    return compare(replace(options, apart=True), progress)


def digest(found: Sequence[TakenApart]) -> dict[str, Any]:
    """What `--json` prints."""
    return {"backends": to_builtins(found)}

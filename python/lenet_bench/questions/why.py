"""Where the time of a call goes: a comparison whose blocks also take each call apart.

`lenet-bench why` prints the result of

    for one in why(CompareOptions(("keras", "keras:call"))):
        print(one.name, one.median_us, [(part.name, part.us) for part in one.parts])
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
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
    """The run: as by `compare`, with the experiments after the timed calls of each block."""
    return compare(replace(options, apart=True), progress)


def digest(found: Sequence[TakenApart]) -> dict[str, Any]:
    """The output of `--json`."""
    return {"backends": [_one(one) for one in found]}


def _one(one: TakenApart) -> dict[str, Any]:
    of_the_file = {"anatomy": to_builtins(one.anatomy), "kernels": to_builtins(one.kernels)}
    return asdict(replace(one, anatomy=None, kernels=())) | of_the_file

"""Price lists in a terminal: a backend's prices, and their predictions beside measured times."""

from collections.abc import Iterator, Sequence

from ... import units
from ...results import Priced, failures
from ...results.prices import GOAL, within
from ..sentences import missing
from .screen import Screen
from .table import Column, table


def lists(found: Sequence[Priced], screen: Screen, named: Sequence[str] = ()) -> Iterator[str]:
    """Two tables a backend; then how many predictions are right, and why a backend has none."""
    for one in found:
        if one.prices:
            yield screen.paint(one.name, "bold")
            yield from table(screen, list(_prices(one)), margin="  ")
            yield ""
            yield from table(screen, list(_predictions(one)), margin="  ")
            yield ""
    if held := summary(found):
        yield from screen.wrap(held)
    wanted = failures(found, named)
    for one in found:
        if one.status == "ok" and one.reason:
            yield from screen.wrap(f"{one.name} has no prices: {one.reason}", "red")
        elif one.name in wanted and one.reason:
            yield from screen.wrap(f"{one.name}: {one.status}: {one.reason}", "red")
    absent = (one.name for one in found if one.status == "unavailable")
    yield from screen.wrap(missing(name for name in absent if name not in wanted) or "", "dim")


def summary(found: Sequence[Priced]) -> str | None:
    """How many predictions meet the goal; None where there are none."""
    met, count = within(found)
    if not count:
        return None
    return f"{met} of {count} predictions are within {units.percent(GOAL)} of the measured time."


def _prices(one: Priced) -> Iterator[Column]:
    yield Column("what", [part.name for part in one.prices], left=True)
    yield Column("adds", [units.time(part.us) for part in one.prices])
    bounds = [units.times(part.low_us, part.high_us) for part in one.prices]
    yield Column("95 % interval", bounds)
    yield Column("from", [part.evidence for part in one.prices], left=True, leaves=1)


def _predictions(one: Priced) -> Iterator[Column]:
    known = one.predictions
    yield Column("another network", [each.network for each in known], left=True)
    yield Column("predicted", [units.time(each.predicted_us) for each in known])
    yield Column("measured", [units.time(each.measured_us) for each in known])
    yield Column("error", [units.percent(each.error, places=0, signed=True) for each in known])
    bounds = [units.percent(each.error_low, each.error_high, places=0) for each in known]
    yield Column("95 % interval", bounds, leaves=1)

"""How well price lists predict, in a sentence."""

from collections.abc import Sequence

from ..results import Priced
from ..results.prices import GOAL, within


def summary(found: Sequence[Priced]) -> str | None:
    """How many predictions meet the goal; None where there are none."""
    met, count = within(found)
    if not count:
        return None
    return f"{met} of {count} predictions are within {GOAL:.0%} of what was measured."

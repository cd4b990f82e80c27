"""`--until decided`: a run that ends when every backend's verdict is certain.

Who looks often is misled often, so verdicts are looked at after 6, 8, 10, 13, 17, ... rounds, and
need intervals of 99 %. A backend that is decided is not started again; the baseline is.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil

from ..registry import without_threads
from ..results import Log, ratios
from ..results.read import DEFAULT_BASELINE
from ..results.statistics import DECIDED, FEWEST_STARTS, judge, starts_to_decide
from ..texts import listed
from .options import CompareOptions

#: How long such a run lasts at most without a --budget and --rounds.
LONGEST_S = 300.0
_STEP = 1.25  # from one look to the next
_NAMED = 3


def is_look(rounds: int) -> bool:
    """Whether verdicts are looked at after so many rounds."""
    look = FEWEST_STARTS
    while look < rounds:
        look = ceil(look * _STEP)
    return look == rounds


def bounded(options: CompareOptions, earlier_s: float | None) -> CompareOptions:
    """With an end, and a baseline that no later round replaces.

    A file that is continued, after so long a run, keeps its own baseline.
    """
    names = [without_threads(entry.name) for entry in options.entries()]
    is_named = options.baseline or DEFAULT_BASELINE in names or earlier_s is not None
    longest_s = LONGEST_S + (earlier_s or 0.0)
    return replace(
        options,
        baseline=options.baseline if is_named else names[0],
        budget_s=options.budget_s or (None if options.rounds else longest_s),
    )


class Undecided:
    """The backends of a run that are not decided, each with the starts that it needs in all."""

    def __init__(self, log: Log) -> None:
        self.baseline, found = ratios(log, DECIDED)
        margin = log.header.rules.margin
        self.judged = len(found)
        self.starts: Mapping[str, float] = {
            name: starts_to_decide(ratio, margin)
            for name, ratio in found.items()
            if judge(ratio, margin) == "ambiguous"
        }

    def __contains__(self, name: object) -> bool:
        """Whether it is to be started again."""
        return name in self.starts or name == self.baseline

    def says(self, most: float) -> str:
        """Which ones are open, and who needs more starts than so many."""
        names = listed([without_threads(name) for name in self.starts], _NAMED)
        far = [without_threads(name) for name, needed in self.starts.items() if needed > most]
        noisy = f", too noisy for the time left: {listed(far, _NAMED)}" if far else ""
        return f"open: {names}{noisy}"

"""The order of blocks and the end of a run: shuffled rounds within a budget."""

import random
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from ..results import Block
from ..results.statistics import FEWEST_STARTS
from .options import USUAL_S

_MOST_REPEATED = 0.25  # of the blocks


@dataclass(frozen=True)
class Plan:
    """The length of a run; the usual one without budget and rounds."""

    budget_s: float | None = None
    rounds: int | None = None
    least: int = 0  # rounds that are measured whole, whatever the budget

    def is_over(self, rounds: int, elapsed_s: float, round_s: float) -> bool:
        """Whether no further round begins. Within a budget, `fits` decides about each block."""
        if self.rounds is not None or self.budget_s is not None:
            return self.rounds is not None and rounds >= self.rounds
        return rounds >= FEWEST_STARTS and elapsed_s + round_s / 2 >= USUAL_S

    def fits(self, number: int, elapsed_s: float, takes_s: float) -> bool:
        """Whether a block of this round with this duration fits the budget."""
        if self.budget_s is None or number < self.least:
            return True
        return elapsed_s + takes_s <= self.budget_s

    def left_s(self, rounds: float, elapsed_s: float, round_s: float) -> float | None:
        """The remaining time; None while it is unknown. `rounds` may be fractional."""
        if not round_s and self.budget_s is None:
            return None
        wanted = self.rounds
        if wanted is None and self.budget_s is None:
            wanted = max(FEWEST_STARTS, round(rounds + (USUAL_S - elapsed_s) / round_s))
        ends = [] if wanted is None else [(wanted - rounds) * round_s]
        ends += [] if self.budget_s is None else [self.budget_s - elapsed_s]
        return max(0.0, min(ends))


class Costs:
    """The duration of a block of each backend, from the blocks so far."""

    def __init__(self, blocks: Sequence[Block]) -> None:
        self._took: dict[str, list[float]] = {}
        for block in blocks:
            self.add(block)

    def add(self, block: Block) -> None:
        self._took.setdefault(block.backend, []).append(block.took_s or 0.0)

    def of(self, backend: str) -> float:
        """The median of its blocks; 0 before the first, so that it is not held back."""
        took = self._took.get(backend)
        return median(took) if took else 0.0

    def of_round(self, backends: Sequence[str]) -> float:
        """The sum over these; those not yet measured count as the average of the others."""
        known = [self.of(name) for name in backends if name in self._took]
        return fmean(known) * len(backends) if known else 0.0


def shuffled(names: Sequence[str], seed: int) -> Iterator[list[str]]:
    """The endless orders of rounds: the same for the same names and seed."""
    generator = random.Random(seed)
    while True:
        order = list(names)
        generator.shuffle(order)
        yield order


def to_repeat(blocks: Sequence[Block], disturbed: set[int], backends: Sequence[str]) -> list[Block]:
    """Blocks to repeat after a disturbance: once each, and not too many."""
    seen = Counter((block.backend, block.round) for block in blocks)
    repeated = len(blocks) - len(seen)
    room = max(0, int(_MOST_REPEATED * len(seen)) - repeated)
    wanted = [
        block
        for number, block in enumerate(blocks)
        if number in disturbed
        and seen[block.backend, block.round] == 1
        and block.backend in backends
    ]
    return wanted[:room]

"""From values to places: linear scales that begin at nothing, logarithmic ones that do not."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

from ..markup import Markup
from .svg import label, line, text_width

_GAP = 10.0  # between two labels
_OVERHANG = 8.0  # of a label beyond the end of its axis


@dataclass(frozen=True)
class Scale:
    """Values from low to high lie from begin to end."""

    low: float
    high: float
    begin: float
    end: float
    logarithmic: bool = False

    def __call__(self, value: float) -> float:
        """The place of a value; of one beyond the ends, the end."""
        value = min(max(value, self.low), self.high)
        if self.logarithmic:
            share = log10(value / self.low) / log10(self.high / self.low)
        else:
            share = (value - self.low) / (self.high - self.low)
        return self.begin + share * (self.end - self.begin)

    def ticks(self) -> list[float]:
        """Round values within the scale."""
        return self._decades() if self.logarithmic else self._steps()

    def _steps(self) -> list[float]:
        room = max(2, abs(self.end - self.begin) / 90)
        step = _round_up(self.high / room)
        return [n * step for n in range(int(self.high / step + 1e-9) + 1)]

    def _decades(self) -> list[float]:
        span = log10(self.high / self.low)
        steps = (1,) if span > 2.5 else (1, 2, 5) if span > 0.7 else (1, 1.5, 2, 3, 4, 5, 6, 8)
        decades = range(floor(log10(self.low)), ceil(log10(self.high)) + 1)
        ticks = [step * 10.0**decade for decade in decades for step in steps]
        inside = [tick for tick in ticks if self.low * 0.999 <= tick <= self.high * 1.001]
        return inside or [self.low, self.high]


def linear(highest: float, begin: float, end: float) -> Scale:
    """From nothing to a little more than the highest value."""
    return Scale(0.0, highest * 1.02 or 1.0, begin, end)


def logarithmic(lowest: float, highest: float, begin: float, end: float) -> Scale:
    """From a little below the lowest to a little above the highest value."""
    lowest = max(lowest, 1e-9)
    room = max(1.06, (highest / lowest) ** 0.03)
    return Scale(lowest / room, max(highest, lowest) * room, begin, end, True)


def across(
    scale: Scale,
    top: float,
    bottom: float,
    spell: Callable[[float], str],
    *,
    twice: bool = False,
    ticks: Sequence[float] = (),
) -> Iterator[Markup]:
    """Grid lines from top to bottom with their values below, and above too where that is far."""
    rest = float("-inf")
    for tick in ticks or scale.ticks():
        x, text = scale(tick), spell(tick)
        yield line(x, top, x, bottom, "zero" if tick == 0 else "grid")
        half = text_width(text) / 2
        place = min(max(x, half), scale.end + _OVERHANG - half)
        if place - half < rest + _GAP:
            continue
        rest = place + half
        yield label(place, bottom + 11, text, "middle soft")
        if twice:
            yield label(place, top - 10, text, "middle soft")


def up(scale: Scale, left: float, right: float, spell: Callable[[float], str]) -> Iterator[Markup]:
    """Grid lines from left to right with their values to the left."""
    for tick in scale.ticks():
        y = scale(tick)
        yield line(left, y, right, y, "zero" if tick == 0 else "grid")
        yield label(left - 7, y, spell(tick), "end soft")


def _round_up(value: float) -> float:
    """The next of 1, 2, 5, 10, 20, ..."""
    decade = 10.0 ** floor(log10(value))
    return next(step * decade for step in (1, 2, 5, 10) if step * decade >= value * 0.999)

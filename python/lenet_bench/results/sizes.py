"""How large must a network be before the API stops mattering? Arithmetic only.

`sized` turns results of several networks into rows, `since` says from which size on a backend is
nearly as fast as the fastest API.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile

from ..errors import LenetBenchError
from ..networks import NETWORKS, network
from ..registry import find, precision
from .model import BackendResult, Result
from .statistics import Ratio, ratio_of

#: Who takes less than this share longer than the fastest API is nearly as fast.
NEAR = 0.1
#: Calls and dispatch grow with the layers, at most thirty-fold between these networks.
_BEYOND_DISPATCH = 100
_AS_ONE = "inference engines"


@dataclass(frozen=True)
class Sized:
    """A backend's median call of a network, over that of the fastest API on the same network."""

    network: str
    multiply_adds: int
    name: str
    us: float
    ratio: float  # 1: the fastest
    low: float | None  # where the ratio's interval begins; None: the fastest, or too few starts
    high: float | None
    off: float | None = None  # its difference, where most may not differ by so much

    @property
    def is_near(self) -> bool:
        """Whether the whole interval says so."""
        return self.ratio == 1 or (self.high is not None and self.high < 1 + NEAR)

    @property
    def longer_us(self) -> float:
        """How much longer than the fastest it takes."""
        return self.us - self.us / self.ratio


def sized(results: Sequence[Result]) -> list[Sized]:
    """Each backend on each network, the smallest network first, of each the fastest backend first.

    Empty with fewer than two networks; of several results of one network the first counts. Only
    float32 counts, and what ran on two networks at least: code for LeNet alone sets no measure.
    """
    timed: dict[str, tuple[Result, list[BackendResult]]] = {}
    for result in results:
        if result.rules.network in NETWORKS and not result.rules.apart:
            rows = [row for row in result.backends if _us(row) and precision(row.name) == "float32"]
            timed.setdefault(result.rules.network, (result, sorted(rows, key=_us)))
    count = Counter(row.name for _, rows in timed.values() for row in rows)
    found: list[Sized] = []
    for name in sorted(timed, key=lambda name: network(name).multiply_adds):
        result, rows = timed[name]
        rows = [row for row in rows if count[row.name] > 1]
        found += (_sized(row, rows[0], result) for row in rows)
    return found


def by_name(found: Sequence[Sized]) -> dict[str, list[Sized]]:
    """The rows of each backend, the smallest network first."""
    names = dict.fromkeys(one.name for one in found)
    return {name: [one for one in found if one.name == name] for name in names}


def since(own: Sequence[Sized]) -> Sized | None:
    """The smallest network from which on a backend is near; None: it is not on its largest."""
    near = list(takewhile(lambda one: one.is_near, reversed(own)))
    return near[-1] if near else None


def is_beyond_calls(own: Sequence[Sized]) -> bool:
    """Whether calls and dispatch cannot explain how much longer its largest network takes."""
    first, last = own[0], own[-1]
    certain = last.low is not None and last.low > 1 + NEAR
    return certain and last.longer_us > _BEYOND_DISPATCH * first.longer_us


def by_api(found: Sequence[Sized]) -> list[tuple[str, Sized]]:
    """The fastest variant of each API on each network, after the API: Keras, of keras-jax:call."""
    best: dict[tuple[str, str], Sized] = {}
    for one in found:
        best.setdefault((_api(one.name), one.network), one)
    return [(api, one) for (api, _), one in best.items()]


def _api(name: str) -> str:
    """The inference engines are one."""
    try:
        row, _ = find(name)
    except LenetBenchError:  # of another version
        return name
    return row.family if row.family == _AS_ONE else row.library


def _sized(row: BackendResult, fastest: BackendResult, result: Result) -> Sized:
    of = result.rules.network
    ratio = Ratio(1.0)
    if row is not fastest:
        ratio = ratio_of(row, fastest)
    size, (low, high) = network(of).multiply_adds, ratio.bounds
    off = row.difference if (row.difference or 0.0) > result.strictest else None
    return Sized(of, size, row.name, _us(row), ratio.value, low, high, off)


def _us(row: BackendResult) -> float:
    return row.p50_us or 0.0

"""A price list: from the networks of a run of `prices` to what each thing adds. Arithmetic only.

For each start, the prices of entering and of an operation are a straight line fitted to the
networks of trivial operations. The remaining prices are fitted to the random networks: none is
below zero, and the sum of the relative errors of their predictions is least. A start counts once;
prices, predictions and intervals are over starts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from ..errors import ResultError
from ..probes.described import read, work
from .apart import Part, of_kind
from .model import Experiment, Result, Row, Status
from .statistics import Floats, with_bounds

#: How far a prediction may be off.
GOAL = 0.15
ENTERING, OPERATION = "entering", "operation"
_EVIDENCE = {
    ENTERING: "the line through the networks of trivial operations, at 0 operations",
    OPERATION: "the slope over 1, 4, 16 and 64 trivial operations on ten floats",
}
_FITTED = "fitted to the random networks, with the least relative errors"
_STEPS = 30  # of the fit
_LEAST_OFF = 0.01  # networks that are off by less pull alike


@dataclass(frozen=True)
class Prediction:
    """Another network: its predicted time, its measured time, and the error."""

    network: str
    layers: str
    predicted_us: float
    measured_us: float
    error: float  # of what it takes
    error_low: float | None
    error_high: float | None


@dataclass(frozen=True)
class Priced:
    """A backend's prices and their predictions."""

    name: str
    status: Status
    reason: str | None = None  # why it did not run, or why it has no prices
    prices: tuple[Part, ...] = ()
    predictions: tuple[Prediction, ...] = ()


def priced(result: Result) -> list[Priced]:
    """Each backend of a run of `prices`."""
    return [_priced(row, result.rules.seed) for row in result.backends]


def within(found: Sequence[Priced]) -> tuple[int, int]:
    """How many predictions are within GOAL, and how many there are."""
    errors = [abs(one.error) for backend in found for one in backend.predictions]
    return sum(error <= GOAL for error in errors), len(errors)


def _priced(row: Row, seed: int) -> Priced:
    known = Priced(row.name, row.status, row.reason)
    if row.status != "ok":
        return known
    starts = [block.experiments for block in row.blocks if block.experiments]
    if not starts:
        reason = next((block.whole for block in row.blocks if block.whole), None)
        return replace(known, reason=reason or "`prices` does not support this backend")
    others = of_kind(starts[0], "other")
    prices = [_prices(start) for start in starts]
    columns = [
        [
            *one.values(),
            *(_sum(one, other) for other in others),
            *(other.us for other in of_kind(start, "other")),
        ]
        for one, start in zip(prices, starts, strict=True)
    ]
    count = len(others)

    def figures(medians: Floats) -> Floats:
        """And the errors."""
        predicted, measured = medians[..., -2 * count : -count], medians[..., -count:]
        return np.concatenate([medians, predicted / measured - 1], axis=-1)

    found = with_bounds(np.array(columns), figures, seed)
    predicted, measured, errors = (found[-n * count :][:count] for n in (3, 2, 1))
    return replace(
        known,
        prices=tuple(
            Part(name, *us, _EVIDENCE.get(name, _FITTED))
            for name, us in zip(prices[0], found, strict=False)
        ),
        predictions=tuple(
            Prediction(other.name, other.evidence, guess[0], us[0], *error)
            for other, guess, us, error in zip(others, predicted, measured, errors, strict=True)
        ),
    )


def _prices(start: Sequence[Experiment]) -> dict[str, float]:
    """The prices of one start, in microseconds."""
    trivial, drawn = of_kind(start, "operations"), of_kind(start, "drawn")
    counts, us = [float(one.operations) for one in trivial], [one.us for one in trivial]
    slope, entering = np.polyfit(counts, us, 1, w=1 / np.array(us))  # alike for its share
    known = {ENTERING: float(entering), OPERATION: float(slope)}
    names = [name for name in _work(drawn[0].evidence) if name not in known]
    amounts = np.array([[_work(one.evidence)[name] for name in names] for one in drawn])
    taken = np.array([one.us for one in drawn])
    above = taken - [_sum(known, one) for one in drawn]
    fitted = _least_off(amounts / taken[:, None], above / taken)
    return known | dict(zip(names, fitted.tolist(), strict=True))


def _least_off(shares: Floats, wanted: Floats) -> Floats:
    """The prices, none below zero, with the least sum of absolute errors.

    By iteratively reweighted least squares: an outlier, a network in which an API does something
    special, does not move the others' prices.
    """
    weights = np.ones(len(wanted))
    prices = np.zeros(shares.shape[1])
    for _ in range(_STEPS):
        kept = list(range(shares.shape[1]))
        while kept:
            some = shares[:, kept] * weights[:, None]
            fitted = np.linalg.lstsq(some, wanted * weights, rcond=None)[0]
            if fitted.min() >= 0:
                break
            del kept[int(fitted.argmin())]
        prices = np.zeros(shares.shape[1])
        if kept:
            prices[kept] = fitted
        weights = 1 / np.sqrt(np.maximum(np.abs(shares @ prices - wanted), _LEAST_OFF))
    return prices


def _sum(prices: Mapping[str, float], network: Experiment) -> float:
    """Its predicted time."""
    amounts = _work(network.evidence)
    return prices[ENTERING] + sum(us * amounts.get(name, 0.0) for name, us in prices.items())


@cache
def _work(network: str) -> Mapping[str, float]:
    """How much of each priced thing the network has."""
    try:
        return work(read(network))
    except ValueError as error:
        raise ResultError(str(error)) from None

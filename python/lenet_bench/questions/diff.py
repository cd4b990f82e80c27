"""Two results backend by backend: which became slower, and is the difference real?

Compares times or, for two machines, ratios to a baseline that both ran. The starts of the two runs
are independent, so each side is resampled separately.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np

from ..errors import LenetBenchError
from ..results import Result, Row, Status, Verdict, start_medians_us
from ..results.differences import ConditionDifference, condition_differences, other_machine
from ..results.statistics import FEWEST_STARTS, Floats, Interval, independent_ratio_interval, judge
from ..results.warnings import disturbance
from ..units import percent

# For a backend that is ok in both; ok in OLD only, in NEW only, in neither; absent from OLD, from
# NEW.
Became = Verdict | Literal["broken", "mended", "failing"] | Literal["added", "removed"]


@dataclass(frozen=True)
class Change:
    """The change of one backend."""

    name: str
    became: Became
    old_status: Status | None  # None: not among its backends
    new_status: Status | None
    reason: str | None  # why it is not ok in NEW
    old: float | None  # the median call, us; relative: its ratio to the baseline
    new: float | None
    ratio: float | None  # of new to old; above 1 is slower
    ratio_low: float | None
    ratio_high: float | None
    regressed: bool  # slower by more than is allowed, with confidence; or broken

    @property
    def noise(self) -> float | None:
        """By how much a slowdown must exceed the allowed one to be distinguished from noise."""
        return self.ratio / self.ratio_low - 1 if self.ratio and self.ratio_low else None


@dataclass(frozen=True)
class Difference:
    """Two results side by side."""

    old: Result
    new: Result
    baseline: str | None  # that ratios were compared to; None: times were
    fail_over: float | None
    changes: tuple[Change, ...]  # the worst first
    circumstances: tuple[ConditionDifference, ...]
    notes: tuple[str, ...]

    @property
    def regressed(self) -> list[str]:
        """The backends that fail --fail-over; none without it."""
        return [change.name for change in self.changes if change.regressed]


def diff(
    old: Result,
    new: Result,
    *,
    fail_over: float | None = None,
    relative: bool = False,
    baseline: str | None = None,
) -> Difference:
    """Compare two results.

    `fail_over` is the slowdown from which a backend counts as regressed: 0.05 is 5 %. `relative`
    compares ratios to the baseline, NEW's where none is named. Raises LenetBenchError where there
    is nothing to compare.
    """
    if fail_over is not None and not fail_over > 0:
        raise LenetBenchError(f"fail_over must be above 0, got {fail_over:g}")
    if old.rules.network != new.rules.network:
        raise LenetBenchError(
            f"the results are of two networks, {old.rules.network} and {new.rules.network}, whose "
            "times cannot be compared"
        )
    base = _baseline(old, new, baseline) if relative or baseline else None
    changes = sorted(
        _changes(old, new, base, fail_over),
        key=lambda change: (not change.regressed, -(change.ratio or 0.0)),
    )
    if not any(change.ratio for change in changes):
        raise LenetBenchError("no backend is ok in both results, so there is nothing to compare")
    notes = tuple(_notes(old, new, changes, base, fail_over))
    found = tuple(condition_differences(old, new))
    return Difference(old, new, base, fail_over, tuple(changes), found, notes)


def _baseline(old: Result, new: Result, named: str | None) -> str:
    """The backend that both measured and that ratios refer to."""
    both = [row.name for row in new.backends if _is_ok(row) and _is_ok(_find(old, row.name))]
    wanted = named or new.baseline
    if wanted in both:
        return wanted
    what = f"the baseline {wanted}" if wanted else "a baseline"
    known = ", ".join(both) or "none"
    raise LenetBenchError(f"{what} is not ok in both results; choose one that is: {known}")


def _changes(
    old: Result, new: Result, baseline: str | None, fail_over: float | None
) -> Iterator[Change]:
    for name in dict.fromkeys(row.name for row in (*new.backends, *old.backends)):
        one, other = _find(old, name), _find(new, name)
        olds, news = _starts(old, one, baseline), _starts(new, other, baseline)
        before, after = _median(old, one, baseline), _median(new, other, baseline)
        both = before is not None and after is not None
        interval = independent_ratio_interval(news, olds, new.rules.seed) if both else None
        became: Became = (
            "baseline" if name == baseline else _became(one, other, interval, new.rules.margin)
        )
        slower = fail_over is not None and interval is not None and interval.low > 1 + fail_over
        yield Change(
            name=name,
            became=became,
            old_status=one.status if one else None,
            new_status=other.status if other else None,
            reason=other.reason if other else None,
            old=before,
            new=after,
            ratio=after / before if before and after else None,
            ratio_low=interval.low if interval else None,
            ratio_high=interval.high if interval else None,
            regressed=fail_over is not None and (slower or became == "broken"),
        )


def _starts(result: Result, row: Row | None, baseline: str | None) -> Floats:
    """The median call of each start, or its ratio to the baseline's of the same round."""
    if row is None or not _is_ok(row):
        return np.empty(0)
    medians = start_medians_us(row.blocks)
    if baseline is None:
        return np.array(list(medians.values()))
    base = start_medians_us(result.row(baseline).blocks)
    return np.array([medians[number] / base[number] for number in medians if number in base])


def _median(result: Result, row: Row | None, baseline: str | None) -> float | None:
    """The figure that `compare` printed: the median, or its ratio to the baseline's."""
    if row is None or not _is_ok(row) or row.summary is None or row.summary.p50_us is None:
        return None
    if baseline is None:
        return row.summary.p50_us
    base = result.row(baseline).summary
    return row.summary.p50_us / base.p50_us if base and base.p50_us else None


def _became(old: Row | None, new: Row | None, interval: Interval | None, margin: float) -> Became:
    if old is None or new is None:
        return "added" if old is None else "removed"
    if _is_ok(old) and _is_ok(new):
        return judge(interval, margin)
    if _is_ok(old):
        return "broken"
    return "mended" if _is_ok(new) else "failing"


def _notes(
    old: Result, new: Result, changes: list[Change], baseline: str | None, fail_over: float | None
) -> Iterator[str]:
    """Warnings about the comparison, each with what to do."""
    if baseline is None and other_machine(old, new):
        yield (
            "the two machines differ, so this compares machines and not backends; --relative "
            "compares each backend's ratio to the baseline"
        )
    if old.rules.weights_sha256 != new.rules.weights_sha256:
        yield "the weights differ; measure both with the same ones"
    if old.rules.threads != new.rules.threads:
        yield "the numbers of threads differ; measure both with the same --threads"
    compared = [change for change in changes if change.ratio and change.name != baseline]
    if few := [change.name for change in compared if change.ratio_low is None]:
        yield (
            f"fewer than {FEWEST_STARTS} starts, so there is no verdict on: {', '.join(few)}; "
            "measure longer (--budget)"
        )
    if fail_over and (noisy := [c for c in compared if c.noise and c.noise > fail_over]):
        yield (
            f"too noisy to show a slowdown of {percent(fail_over)}: "
            f"{', '.join(_first_to_fail(change, fail_over) for change in noisy)}; measure longer "
            f"(--budget){'' if baseline else ', or compare --relative'}"
        )
    if baseline is None and len(compared) > 2 and len(moved := {c.became for c in compared}) == 1:
        direction = moved.pop()
        if direction in ("faster", "slower"):
            yield (
                f"every backend became {direction}, so the machine or its state probably differs; "
                "compare --relative"
            )
    for name, result in (("OLD", old), ("NEW", new)):
        if result.ended in ("running", "interrupted"):
            yield f"the run of {name} was not completed"
        if disturbed := disturbance(result.disturbance):
            yield f"{name}: {disturbed}"


def _first_to_fail(change: Change, fail_over: float) -> str:
    least = (1 + fail_over) * (1 + (change.noise or 0.0)) - 1
    return f"{change.name} (only {percent(least, places=0)} or more)"


def _find(result: Result, name: str) -> Row | None:
    return next((row for row in result.backends if row.name == name), None)


def _is_ok(row: Row | None) -> bool:
    return row is not None and row.status == "ok" and bool(row.blocks)

"""Two results backend by backend: which became slower, and is the difference real?

Compares times or, for two machines, ratios to a baseline that both ran. The starts of the two runs
are independent, so each side is resampled separately.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from ..errors import LenetBenchError, Misuse
from ..results import BackendResult, Result, Status, Verdict, check_results, start_medians_us
from ..results.differences import ConditionDifference, condition_differences, hardware
from ..results.statistics import (
    FEWEST_STARTS,
    UNBOUNDED,
    Floats,
    Ratio,
    beside_us,
    fewest,
    independent_ratio,
    judge,
    paired_ratio,
    percentile,
    percentile_ratio,
    undisturbed,
)
from ..units import percent

# For a backend that is ok in both; ok in OLD only, in NEW only, in neither; absent from OLD, from
# NEW.
Became = Verdict | Literal["broken", "mended", "failing"] | Literal["added", "removed"]


@dataclass(frozen=True)
class Tail:
    """The change of the 99th percentile of calls at an interval."""

    became: Verdict
    old: float  # us
    new: float
    ratio: float
    ratio_low: float | None
    ratio_high: float | None


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
    regressed: bool  # slower by more than is allowed, with confidence, p99 included; or broken
    p99: Tail | None = None  # where both runs have one; None too for ratios to a baseline


@dataclass(frozen=True)
class Difference:
    """Two results side by side."""

    old: Result
    new: Result
    baseline: str | None  # that ratios were compared to; None: times were
    fail_over: float | None
    fail_if_noisy: bool
    changes: tuple[Change, ...]  # the worst first
    differences: tuple[ConditionDifference, ...]  # machine, options, versions
    notes: tuple[str, ...]

    @property
    def regressed(self) -> list[str]:
        """The backends that fail --fail-over; none without it."""
        return [change.name for change in self.changes if change.regressed]

    @property
    def undecided(self) -> list[str]:
        """What may be slower by more than --fail-over allows, and may not; none without it."""
        return list(_undecided(self.old, self.new, self.changes, self.baseline, self.fail_over))

    @property
    def failed(self) -> bool:
        """Whether the gate is closed."""
        return bool(self.regressed or (self.fail_if_noisy and self.undecided))


def diff(
    old: Result,
    new: Result,
    *,
    fail_over: float | None = None,
    fail_if_noisy: bool = False,
    relative: bool = False,
    baseline: str | None = None,
) -> Difference:
    """Compare two results.

    `fail_over` is the slowdown from which a backend counts as regressed: 0.05 is 5 %, and with
    `fail_if_noisy` the comparison fails too where noise hides whether there is one, or NEW has no
    figure. `relative` compares ratios to the baseline, NEW's where none is named. Raises
    LenetBenchError where there is nothing to compare.
    """
    check_results(old, new)
    if fail_if_noisy and fail_over is None:
        raise Misuse("--fail-if-noisy is for --fail-over SHARE: give both")
    if fail_over is not None and not fail_over > 0:
        raise Misuse(f"fail_over must be above 0, got {fail_over:g}")
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
    differences = tuple(condition_differences(old, new))
    return Difference(old, new, base, fail_over, fail_if_noisy, tuple(changes), differences, notes)


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
        one, other = _alike(_find(old, name), _find(new, name))
        olds, before = _measured(old, one, baseline)
        news, after = _measured(new, other, baseline)
        ratio = independent_ratio(news, olds, new.rules.seed)
        became = _became(one, other, ratio, new.rules.margin)
        if name == baseline:
            became = "baseline"
        low, high = ratio.bounds if ratio else UNBOUNDED
        p99 = None if baseline else _tail(old, new, one, other)
        slower = beyond(low, fail_over) or (p99 is not None and beyond(p99.ratio_low, fail_over))
        yield Change(
            name=name,
            became=became,
            old_status=one.status if one else None,
            new_status=other.status if other else None,
            reason=other.reason if other else None,
            old=before,
            new=after,
            ratio=ratio.value if ratio else None,
            ratio_low=low,
            ratio_high=high,
            regressed=slower or (fail_over is not None and became == "broken"),
            p99=p99,
        )


def _alike(*rows: BackendResult | None) -> list[BackendResult | None]:
    """Rows that leave out their disturbed starts both, or neither."""
    counting = [block for row in rows if row for block in row.blocks]
    if len(undisturbed(counting)) == len(counting):
        return list(rows)
    return [row and replace(row, blocks=row.starts) for row in rows]


def beyond(low: float | None, fail_over: float | None) -> bool:
    """Whether even the low end of a ratio is a slowdown of more than is allowed."""
    return fail_over is not None and low is not None and low > 1 + fail_over


def _tail(
    old: Result, new: Result, one: BackendResult | None, other: BackendResult | None
) -> Tail | None:
    if not (one and other and _is_ok(one) and _is_ok(other) and _paced(old, new)):
        return None
    olds, news = ([block.calls_ns for block in row.blocks] for row in (one, other))
    before, after = (percentile(np.concatenate(calls), 99) for calls in (olds, news))
    if not (before and after):
        return None
    ratio = percentile_ratio(news, olds, 99, new.rules.seed)
    low, high = ratio.bounds if ratio else UNBOUNDED
    became = judge(ratio, new.rules.margin)
    return Tail(became, before / 1000, after / 1000, after / before, low, high)


def _paced(old: Result, new: Result) -> bool:
    return bool(old.rules.interval_s and new.rules.interval_s)


def _measured(
    result: Result, row: BackendResult | None, baseline: str | None
) -> tuple[Floats, float | None]:
    """The median call of each start that counts, and their median; or their ratios.

    A start's ratio is to the baseline near it, or to another one's start of the same round.
    """
    if row is None or not _is_ok(row) or row.p50_us is None:
        return np.empty(0), None
    if baseline is None:
        medians = np.array(list(start_medians_us(row.blocks).values()))
        return medians, float(np.median(medians))
    starts, base = start_medians_us(row.starts), result.backend(baseline).starts
    near = row.beside_us if baseline == result.baseline else beside_us(row.starts, base)
    bases = near or start_medians_us(base)
    ratios = np.array([starts[number] / bases[number] for number in starts if number in bases])
    return ratios, paired_ratio(starts, bases).value


def _became(
    old: BackendResult | None, new: BackendResult | None, ratio: Ratio | None, margin: float
) -> Became:
    if old is None or new is None:
        return "added" if old is None else "removed"
    if _is_ok(old) and _is_ok(new):
        return judge(ratio, margin)
    if _is_ok(old):
        return "broken"
    return "mended" if _is_ok(new) else "failing"


def _notes(
    old: Result,
    new: Result,
    changes: Sequence[Change],
    baseline: str | None,
    fail_over: float | None,
) -> Iterator[str]:
    """Warnings about the comparison, each with what to do."""
    for result, which in ((old, "OLD"), (new, "NEW")):
        if result.ended in ("running", "interrupted"):
            yield f"{which} is of a run that did not end; it may be of fewer rounds than was asked"
    if baseline is None and hardware(old.machine) != hardware(new.machine):
        yield (
            "the two machines differ, so this compares machines and not backends; --relative "
            "compares each backend's ratio to the baseline"
        )
    compared = [change for change in changes if change.ratio and change.name != baseline]
    lost = _lost(changes)
    if gone := [change.name for change in lost if change.became == "removed"]:
        yield f"NEW lacks backends that ran in OLD: {', '.join(gone)}; measure these too"
    if unknown := [change.name for change in lost if change.became != "removed"]:
        yield f"too few calls for a median of: {', '.join(unknown)}; measure longer (--budget)"
    if baseline is None and any(change.became in ("slower", "faster") for change in compared):
        yield (
            "between two runs a machine itself becomes some percent faster or slower, which these "
            "intervals leave out; --relative compares ratios to the baseline, which does so too"
        )
    if all(any(row.together for row in result.backends) for result in (old, new)):
        yield "the calls of several callers at once are not compared; `report` shows those of a run"
    if few := [change.name for change in compared if change.ratio_low is None]:
        yield (
            f"fewer than {FEWEST_STARTS} starts, so there is no verdict on: {', '.join(few)}; "
            "measure longer (--budget)"
        )
    short = [change.name for change in compared if change.p99 is None]
    if short and baseline is None and _paced(old, new):
        yield f"fewer than {fewest(99):,} calls, so there is no p99 of: {', '.join(short)}"
    undecided = _undecided(old, new, changes, baseline, fail_over)
    if fail_over and (noisy := [name for name, known in undecided.items() if known]):
        yield (
            f"too noisy to show a slowdown of {percent(fail_over)}, or that there is none: "
            f"{', '.join(noisy)}; measure longer (--budget)"
        )


def _undecided(
    old: Result,
    new: Result,
    changes: Sequence[Change],
    baseline: str | None,
    fail_over: float | None,
) -> dict[str, bool]:
    """What may be slower by more than is allowed, and whether it has an interval that says so."""
    if fail_over is None:
        return {}
    compared = [change for change in changes if change.ratio and change.name != baseline]
    known = [*compared, *_lost(changes)]
    found: dict[str, Change | Tail | None] = {change.name: change for change in known}
    if baseline is None and _paced(old, new):
        found |= {f"{change.name}'s p99": change.p99 for change in compared}
    bounds = {
        name: (one.ratio_low, one.ratio_high) if one else UNBOUNDED for name, one in found.items()
    }
    return {
        name: low is not None
        for name, (low, high) in bounds.items()
        if low is None or high is None or low <= 1 + fail_over < high
    }


def _lost(changes: Sequence[Change]) -> list[Change]:
    """Those that ran in OLD and did not fail in NEW, but have no figure to compare."""
    return [
        change
        for change in changes
        if change.old_status == "ok"
        and change.became in ("ambiguous", "removed")
        and not change.ratio
    ]


def _find(result: Result, name: str) -> BackendResult | None:
    return next((row for row in result.backends if row.name == name), None)


def _is_ok(row: BackendResult | None) -> bool:
    return row is not None and row.status == "ok" and bool(row.blocks)

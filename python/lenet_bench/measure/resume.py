"""To go on with a run that was interrupted or killed: only where all is as it was."""

from dataclasses import replace
from pathlib import Path

from ..errors import ResultError
from ..results import Result
from .circumstances import circumstances
from .options import CompareOptions, name_of

_CHOSEN_ON_THE_WAY = ("warm_s", "timed_s", "rounds_a_start")


def as_before(options: CompareOptions, earlier: Result) -> CompareOptions:
    """The options that the earlier run had, and of these who is named, where to and what to retry.

    Raises ResultError where that run is over or compared other rungs.
    """
    path = _path(options)
    if earlier.ended not in ("running", "interrupted"):
        raise ResultError(
            f"{path}: this run came to its end ({earlier.ended}), so there is nothing to resume; "
            "begin a new one"
        )
    compared = tuple(rung.name for rung in earlier.rungs)
    named = tuple(map(name_of, options.rungs))
    if named and set(named) != set(compared):
        raise ResultError(
            f"{path}: this run compares {', '.join(compared)}, not {', '.join(named)}; "
            "to resume it name the same rungs, or none"
        )
    entries = {name_of(rung): rung for rung in options.rungs}
    rules = earlier.rules
    return replace(
        options,
        rungs=tuple(entries.get(name, name) for name in compared),
        baseline=rules.baseline,
        threads=rules.threads,
        budget_s=rules.budget_s,
        precision=rules.precision,
        rounds=rules.rounds,
        margin=rules.margin,
        seed=rules.seed,
        timeout_s=rules.timeout_s,
        interval_s=rules.interval_s,
        batches=rules.batches,
        weights=options.weights or rules.weights,
        output=options.output or options.resume,
    )


def check_same(options: CompareOptions, earlier: Result, now: Result) -> None:
    """Raise ResultError where the machine, the versions, the cores or the weights are others."""
    pace = {name: getattr(earlier.rules, name) for name in _CHOSEN_ON_THE_WAY}
    others = circumstances(earlier, replace(now, rules=replace(now.rules, **pace)))
    for other in others:
        raise ResultError(
            f"{_path(options)}: its {other.what} was {other.old}, and here it is {other.new}; a "
            "run goes on only where all is as it was, so begin a new one"
        )


def _path(options: CompareOptions) -> Path:
    return Path(str(options.resume))

"""What is said around the table of a comparison, the same in every form of a report."""

from collections.abc import Sequence

from ..numerals import counted
from ..printout.absent import not_at_hand
from ..results import Result, RungResult
from .numbers import spell_span, spell_time


def machine_name(result: Result) -> str:
    """The processor that it was measured on."""
    processor = result.machine.get("processor")
    model = processor.get("model") if isinstance(processor, dict) else None
    return str(model or "unknown processor")


def conditions(result: Result) -> str:
    """What was measured, on what and how long."""
    rules = result.rules
    cores = ", ".join(map(str, rules.worker_cores)) or "any"
    threads = counted(rules.threads, "thread")
    anew = f"{rules.rounds_a_start} rounds" if rules.rounds_a_start > 1 else "round"
    gaps = f" after {spell_span(rules.interval_s)} of idling" if rules.interval_s else ""
    return (
        f"One image a call{gaps}, {threads} on core {cores} of {machine_name(result)}; "
        f"{counted(len(result.order), 'shuffled round')}, processes started anew every {anew}"
        f"{_but_for_slow_ones(result)}, in {result.elapsed_s:.1f} s"
        f"{', interrupted and resumed' * bool(result.resumed)}"
    )


def _but_for_slow_ones(result: Result) -> str:
    """How many rungs were not, since they take long to start."""
    rungs, a_start = timed(result), result.rules.rounds_a_start
    starts = [len(rung.cold_starts) for rung in rungs]
    fewer = [n for n, rung in zip(starts, rungs, strict=True) if 0 < n * a_start < len(rung.turns)]
    if not fewer:
        return ""
    processes = "one process" if max(fewer) == 1 else f"up to {max(fewer)} processes"
    return f" ({processes} for {len(fewer)} of {len(rungs)} rungs, slow to start)"


def footnote(result: Result, micro: str = "µ") -> str:
    """What the table's figures must be read with."""
    floor = result.floor.summary.p50_us if result.floor and result.floor.summary else None
    rules = result.rules
    notes = [f"seed {rules.seed}", f"same means within {rules.margin:.0%}"]
    named = [r.name for r in result.rungs if r.summary and r.summary.verdict == "baseline"]
    if named:
        notes.insert(0, f"p50 is the median call; the ratio is to {named[0]}, above 1 is slower")
    if floor is not None:
        notes.insert(len(named), f"the harness itself takes {spell_time(floor)} {micro}s")
    return "; ".join(notes)


def timed(result: Result) -> list[RungResult]:
    """The rungs of the table, the fastest first."""
    found = [rung for rung in result.rungs if rung.status == "ok" and rung.summary]
    return sorted(found, key=_p50)


def failed(result: Result, named: Sequence[str] = ()) -> list[RungResult]:
    """Those whose reason is told: what cannot run here only where it was `named`."""
    return [
        rung
        for rung in result.rungs
        if rung.status not in ("ok", "unmeasured") and not _is_absent(rung, named)
    ]


def left_out(result: Result) -> str | None:
    """Those whose turn never came."""
    names = [rung.name for rung in result.rungs if rung.status == "unmeasured"]
    told = "unmeasured, since the run ended before their turn: "
    return told + ", ".join(names) if names else None


def absent(result: Result, named: Sequence[str] = ()) -> str | None:
    """What cannot run here and was not asked for."""
    names = [rung.name for rung in result.rungs if _is_absent(rung, named)]
    return not_at_hand(names)


def _is_absent(rung: RungResult, named: Sequence[str]) -> bool:
    return rung.status == "unavailable" and rung.name not in named


def _p50(rung: RungResult) -> float:
    return (rung.summary and rung.summary.p50_us) or float("inf")

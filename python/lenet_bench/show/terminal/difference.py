"""Two results side by side: in a terminal, as JSON and as Markdown."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from ... import units
from ...questions.diff import Change, Difference, Tail, beyond
from ...results import Result
from ...texts import json_text
from .. import markdown
from ..sentences import processor, threads
from .screen import Screen
from .table import Cell, Column, table

_STYLES = {
    "regressed": "bold red",
    "broken": "red",
    "slower": "yellow",
    "faster": "green",
    "mended": "green",
    "same": "",
}


def difference(diff: Difference, form: str | None, screen: Screen) -> Iterator[str]:
    """The lines in a form: json, markdown or, for None, the terminal's."""
    if form == "json":
        yield json_text(to_json(diff))
        return
    tables = list(_tables(diff))
    sentences = [*_broken(diff), *_not_the_same(diff), *_outcome(diff)]
    if form == "markdown":
        for line in _title(diff):
            yield from [markdown.escaped(line), ""]
        for title, columns in tables:
            yield from [title, ""] if title else []
            cells = zip(*([cell.text for cell in column.styled] for column in columns), strict=True)
            left = [column.title for column in columns if column.left]
            yield from markdown.table([column.title for column in columns], cells, left)
            yield ""
        yield from (f"- {markdown.escaped(sentence)}" for sentence, _ in sentences)
        return
    for line in _title(diff):
        yield from screen.wrap(line)
    for title, columns in tables:
        yield from ["", *(screen.wrap(title, "bold") if title else []), *table(screen, columns)]
    yield ""
    for sentence, style in sentences:
        yield from screen.wrap(sentence, style)


def to_json(diff: Difference) -> dict[str, Any]:
    """The output of `--json`."""
    return {
        "old": _origin(diff.old),
        "new": _origin(diff.new),
        "baseline": diff.baseline,
        "fail_over": diff.fail_over,
        "regressed": diff.regressed,
        "undecided": diff.undecided,
        "backends": [asdict(change) for change in diff.changes],
        "circumstances": [asdict(fact) for fact in diff.differences],
        "notes": list(diff.notes),
    }


def _origin(result: Result) -> dict[str, Any]:
    return {
        "started": result.started,
        "version": result.version,
        "machine": processor(result.machine),
        "ended": result.ended,
    }


def _title(diff: Difference) -> Iterator[str]:
    for name, result in (("OLD", diff.old), ("NEW", diff.new)):
        yield (
            f"{name}: {result.started}, lenet-bench {result.version}, "
            f"{threads(result)} on "
            f"{processor(result.machine)}"
        )


def _tables(diff: Difference) -> Iterator[tuple[str, list[Column]]]:
    """The backends that have a figure in either result; of paced runs first those with a p99."""
    tails = [(change.name, change.p99) for change in diff.changes if change.p99]
    medians = [(change.name, change) for change in diff.changes if change.old or change.new]
    if tails:
        tails.sort(key=lambda row: -row[1].ratio)
        yield "p99: 99 % of the calls are faster", _columns(diff, tails)
    yield "p50: the median call" if tails else "", _columns(diff, medians)


def _columns(diff: Difference, compared: Sequence[tuple[str, Change | Tail]]) -> list[Column]:
    spell, to = (units.ratio, f" / {diff.baseline}") if diff.baseline else (units.time, "")
    changes = [change for _, change in compared]
    intervals = [
        units.NONE
        if change.became == "baseline"
        else units.interval(change.ratio_low, change.ratio_high)
        for change in changes
    ]
    return [
        Column("backend", [name for name, _ in compared], left=True),
        Column(f"old{to}", [spell(change.old) for change in changes]),
        Column(f"new{to}", [spell(change.new) for change in changes]),
        Column("ratio", [units.ratio(change.ratio) for change in changes]),
        Column("95 % interval", intervals, leaves=1),
        Column("verdict", [_verdict(change, diff.fail_over) for change in changes], left=True),
    ]


def _verdict(change: Change | Tail, fail_over: float | None) -> Cell:
    broken = change.became == "broken" and fail_over is not None
    verdict = "regressed" if broken or beyond(change.ratio_low, fail_over) else change.became
    return Cell(verdict, _STYLES.get(verdict, "dim"))


def _broken(diff: Difference) -> Iterator[tuple[str, str]]:
    for change in diff.changes:
        if change.became == "broken":
            yield f"{change.name} is now {change.new_status}: {change.reason}", "red"
    yield from ((f"warning: {note}", "yellow") for note in diff.notes)


def _not_the_same(diff: Difference) -> Iterator[tuple[str, str]]:
    for fact in diff.differences:
        yield f"different {fact.what}: {fact.old} in OLD, {fact.new} in NEW", "dim"


def _outcome(diff: Difference) -> Iterator[tuple[str, str]]:
    """The verdict of --fail-over."""
    if diff.fail_over is None:
        return
    allowed = units.percent(diff.fail_over)
    lost = [change.name for change in diff.changes if change.became == "removed"]
    parts = (
        (f"may be slower by more than {allowed}", [n for n in diff.undecided if n not in lost]),
        ("not in NEW", [name for name in diff.undecided if name in lost]),
    )
    undecided = "; ".join(f"{what}: {', '.join(names)}" for what, names in parts if names)
    if diff.regressed:
        names = ", ".join(diff.regressed)
        yield f"failed: slower by more than {allowed}, or broken: {names}", "bold red"
    elif diff.failed:
        yield f"failed: {undecided}", "bold red"
    else:
        said = f"passed: no backend is broken or slower by more than {allowed} with confidence"
        if undecided:
            said += f"; {undecided}; --fail-if-noisy fails then"
        yield said, "bold yellow" if diff.undecided else "bold green"

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


def difference(found: Difference, form: str | None, screen: Screen) -> Iterator[str]:
    """The lines in a form: json, markdown or, for None, the terminal's."""
    if form == "json":
        yield json_text(to_json(found))
        return
    tables = list(_tables(found))
    sentences = [*_broken(found), *_not_the_same(found), *_outcome(found)]
    if form == "markdown":
        for line in _title(found):
            yield from [markdown.escaped(line), ""]
        for title, columns in tables:
            yield from [title, ""] if title else []
            cells = zip(*([cell.text for cell in column.styled] for column in columns), strict=True)
            left = [column.title for column in columns if column.left]
            yield from markdown.table([column.title for column in columns], cells, left)
            yield ""
        yield from (f"- {markdown.escaped(sentence)}" for sentence, _ in sentences)
        return
    for line in _title(found):
        yield from screen.wrap(line)
    for title, columns in tables:
        yield from ["", *(screen.wrap(title, "bold") if title else []), *table(screen, columns)]
    yield ""
    for sentence, style in sentences:
        yield from screen.wrap(sentence, style)


def to_json(found: Difference) -> dict[str, Any]:
    """The output of `--json`."""
    return {
        "old": _origin(found.old),
        "new": _origin(found.new),
        "baseline": found.baseline,
        "fail_over": found.fail_over,
        "regressed": found.regressed,
        "undecided": found.undecided,
        "backends": [asdict(change) for change in found.changes],
        "circumstances": [asdict(one) for one in found.differences],
        "notes": list(found.notes),
    }


def _origin(result: Result) -> dict[str, Any]:
    return {
        "started": result.started,
        "version": result.version,
        "machine": processor(result.machine),
        "ended": result.ended,
    }


def _title(found: Difference) -> Iterator[str]:
    for name, result in (("OLD", found.old), ("NEW", found.new)):
        yield (
            f"{name}: {result.started}, lenet-bench {result.version}, "
            f"{threads(result)} on "
            f"{processor(result.machine)}"
        )


def _tables(found: Difference) -> Iterator[tuple[str, list[Column]]]:
    """The backends that have a figure in either result; of paced runs first those with a p99."""
    tails = [(change.name, change.p99) for change in found.changes if change.p99]
    medians = [(change.name, change) for change in found.changes if change.old or change.new]
    if tails:
        tails.sort(key=lambda one: -one[1].ratio)
        yield "p99: 99 % of the calls are faster", _columns(found, tails)
    yield "p50: the median call" if tails else "", _columns(found, medians)


def _columns(found: Difference, compared: Sequence[tuple[str, Change | Tail]]) -> list[Column]:
    spell, to = (units.ratio, f" / {found.baseline}") if found.baseline else (units.time, "")
    ones = [one for _, one in compared]
    intervals = [
        units.NONE if one.became == "baseline" else units.interval(one.ratio_low, one.ratio_high)
        for one in ones
    ]
    return [
        Column("backend", [name for name, _ in compared], left=True),
        Column(f"old{to}", [spell(one.old) for one in ones]),
        Column(f"new{to}", [spell(one.new) for one in ones]),
        Column("ratio", [units.ratio(one.ratio) for one in ones]),
        Column("95 % interval", intervals, leaves=1),
        Column("verdict", [_verdict(one, found.fail_over) for one in ones], left=True),
    ]


def _verdict(one: Change | Tail, fail_over: float | None) -> Cell:
    broken = one.became == "broken" and fail_over is not None
    verdict = "regressed" if broken or beyond(one.ratio_low, fail_over) else one.became
    return Cell(verdict, _STYLES.get(verdict, "dim"))


def _broken(found: Difference) -> Iterator[tuple[str, str]]:
    for change in found.changes:
        if change.became == "broken":
            yield f"{change.name} is now {change.new_status}: {change.reason}", "red"
    yield from ((f"warning: {note}", "yellow") for note in found.notes)


def _not_the_same(found: Difference) -> Iterator[tuple[str, str]]:
    for one in found.differences:
        yield f"different {one.what}: {one.old} in OLD, {one.new} in NEW", "dim"


def _outcome(found: Difference) -> Iterator[tuple[str, str]]:
    """The verdict of --fail-over."""
    if found.fail_over is None:
        return
    allowed = units.percent(found.fail_over)
    if found.regressed:
        names = ", ".join(found.regressed)
        yield f"failed: slower by more than {allowed}, or broken: {names}", "bold red"
    elif found.failed:
        said = f"failed: may be slower by more than {allowed}: {', '.join(found.undecided)}"
        yield said, "bold red"
    else:
        said = f"passed: no backend is broken or slower by more than {allowed} with confidence"
        if found.undecided:
            said += f", but noise hides {', '.join(found.undecided)}; --fail-if-noisy fails then"
        yield said, "bold yellow" if found.undecided else "bold green"

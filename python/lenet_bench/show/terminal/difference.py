"""Two results side by side: in a terminal, as JSON and as Markdown."""

import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from ... import units
from ...questions.diff import Change, Difference
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
_SHOWN = 8  # of what was not the same, in a terminal
_LONGEST = 60  # of one of those values


def difference(found: Difference, form: str | None, screen: Screen) -> Iterator[str]:
    """The lines in a form: json, markdown or, for None, the terminal's."""
    if form == "json":
        yield json_text(to_json(found))
    elif form == "markdown":
        yield from _document(found)
    else:
        yield from _terminal(found, screen)


def to_json(found: Difference) -> dict[str, Any]:
    """The output of `--json`."""
    return {
        "old": _origin(found.old),
        "new": _origin(found.new),
        "baseline": found.baseline,
        "fail_over": found.fail_over,
        "regressed": found.regressed,
        "backends": [asdict(change) for change in found.changes],
        "circumstances": [asdict(one) for one in found.circumstances],
        "notes": list(found.notes),
    }


def _origin(result: Result) -> dict[str, Any]:
    return {
        "started": result.started,
        "version": result.version,
        "machine": processor(result.machine),
        "ended": result.ended,
    }


def _terminal(found: Difference, screen: Screen) -> Iterator[str]:
    for line in _title(found):
        yield from screen.wrap(line)
    yield ""
    yield from table(screen, _columns(found))
    yield ""
    for sentence in _others(found):
        yield from screen.wrap(sentence)
    for note in found.notes:
        yield from screen.wrap(f"warning: {note}", "yellow")
    for sentence in _not_the_same(found, _SHOWN):
        yield from screen.wrap(sentence, "dim")
    yield from screen.wrap(_outcome(found), "bold red" if found.regressed else "bold green")


def _document(found: Difference) -> Iterator[str]:
    for line in _title(found):
        yield markdown.escaped(line)
        yield ""
    columns = _columns(found)
    titles = [column.title for column in columns]
    rows = zip(*([cell.text for cell in column.styled] for column in columns), strict=True)
    yield from markdown.table(titles, rows, [column.title for column in columns if column.left])
    yield ""
    sentences = [*_others(found), *(f"warning: {note}" for note in found.notes)]
    sentences += [*_not_the_same(found, len(found.circumstances)), _outcome(found)]
    yield from (f"- {markdown.escaped(sentence)}" for sentence in sentences if sentence)


def _title(found: Difference) -> Iterator[str]:
    for name, result in (("OLD", found.old), ("NEW", found.new)):
        yield (
            f"{name}: {result.started}, lenet-bench {result.version}, "
            f"{threads(result.rules)} on "
            f"{processor(result.machine)}"
        )


def _columns(found: Difference) -> list[Column]:
    """The backends that have two figures to compare."""
    compared = [change for change in found.changes if change.ratio]
    spell, to = (units.ratio, f" / {found.baseline}") if found.baseline else (units.time, "")
    intervals = [
        units.NONE if one.became == "baseline" else units.interval(one.ratio_low, one.ratio_high)
        for one in compared
    ]
    return [
        Column("backend", [one.name for one in compared], left=True),
        Column(f"old{to}", [spell(one.old) for one in compared]),
        Column(f"new{to}", [spell(one.new) for one in compared]),
        Column("ratio", [units.ratio(one.ratio) for one in compared]),
        Column("95 % interval", intervals, leaves=1),
        Column("verdict", [_verdict(one) for one in compared], left=True),
    ]


def _verdict(change: Change) -> Cell:
    verdict = "regressed" if change.regressed else change.became
    return Cell(verdict, _STYLES.get(verdict, "dim"))


def _others(found: Difference) -> Iterator[str]:
    """The backends that have no two figures to compare."""
    for change in found.changes:
        if change.became == "broken":
            yield f"{change.name} is now {change.new_status}: {change.reason}"
        elif change.became == "mended":
            yield f"{change.name} was {change.old_status} and is ok now"
    for became, where in (("removed", "only in OLD"), ("added", "only in NEW")):
        changes = [change for change in found.changes if change.became == became]
        if names := [c.name for c in changes if "unavailable" not in (c.old_status, c.new_status)]:
            yield f"{where}: {', '.join(names)}"


def _not_the_same(found: Difference, most: int) -> Iterator[str]:
    for one in found.circumstances[:most]:
        old, new = (textwrap.shorten(value, _LONGEST) for value in (one.old, one.new))
        yield f"different {one.what}: {old} in OLD, {new} in NEW"
    if (left := len(found.circumstances) - most) > 0:
        yield f"and {left} more differences; --json lists all"


def _outcome(found: Difference) -> str:
    """The verdict of --fail-over."""
    if found.fail_over is None:
        return ""
    allowed = units.percent(found.fail_over)
    if found.regressed:
        return f"failed: slower by more than {allowed}, or broken: {', '.join(found.regressed)}"
    return f"passed: no backend is broken or slower by more than {allowed} with confidence"

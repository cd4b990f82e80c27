"""Two results side by side: in a terminal, as JSON and as Markdown."""

import json
import textwrap
from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from ..measure.difference import Change, Difference
from ..numerals import counted
from ..results import Result
from ..terminal import Screen, Text, table_width
from . import markdown
from .numbers import spell_interval, spell_ratio, spell_share, spell_time
from .sentences import machine_name

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
    """Its lines in a form: json, markdown or, for None, the terminal's."""
    if form == "json":
        yield json.dumps(to_json(found), indent=2)
    elif form == "markdown":
        yield from _document(found)
    else:
        yield from _terminal(found, screen)


def to_json(found: Difference) -> dict[str, Any]:
    """What `--json` prints."""
    return {
        "old": _origin(found.old),
        "new": _origin(found.new),
        "baseline": found.baseline,
        "fail_over": found.fail_over,
        "regressed": found.regressed,
        "rungs": [asdict(change) for change in found.changes],
        "circumstances": [asdict(one) for one in found.circumstances],
        "notes": list(found.notes),
    }


def _origin(result: Result) -> dict[str, Any]:
    return {
        "started": result.started,
        "version": result.version,
        "machine": machine_name(result),
        "ended": result.ended,
    }


def _terminal(found: Difference, screen: Screen) -> Iterator[str]:
    for line in _title(found):
        yield from screen.wrap(line)
    yield ""
    header = [Text(title, "dim") for title in _titles(found, screen.choose("µ", "u"))]
    compared = [change for change in found.changes if change.ratio]
    rows = [[*map(Text, _row(change, found)), _verdict(change)] for change in compared]
    narrow = _drop_interval([header, *rows], screen)
    yield from screen.table(narrow, "l" + "r" * (len(narrow[0]) - 2) + "l")
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
    titles = _titles(found, "µ")
    compared = [change for change in found.changes if change.ratio]
    rows = [(*_row(change, found), _verdict(change).text) for change in compared]
    yield from markdown.table(titles, rows, (titles[0], titles[-1]))
    yield ""
    told = [*_others(found), *(f"warning: {note}" for note in found.notes)]
    told += [*_not_the_same(found, len(found.circumstances)), _outcome(found)]
    yield from (f"- {markdown.escaped(sentence)}" for sentence in told if sentence)


def _title(found: Difference) -> Iterator[str]:
    for name, result in (("OLD", found.old), ("NEW", found.new)):
        yield (
            f"{name}: {result.started}, lenet-bench {result.version}, "
            f"{counted(result.rules.threads, 'thread')} on "
            f"{machine_name(result)}"
        )


def _titles(found: Difference, micro: str) -> tuple[str, ...]:
    unit = f"/ {found.baseline}" if found.baseline else f"{micro}s"
    return ("rung", f"old {unit}", f"new {unit}", "ratio", "95 % interval", "verdict")


def _row(change: Change, found: Difference) -> tuple[str, ...]:
    spell = spell_ratio if found.baseline else spell_time
    return (
        change.name,
        spell(change.old),
        spell(change.new),
        spell_ratio(change.ratio),
        "-" if change.became == "baseline" else spell_interval(change.ratio_low, change.ratio_high),
    )


def _verdict(change: Change) -> Text:
    told = "regressed" if change.regressed else change.became
    return Text(told, _STYLES.get(told, "dim"))


def _drop_interval(rows: list[list[Text]], screen: Screen) -> list[list[Text]]:
    """Without the interval where the terminal is too narrow."""
    if table_width(rows) <= screen.columns:
        return rows
    return [[*row[:4], *row[5:]] for row in rows]


def _others(found: Difference) -> Iterator[str]:
    """The rungs that have no two figures to compare."""
    for change in found.changes:
        if change.became == "broken":
            yield f"{change.name}: was ok, is {change.new_status}: {change.reason}"
        elif change.became == "mended":
            yield f"{change.name}: was {change.old_status}, is ok"
    for became, told in (("removed", "in OLD only"), ("added", "in NEW only")):
        if names := [c.name for c in found.changes if c.became == became and _was_there(c)]:
            yield f"{told}: {', '.join(names)}"


def _was_there(change: Change) -> bool:
    return "unavailable" not in (change.old_status, change.new_status)


def _not_the_same(found: Difference, most: int) -> Iterator[str]:
    for one in found.circumstances[:most]:
        old, new = (textwrap.shorten(value, _LONGEST) for value in (one.old, one.new))
        yield f"not the same: {one.what}: {old} in OLD, {new} in NEW"
    if (left := len(found.circumstances) - most) > 0:
        yield f"and {left} more that were not the same; --json has them all"


def _outcome(found: Difference) -> str:
    """What the gate says."""
    if found.fail_over is None:
        return ""
    allowed = spell_share(found.fail_over)
    if found.regressed:
        return f"failed: slower by more than {allowed}, or broken: {', '.join(found.regressed)}"
    return f"passed: no rung is slower by more than {allowed} with confidence, and none broke"

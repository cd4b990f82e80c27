"""Two results side by side: in a terminal, as JSON and as Markdown."""

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


def difference(found: Difference, form: str | None, screen: Screen) -> Iterator[str]:
    """The lines in a form: json, markdown or, for None, the terminal's."""
    if form == "json":
        yield json_text(to_json(found))
        return
    columns = _columns(found)
    sentences = [*_broken(found), *_not_the_same(found), *_outcome(found)]
    if form == "markdown":
        for line in _title(found):
            yield from [markdown.escaped(line), ""]
        cells = zip(*([cell.text for cell in column.styled] for column in columns), strict=True)
        left = [column.title for column in columns if column.left]
        yield from markdown.table([column.title for column in columns], cells, left)
        yield ""
        yield from (f"- {markdown.escaped(sentence)}" for sentence, _ in sentences)
        return
    for line in _title(found):
        yield from screen.wrap(line)
    yield from ["", *table(screen, columns), ""]
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
            f"{threads(result.rules)} on "
            f"{processor(result.machine)}"
        )


def _columns(found: Difference) -> list[Column]:
    """The backends that have a figure in either result."""
    compared = [change for change in found.changes if change.old or change.new]
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
    else:
        said = f"passed: no backend is broken or slower by more than {allowed} with confidence"
        yield said, "bold green"

"""A comparison for the terminal, as Markdown, as CSV and as JSON."""

import csv
import io
from collections.abc import Iterator, Sequence
from typing import Any, Literal

from ..errors import Misuse
from ..questions import why
from ..results import Result, check_results, digest, rows
from ..results.breakdown import has_experiments
from ..texts import cell, json_text, printable
from . import markdown
from . import why as show_why
from .callers import by_callers, callers, refusals
from .columns import (
    LINES,
    OFF,
    PRECISION,
    Quantity,
    by_batch,
    in_text,
    quantities_of,
)
from .figures.records import Record, as_run, records
from .figures.story import conclusions
from .sentences import (
    IN_LESS,
    NONE_TIMED,
    absent,
    conditions,
    failed,
    footnote,
    left_out,
    processor,
    tolerant,
    without_median,
)
from .terminal.screen import Screen
from .terminal.table import Cell, Column, table
from .versions import COLUMNS, said, versions

_VERDICTS = {"faster": "green", "slower": "yellow", "ambiguous": "dim", "baseline": "bold"}
_LEFT = ("backend", "verdict", "computes in")  # aligned to the left in Markdown


def comparison(
    results: Sequence[Result],
    form: str | None,
    screen: Screen,
    named: Sequence[str] = (),
    titles: Sequence[str] = (),
) -> Iterator[str]:
    """The lines in a form: json, csv, markdown or, for None, the terminal's.

    Several results follow one another, each below its title.
    """
    if form == "csv":
        yield from in_csv(results)
        return
    for number, result in enumerate(results):
        taken_apart = has_experiments(result)
        if form == "json":
            yield json_text(why.digest(result) if taken_apart else digest(result))
            continue
        if number:
            yield ""
        if len(results) > 1 and titles:
            title = titles[number]
            yield from [f"## {markdown.escaped(title)}", ""] if form else screen.wrap(title, "bold")
        if form and taken_apart:
            yield from show_why.in_markdown(result)
        elif form:
            yield from in_markdown(result, named)
        elif taken_apart:
            yield from show_why.in_terminal(result, screen, named)
        else:
            yield from in_terminal(result, screen, named)


def render(
    *results: Result, form: Literal["text", "json", "csv", "markdown"] = "text", columns: int = 100
) -> str:
    """Some results as `compare` and `report` print them, without colours."""
    check_results(*results)
    if form not in ("text", "json", "csv", "markdown"):
        raise Misuse(f"expected text, json, csv or markdown, got {form!r}")
    screen = Screen(columns, colour=False)
    lines = comparison(results, None if form == "text" else form, screen)
    return "".join(f"{line}\n" for line in lines)


def in_csv(results: Sequence[Result]) -> Iterator[str]:
    """Lines of CSV (RFC 4180): a header, then a row for each backend with its machine and date.

    A missing figure is an empty cell. Each number of callers and way has a column.
    """
    lines = [
        {
            "started": cell(result.started),
            "machine": cell(processor(result.machine)),
            "network": result.rules.network,
            "deadline_s": result.rules.paced_within_s,
            **{key: cell(value) if isinstance(value, str) else value for key, value in row.items()},
            **{f"calls_per_s_{one.number}_{one.way}": one.calls_per_s for one in backend.together},
        }
        for result in results
        for row, backend in zip(rows(result), result.backends, strict=True)
    ]
    text = io.StringIO()
    if lines:
        titles = dict.fromkeys(title for line in lines for title in line)
        writer = csv.DictWriter(text, titles, lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)
    yield from printable(text.getvalue()).split("\n")[:-1]


def in_markdown(result: Result, named: Sequence[str] = ()) -> Iterator[str]:
    """A document: what was measured, the tables, what failed and every warning."""
    yield markdown.escaped(conditions(result))
    for title, shown, quantities in _tables(result):
        yield from ["", title] if title else []
        yield ""
        lines = ([row["name"], *(quantity.text(row) for quantity in quantities)] for row in shown)
        yield from markdown.table(
            ["backend", *(quantity.title for quantity in quantities)], lines, _LEFT
        )
    yield ""
    for sentence in said(versions(result), result.rules.margin):
        yield f"- {markdown.escaped(sentence)}"
    for sentence, _ in _notes(result, named):
        if sentence:
            yield f"- {markdown.escaped(sentence)}"


def _tables(result: Result) -> Iterator[tuple[str, list[Record], Sequence[Quantity]]]:
    """Each table: its title, its backends, its columns."""
    timed, shown = records(result), in_text(quantities_of(result.rules))
    full = [row for row in timed if row["precision"] == "float32"]
    reduced = [row for row in timed if row not in full]
    if not timed:
        yield NONE_TIMED, [], []
    if full and result.rules.placed.arbiter:  # a model of the user's own has no lines of code
        yield "", full, [*(quantity for quantity in shown if quantity is not LINES), OFF]
    elif full:
        yield "", full, shown
    if reduced:
        yield IN_LESS, reduced, [PRECISION, OFF, *shown]
    if rated := [row for row in timed if row["rates"]]:
        rated.sort(key=lambda row: (row in reduced, -float(row["images_per_s"] or 0.0)))
        kind = [PRECISION] if reduced else []
        yield "Images a second by batch:", rated, [*kind, *by_batch(rated)]
    if called := callers(result):
        yield "Calls a second of several callers at once:", called, by_callers(called)
    if found := versions(result):
        yield "Versions of an API:", found, COLUMNS


def _notes(result: Result, named: Sequence[str]) -> Iterator[tuple[str, str]]:
    """What failed and why, how to read the tables, and every warning: each with its style.

    A backend that cannot run here has its reason shown only if it was `named`.
    """
    yield from failed(result.backends, named)
    for row in result.backends:
        for size, reason in row.batch_refusals.items():
            yield f"{row.name}: no batch of {size}: {reason}", "yellow"
    for refused in refusals(result):
        yield refused, "yellow"
    yield footnote(result), "dim"
    yield tolerant(result) or "", "dim"
    for sentence in (without_median(result), left_out(result.backends)):
        yield sentence or "", "yellow"
    for warning in result.warnings:
        yield f"warning: {warning}", "yellow"
    yield absent(result.backends, named) or "", "dim"


def in_terminal(result: Result, screen: Screen, named: Sequence[str] = ()) -> Iterator[str]:
    """The tables, the answer, and the notes."""
    yield from screen.wrap(conditions(result))
    for title, shown, quantities in _tables(result):
        yield ""
        yield from screen.wrap(title, "bold") if title else []
        columns = [Column("backend", [row["name"] for row in shown], left=True, style="bold")]
        columns += [_column(quantity, shown) for quantity in quantities]
        yield from table(screen, columns) if shown else []
    yield ""
    for sentence in (
        *conclusions(as_run("", result)),
        *said(versions(result), result.rules.margin),
    ):
        yield from screen.wrap(sentence)
    for sentence, style in _notes(result, named):
        yield from screen.wrap(sentence, style)


def _column(quantity: Quantity, shown: Sequence[Record]) -> Column:
    texts: list[Any] = [quantity.text(row) for row in shown]
    if quantity.key == "verdict":
        texts = [Cell(text, _VERDICTS.get(text, "")) for text in texts]
    return Column(quantity.title, texts, leaves=quantity.leaves or 0)

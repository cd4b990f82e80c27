"""A comparison for the terminal, as Markdown, as CSV and as JSON."""

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Literal

from .. import units
from ..questions import why
from ..registry import precision
from ..results import Result, Row, digest, rows
from ..results.breakdown import has_experiments
from ..texts import cell, json_text, printable
from . import markdown
from . import why as apart
from .sentences import (
    IN_LESS,
    SHORT_LIST,
    absent,
    backend_of,
    by_family,
    by_precision,
    conditions,
    failed,
    footnote,
    left_out,
    processor,
    timed,
    without_median,
)
from .terminal.screen import Screen
from .terminal.table import Cell, Column, table

_VERDICTS = {"faster": "green", "slower": "yellow", "ambiguous": "dim", "baseline": "bold"}
#: The columns that are dropped in a narrow terminal, the last of them first.
_LEAVE = (
    "ratio",
    "slowest variant",
    "95 % interval",
    "verdict",
    "lines",
    "p99",
    "p90",
    "cold start",
    "memory",
    "other variants",
)
_SIZES = 4  # columns of throughput that stay: backend, precision, best, at which size
_LEFT = ("backend", "verdict", "computes in")  # aligned to the left in Markdown

Cells = Callable[[Row], dict[str, str]]  # a backend's figures by the titles of their columns
Variants = tuple[Row, ...]  # a backend's variants, the fastest first


def comparison(
    results: Sequence[Result],
    form: str | None,
    screen: Screen,
    named: Sequence[str] = (),
    *,
    unfolded: bool = False,
    titles: Sequence[str] = (),
) -> Iterator[str]:
    """The lines of these results in a form: json, csv, markdown or, for None, the terminal's.

    JSON has an object for each result; CSV is one table of all. Several results have titles.
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
        if taken_apart:
            yield from (
                apart.in_markdown(result)
                if form
                else apart.apart(result, screen, named, unfolded=unfolded)
            )
        elif form == "markdown":
            yield from in_markdown(result, named)
        else:
            yield from in_terminal(result, screen, named, unfolded=unfolded)


def render(
    *results: Result, form: Literal["text", "json", "csv", "markdown"] = "text", columns: int = 100
) -> str:
    """Some results as `compare` and `report` print them, without colours."""
    screen = Screen(columns, colour=False)
    lines = comparison(results, None if form == "text" else form, screen, unfolded=True)
    return "".join(f"{line}\n" for line in lines)


def cells(one: Row) -> dict[str, str]:
    """The figures of a timed backend; a ratio only beside its median."""
    s = one.summary
    assert s is not None
    known = s.p50_us is not None
    bounds = (s.ratio_low, s.ratio_high) if known and s.verdict != "baseline" else (None, None)
    return {
        "p50": units.time(s.p50_us),
        "p90": units.time(s.p90_us),
        "p99": units.time(s.p99_us),
        "ratio": units.ratio(s.ratio if known else None),
        "95 % interval": units.interval(*bounds),
        "verdict": (s.verdict if known else None) or units.NONE,
        "cold start": units.seconds(one.cold_start_s),
        "memory": units.mebibytes(one.resources.peak_rss_mib if one.resources else None),
        "lines": units.count(one.lines_of_code),
    }


def own_cells(one: Row) -> dict[str, str]:
    """The same for a model of the user's own: its distance from the arbiter, and no lines."""
    off = units.NONE if one.difference is None else f"{one.difference:.1e}"
    return {
        **{title: text for title, text in cells(one).items() if title != "lines"},
        "off by": off,
    }


def reduced_cells(one: Row) -> dict[str, str]:
    """The same for a backend in less than float32, with the error of its answers."""
    off = units.NONE if one.difference is None else f"{one.difference:.1e}"
    return {"computes in": precision(one.name), "off by": off, **cells(one)}


def _rates(result: Result) -> list[tuple[str, ...]]:
    """Images a second: titles, then a row for each backend, the fastest first.

    Backends in less than float32 follow the others. Without batches there are no rows.
    """
    found = {
        one.name: {batch.size: batch.images_per_s for batch in one.batches}
        for one in result.backends
        if one.batches or one.batch_refusals
    }
    if not found:
        return []
    names = sorted(found, key=lambda name: -max(found[name].values(), default=0.0))
    names.sort(key=lambda name: precision(name) != "float32")
    sizes = result.rules.batches
    lines: list[tuple[str, ...]] = [
        ("backend", "computes in", "best images/s", "at batch", *map(str, sizes))
    ]
    for name in names:
        rates = found[name]
        best = max(rates, key=rates.__getitem__, default=0)
        highest, *by_size = (units.count(rates.get(size)) for size in (best, *sizes))
        lines.append((name, precision(name), highest, str(best or units.NONE), *by_size))
    return lines


def _refusals(result: Result) -> Iterator[str]:
    """The batches that a backend could not take, and why."""
    for one in result.backends:
        for size, reason in one.batch_refusals.items():
            yield f"{one.name}: no batch of {size}: {reason}"


def in_csv(results: Sequence[Result]) -> Iterator[str]:
    """Lines of CSV (RFC 4180): a header, then a row for each backend with its machine and date.

    A missing figure is an empty cell.
    """
    found = [
        {
            "started": cell(result.started),
            "machine": cell(processor(result.machine)),
            "network": result.rules.network,
            "threads": result.rules.threads,
            **{key: cell(one) if isinstance(one, str) else one for key, one in row.items()},
        }
        for result in results
        for row in rows(result)
    ]
    text = io.StringIO()
    if found:
        writer = csv.DictWriter(text, list(found[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(found)
    yield from printable(text.getvalue()).split("\n")[:-1]


def in_markdown(result: Result, named: Sequence[str] = ()) -> Iterator[str]:
    """A document: what was measured, the tables, what failed and every warning."""
    yield markdown.escaped(conditions(result))
    yield ""
    full, reduced = by_precision(timed(result))
    if full:
        yield from _ranked(full, own_cells if result.rules.arbiter else cells)
    elif not reduced:
        yield "No backend could be timed."
    if full and reduced:
        yield ""
    if reduced:
        yield from [IN_LESS, ""]
        yield from _ranked(reduced, reduced_cells)
    if by_batch := _rates(result):
        yield ""
        yield from markdown.table(by_batch[0], by_batch[1:], _LEFT)
    sentences = [f"{one.name}: {one.status}: {one.reason}" for one in failed(result, named)]
    sentences += _refusals(result)
    sentences += filter(None, [without_median(result), left_out(result), footnote(result)])
    sentences += [f"warning: {warning}" for warning in result.warnings]
    sentences += filter(None, [absent(result, named)])
    yield ""
    yield from (f"- {markdown.escaped(sentence)}" for sentence in sentences)


def _ranked(backends: Sequence[Row], cells: Cells) -> Iterator[str]:
    found = [{"backend": one.name, **cells(one)} for one in backends]
    yield from markdown.table(tuple(found[0]), (tuple(row.values()) for row in found), _LEFT)


def in_terminal(
    result: Result, screen: Screen, named: Sequence[str] = (), *, unfolded: bool = False
) -> Iterator[str]:
    """The tables, what failed and why, and every warning.

    A backend that cannot run here has its reason shown only if it was `named`.
    """
    yield from screen.wrap(conditions(result))
    yield ""
    ranked, reduced = by_precision(timed(result))
    whole = unfolded or len(ranked) <= SHORT_LIST  # a longer list's variants are folded
    shown: list[Variants] = [(one,) for one in ranked] if whole else _folded(ranked)
    if shown:
        own = own_cells if result.rules.arbiter else cells
        yield from _table(shown, screen, SHORT_LIST if whole and not unfolded else 0, own)
    elif not reduced:
        yield "No backend could be timed."
    if shown and reduced:
        yield ""
    if reduced:
        yield from screen.wrap(IN_LESS, "bold")
        yield from _table([(one,) for one in reduced], screen, len(reduced), reduced_cells)
    yield from _throughput(result, screen, whole=whole)
    for one in failed(result, named):
        style = "dim" if one.status in ("unavailable", "unsupported") else "red"
        yield from screen.wrap(f"{one.name}: {one.status}: {one.reason}", style)
    yield ""
    yield from screen.wrap(footnote(result), "dim")
    if any(len(row) > 1 for row in shown):
        hint = "each backend's fastest variant is shown; `lenet-bench report FILE --all` shows all"
        yield from screen.wrap(hint, "dim")
    for sentence in (without_median(result), left_out(result)):
        yield from screen.wrap(sentence or "", "yellow")
    for warning in result.warnings:
        yield from screen.wrap(f"warning: {warning}", "yellow")
    yield from screen.wrap(absent(result, named) or "", "dim")


def _folded(ranked: Sequence[Row]) -> list[Variants]:
    """The variants of each backend, the fastest first."""
    backends: dict[str, list[Row]] = {}
    for one in ranked:
        backends.setdefault(backend_of(one.name), []).append(one)
    return list(map(tuple, backends.values()))


def _table(
    shown: Sequence[Variants], screen: Screen, longer_than: int, cells: Cells = cells
) -> Iterator[str]:
    shown, headings = by_family(shown, lambda row: row[0].name, longer_than)
    found = [cells(row[0]) for row in shown]
    slowest = [units.time(_p50(row[-1])) if len(row) > 1 else units.NONE for row in shown]
    others = [", ".join(map(_variant, row[1:])) for row in shown]
    columns = [_column(title, [row[title] for row in found]) for title in found[0]]
    columns.insert(0, Column("backend", [row[0].name for row in shown], left=True, style="bold"))
    columns.insert(2, _column("slowest variant", slowest))
    columns.append(replace(_column("other variants", others), left=True, style="dim"))
    yield from table(screen, columns, bars=[_p50(row[0]) for row in shown], headings=headings)


def _column(title: str, texts: Sequence[str]) -> Column:
    styled = [Cell(text, _VERDICTS.get(text, "")) for text in texts]
    leaves = _LEAVE.index(title) + 1 if title in _LEAVE else 0
    return Column(title, styled if title == "verdict" else texts, leaves=leaves)


def _variant(one: Row) -> str:
    """Function 662 µs; a backend's default variant by its own name."""
    name = one.name.partition("@")[0].partition(":")[2] or one.name
    return f"{name} {units.time(_p50(one))}"


def _p50(one: Row) -> float | None:
    return one.summary.p50_us if one.summary else None


def _throughput(result: Result, screen: Screen, *, whole: bool) -> Iterator[str]:
    """Images a second by batch, where they were measured; else each backend's best variant."""
    if not (found := _rates(result)):
        return
    titles, *lines = found
    if not whole:
        best: dict[tuple[str, str], tuple[str, ...]] = {}
        for line in lines:
            best.setdefault((backend_of(line[0]), line[1]), line)
        lines = list(best.values())
    yield ""
    columns = [
        Column(title, texts, left=n < 2, style="" if n else "bold", leaves=max(0, n - _SIZES + 1))
        for n, (title, *texts) in enumerate(zip(titles, *lines, strict=True))
    ]
    yield from table(screen, columns)
    for sentence in _refusals(result):
        yield from screen.wrap(sentence, "yellow")

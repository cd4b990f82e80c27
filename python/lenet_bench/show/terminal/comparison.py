"""A comparison in a terminal: a table, what failed and why, and every warning."""

from collections.abc import Callable, Iterator, Sequence

from ... import units
from ...results import Result, Row
from ..families import SHORT_LIST, backend_of, by_family
from ..rows import cells, rates, reduced_cells, refusals
from ..sentences import (
    IN_LESS,
    absent,
    by_precision,
    conditions,
    failed,
    footnote,
    left_out,
    timed,
    without_median,
)
from .screen import Screen
from .table import Cell, Column, table

_VERDICTS = {"faster": "green", "slower": "yellow", "ambiguous": "dim", "baseline": "bold"}
#: The columns that are dropped in a narrow terminal, the last of them first.
_LEAVE = (
    *("ratio", "slowest variant", "95 % interval", "verdict", "lines"),
    *("p99", "p90", "cold start", "memory", "other variants"),
)
_SIZES = 4  # columns of throughput that stay: backend, precision, best, at which size

Variants = tuple[Row, ...]  # a backend's variants, the fastest first


def comparison(
    result: Result, screen: Screen, named: Sequence[str] = (), *, unfolded: bool = False
) -> Iterator[str]:
    """Its lines. A backend that cannot run here has its reason shown only if it was `named`."""
    yield from screen.wrap(conditions(result))
    yield ""
    ranked, reduced = by_precision(timed(result))
    whole = unfolded or len(ranked) <= SHORT_LIST  # a longer list's variants are folded
    rows: list[Variants] = [(one,) for one in ranked] if whole else _folded(ranked)
    if rows:
        yield from _table(rows, screen, SHORT_LIST if whole and not unfolded else 0)
    elif not reduced:
        yield "No backend could be timed."
    if rows and reduced:
        yield ""
    if reduced:
        yield from screen.wrap(IN_LESS, "bold")
        yield from _table([(one,) for one in reduced], screen, len(reduced), reduced_cells)
    yield from _throughput(result, screen, whole=whole)
    for one in failed(result, named):
        style = "dim" if one.status == "unavailable" else "red"
        yield from screen.wrap(f"{one.name}: {one.status}: {one.reason}", style)
    yield ""
    yield from screen.wrap(footnote(result), "dim")
    if any(len(row) > 1 for row in rows):
        hint = "each backend's fastest variant is shown; `lenet-bench report FILE --all` shows all"
        yield from screen.wrap(hint, "dim")
    for sentence in (without_median(result), left_out(result)):
        yield from screen.wrap(sentence or "", "yellow")
    for warning in result.warnings:
        yield from screen.wrap(f"warning: {warning}", "yellow")
    yield from screen.wrap(absent(result, named) or "", "dim")


def _folded(ranked: Sequence[Row]) -> list[Variants]:
    """A row a backend, the fastest variant first."""
    backends: dict[str, list[Row]] = {}
    for one in ranked:
        backends.setdefault(backend_of(one.name), []).append(one)
    return list(map(tuple, backends.values()))


def _table(
    rows: Sequence[Variants],
    screen: Screen,
    longer_than: int,
    cells: Callable[[Row], dict[str, str]] = cells,
) -> Iterator[str]:
    rows, headings = by_family(rows, lambda row: row[0].name, longer_than)
    found = [cells(row[0]) for row in rows]
    columns = [Column("backend", [row[0].name for row in rows], left=True, style="bold")]
    for title in found[0]:
        texts: list[str | Cell] = [row[title] for row in found]
        if title == "verdict":
            texts = [Cell(text, _VERDICTS.get(text, "")) for text in map(str, texts)]
        columns.append(Column(title, texts, leaves=_leaves(title)))
    slowest = [units.time(_p50(row[-1])) if len(row) > 1 else units.NONE for row in rows]
    others = [", ".join(map(_variant, row[1:])) for row in rows]
    columns.insert(2, Column("slowest variant", slowest, leaves=_leaves("slowest variant")))
    leaves = _leaves("other variants")
    columns.append(Column("other variants", others, left=True, style="dim", leaves=leaves))
    yield from table(screen, columns, bars=[_p50(row[0]) for row in rows], headings=headings)


def _variant(one: Row) -> str:
    """Function 662 µs; a backend's usual variant by its own name."""
    name = one.name.partition("@")[0].partition(":")[2] or one.name
    return f"{name} {units.time(_p50(one))}"


def _p50(one: Row) -> float | None:
    return one.summary.p50_us if one.summary else None


def _leaves(title: str) -> int:
    return _LEAVE.index(title) + 1 if title in _LEAVE else 0


def _throughput(result: Result, screen: Screen, *, whole: bool) -> Iterator[str]:
    """Images a second by batch, where they were measured; else each backend's best variant."""
    if not (found := rates(result)):
        return
    titles, *rows = found
    if not whole:
        best: dict[tuple[str, str], tuple[str, ...]] = {}
        for row in rows:
            best.setdefault((backend_of(row[0]), row[1]), row)
        rows = list(best.values())
    yield ""
    columns = [
        Column(title, texts, left=number < 2, style="bold" if not number else "", leaves=leaves)
        for number, (title, *texts) in enumerate(zip(titles, *rows, strict=True))
        for leaves in [max(0, number - _SIZES + 1)]
    ]
    yield from table(screen, columns)
    for sentence in refusals(result):
        yield from screen.wrap(sentence, "yellow")

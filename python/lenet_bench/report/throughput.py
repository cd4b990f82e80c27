"""Images a second by batch."""

from collections.abc import Iterator

from ..results import Result, RungResult
from ..terminal import Screen, Text, table_width

_KEPT = 3  # columns, however narrow the terminal: rung, best, at which size


def throughput(result: Result, screen: Screen) -> Iterator[str]:
    """Where it was measured: the best of each rung, then each size as there is room."""
    cells = rates(result)
    if not cells:
        return
    styles = ("bold", "", "", *("dim" for _ in result.rules.batches))
    columns = [
        [Text(title, "dim"), *(Text(cell, style) for cell in column)]
        for style, (title, *column) in zip(styles, zip(*cells, strict=True), strict=True)
    ]
    while len(columns) > _KEPT and table_width(zip(*columns, strict=True)) > screen.columns:
        columns.pop()
    yield ""
    rows = list(zip(*columns, strict=True))
    yield from screen.table(rows, "l" + "r" * (len(columns) - 1))
    for told in refusals(result):
        yield from screen.wrap(told, "yellow")


def rates(result: Result) -> list[tuple[str, ...]]:
    """A header and a row a rung, the one with the most images a second first; none without any."""
    rungs = [rung for rung in result.rungs if rung.batches or rung.batch_refusals]
    if not rungs:
        return []
    best = {rung.name: max(_rates(rung).values(), default=0.0) for rung in rungs}
    rungs.sort(key=lambda rung: -best[rung.name])
    sizes = result.rules.batches
    header = ("rung", "best images/s", "at batch", *map(str, sizes))
    rows = [
        (
            rung.name,
            _count(best[rung.name]),
            _best_size(rung),
            *(_count(_rates(rung).get(size)) for size in sizes),
        )
        for rung in rungs
    ]
    return [header, *rows]


def refusals(result: Result) -> Iterator[str]:
    """The batches that a rung could not take, and why."""
    for rung in result.rungs:
        for refused, reason in rung.batch_refusals.items():
            yield f"{rung.name}: no batch of {refused}: {reason}"


def _rates(rung: RungResult) -> dict[int, float]:
    return {batch.size: batch.images_per_s for batch in rung.batches}


def _best_size(rung: RungResult) -> str:
    rates = _rates(rung)
    return str(max(rates, key=lambda size: rates[size])) if rates else "-"


def _count(rate: float | None) -> str:
    return f"{rate:,.0f}" if rate else "-"

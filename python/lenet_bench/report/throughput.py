"""Images a second by batch, in a terminal."""

import textwrap
from collections.abc import Iterator

from ..results import Result, RungResult
from ..terminal import Screen, Text

_KEPT = 3  # columns, however narrow the terminal: rung, best, at which size
_GAP = len("  ")


def throughput(result: Result, screen: Screen) -> Iterator[str]:
    """Where it was measured: the best of each rung, then each size as there is room."""
    rungs = [rung for rung in result.rungs if rung.batches or rung.batch_refusals]
    if not rungs:
        return
    best = {rung.name: max(_rates(rung).values(), default=0.0) for rung in rungs}
    rungs.sort(key=lambda rung: -best[rung.name])
    columns = [
        [Text("rung", "dim"), *(Text(rung.name, "bold") for rung in rungs)],
        [Text("best images/s", "dim"), *(Text(_count(best[rung.name])) for rung in rungs)],
        [Text("at batch", "dim"), *(Text(_best_size(rung)) for rung in rungs)],
    ]
    for size in result.rules.batches:
        rates = (_count(_rates(rung).get(size)) for rung in rungs)
        columns.append([Text(str(size), "dim"), *(Text(rate, "dim") for rate in rates)])
    while len(columns) > _KEPT and _width(columns) > screen.columns:
        columns.pop()
    yield ""
    rows = list(zip(*columns, strict=True))
    yield from screen.table(rows, "l" + "r" * (len(columns) - 1))
    for rung in rungs:
        for refused, reason in rung.batch_refusals.items():
            told = f"{rung.name}: no batch of {refused}: {reason}"
            for line in textwrap.wrap(told, screen.columns, subsequent_indent="  "):
                yield screen.paint(line, "yellow")


def _rates(rung: RungResult) -> dict[int, float]:
    return {batch.size: batch.images_per_s for batch in rung.batches}


def _best_size(rung: RungResult) -> str:
    rates = _rates(rung)
    return str(max(rates, key=lambda size: rates[size])) if rates else "-"


def _count(rate: float | None) -> str:
    return f"{rate:,.0f}" if rate else "-"


def _width(columns: list[list[Text]]) -> int:
    widest = [max(len(cell.text) for cell in column) for column in columns]
    return sum(widest) + _GAP * (len(widest) - 1)

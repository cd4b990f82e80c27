"""The tables of price lists: what each API asks, and what its prices predict."""

from collections.abc import Iterator
from pathlib import Path

from lenet_bench.results import Part, Priced, priced, read_result
from lenet_bench.show.markdown import table as markdown
from lenet_bench.show.sentences import conditions as measured_how
from lenet_bench.show.terminal.prices import summary
from lenet_bench.units import percent, time, times


def prices(folder: Path) -> Iterator[str]:
    """Each backend's price list, and what it predicts beside what was measured."""
    for path in sorted(folder.glob("*.jsonl")):
        result = read_result(path)
        found = [one for one in priced(result) if one.prices]
        yield from [measured_how(result), "", *price_table(found), "", *predicted(found), ""]
        yield summary(found) or ""


def price_table(found: list[Priced]) -> Iterator[str]:
    """A row a thing, a column a backend; the interval below the price."""
    things = zip(*(one.prices for one in found), strict=True)
    rows = [(row[0].name, *map(price_cell, row)) for row in things]
    yield from markdown(("price", *(one.name for one in found)), rows, ("price",))


def price_cell(part: Part) -> str:
    """The price and its interval."""
    return f"{time(part.us)} ({times(part.low_us, part.high_us)})"


def predicted(found: list[Priced]) -> Iterator[str]:
    """A row a network of a backend."""
    titles = ("backend", "network", "predicted", "measured", "error", "95 % interval")
    rows = [
        (
            backend.name,
            one.network,
            time(one.predicted_us),
            time(one.measured_us),
            percent(one.error, places=0, signed=True),
            percent(one.error_low, one.error_high, places=0),
        )
        for backend in found
        for one in backend.predictions
    ]
    yield from markdown(titles, rows, titles[:2])

"""Several callers at once: a table, and what they gain in a sentence."""

from collections.abc import Iterator, Sequence

from .. import units
from ..results import Result
from .columns import Quantity
from .figures.records import Record
from .sentences import family

WAYS = {"one": "one for all", "each": "one each", "process": "a process each"}


def callers(result: Result) -> list[Record]:
    """A row for each backend and way, with the calls a second by callers.

    The other figures are of the most callers, and none where these could not call.
    """
    found: list[Record] = []
    most = max(result.rules.callers, default=1)
    for backend in result.backends:
        alone = [one for one in backend.together if one.number == 1]
        for way, said in WAYS.items():
            own = [one for one in backend.together if one.way == way and one.number > 1]
            if not own:
                continue
            rates = {one.number: one.calls_per_s for one in (*alone, *own)}
            last = {one.number: one for one in own}.get(most)
            figures = vars(last) if last else {"number": most, "way": way}
            known = {
                "name": backend.name,
                "family": family(backend.name),
                "networks": said,
                "gil_share": backend.gil_share,
            }
            each = {f"rate-{number}": rate for number, rate in rates.items()}
            found.append({**known, "rates": rates, **each, **figures})
    return sorted(found, key=lambda row: (most not in row["rates"], -_rate(row)))


def _rate(row: Record) -> float:
    """Of the most callers that could call."""
    return float(row["rates"][max(row["rates"])])


def by_callers(found: Sequence[Record]) -> list[Quantity]:
    """The columns; the last ones are of the most callers."""
    numbers = sorted({number for row in found for number in row["rates"]})
    of = units.counted(numbers[-1], "caller")
    rates = [
        Quantity(
            units.counted(number, "caller"),
            f"rate-{number}",
            units.count,
            "calls a second of all",
            leaves=0 if number in (numbers[0], numbers[-1]) else 6,
        )
        for number in numbers
    ]
    return [
        Quantity("networks", "networks", str, "shared, or one for each caller", leaves=0),
        *rates,
        Quantity("gain", "gain", units.ratio, f"of {of} over one", leaves=1),
        Quantity("its interval", "gain_low", units.interval, "95 %", "gain_high", leaves=5),
        Quantity("p99", "p99_us", units.time, f"99 % of the calls of {of} are faster", leaves=2),
        Quantity("p50", "p50_us", units.time, "of these calls", leaves=4),
        Quantity(
            "GIL held",
            "gil_share",
            units.percent,
            "the share of a call during which no other Python code runs",
            leaves=3,
        ),
        Quantity(
            "memory",
            "rss_mib",
            units.mebibytes,
            "of the process, or the sum of all processes",
            leaves=7,
        ),
    ]


def refusals(result: Result) -> Iterator[str]:
    """Why there are no calls of some callers."""
    for row in result.backends:
        for key, reason in row.callers_refused.items():
            _, _, way = key.partition(" ")
            yield f"{row.name}, networks {WAYS.get(way, way)}: {reason}"

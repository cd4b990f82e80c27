"""From which size of a network on an API stops mattering: a table, and a sentence for each API."""

from collections.abc import Callable, Iterator, Sequence

from .. import units
from ..results import Result
from ..results.sizes import NEAR, Answer, Sized, answers, names, sized
from ..texts import json_text
from . import markdown
from .terminal.screen import Screen
from .terminal.table import Column, table


def answered(results: Sequence[Result], form: str | None, screen: Screen) -> Iterator[str]:
    """The lines of the answer in a form of `comparison`; none with fewer than two networks."""
    found = sized(results)
    if not found or form == "csv":
        return
    if form == "json":
        said = {one.name: sentence(one) for one in answers(found)}
        yield json_text({"sizes": found, "answers": said})
        return
    (_, *networks), *rows = ratios(found, lambda one: units.ratio(one.ratio))
    title = "Times as long as the fastest API, by network:"
    yield ""
    if form == "markdown":
        yield from [title, "", *markdown.table(("backend", *networks), rows, ("backend",)), ""]
        yield from (f"- {markdown.escaped(sentence(one))}" for one in answers(found))
        return
    yield from screen.wrap(title, "bold")
    name, *columns = zip(*rows, strict=True)
    yield from table(
        screen,
        [
            Column("backend", name, left=True, style="bold"),
            *(  # the smallest and the largest network stay in a narrow terminal
                Column(network, cells, leaves=n if n < len(networks) - 1 else 0)
                for n, (network, cells) in enumerate(zip(networks, columns, strict=True))
            ),
        ],
    )
    yield ""
    for one in answers(found):
        yield from screen.wrap(sentence(one))


def ratios(found: Sequence[Sized], spell: Callable[[Sized], str]) -> list[tuple[str, ...]]:
    """Titles, and for each backend its name and its cells, one for each network."""
    networks = list(dict.fromkeys(one.network for one in found))
    cells = {(one.name, one.network): spell(one) for one in found}
    return [
        ("backend", *networks),
        *((name, *(cells.get((name, of), units.NONE) for of in networks)) for name in names(found)),
    ]


def with_interval(one: Sized) -> str:
    """2.69 (2.60-2.78)."""
    within = "" if one.low is None else f" ({units.interval(one.low, one.high)})"
    return units.ratio(one.ratio) + within


def sentence(one: Answer) -> str:
    """From which size on a backend is nearly as fast as the fastest API, or that it is not."""
    first, last, since = one.first, one.last, one.since
    near = f"less than {units.percent(NEAR)} longer than the fastest API"
    largest = f"{millions(last)} multiply-adds ({last.network})"
    if since is first:
        return f"{one.name} takes {near} on every network that it ran on."
    if since:
        began = "it is the fastest" if first.ratio == 1 else f"it takes {times(first)}"
        return (
            f"{one.name} takes {near} from {millions(since)} multiply-adds on ({since.network}); "
            f"on {first.network} {began}."
        )
    if last.low is None:
        return (
            f"{one.name} started too rarely for an interval; at {largest} it takes {times(last)}."
        )
    if last.low <= 1 + NEAR:
        return f"{one.name} may or may not take {near} even at {largest}: {times(last)}."
    why = ", since its kernels are slower" if one.slower_kernels else ""
    more = near.replace("less", "more")
    return f"{one.name} takes {more} even at {largest}: {times(last)}{why}."


def times(one: Sized) -> str:
    """2.69 times as long (2.60-2.78)."""
    ratio, _, within = with_interval(one).partition(" ")
    return f"{ratio} times as long {within}".rstrip()


def millions(one: Sized) -> str:
    return f"{units.digits(one.multiply_adds / 1e6)} million"

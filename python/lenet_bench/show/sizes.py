"""From which size of a network on an API stops mattering: a table, and a sentence for each API."""

from collections.abc import Callable, Iterator, Sequence

from .. import units
from ..results import Result
from ..results.sizes import NEAR, Sized, by_name, is_beyond_calls, since, sized
from ..texts import json_text
from . import markdown
from .terminal.screen import Screen
from .terminal.table import Column, table

_MARK = "*"


def answered(results: Sequence[Result], form: str | None, screen: Screen) -> Iterator[str]:
    """The lines of the answer in a form of `comparison`; none with fewer than two networks."""
    found = sized(results)
    if not found or form == "csv":
        return
    said = {name: sentence(own) for name, own in by_name(found).items()}
    if form == "json":
        yield json_text({"sizes": found, "answers": said})
        return
    title, rows = "Times as long as the fastest API, by network:", ratios(found, spelt)
    yield ""
    if form == "markdown":
        yield from [title, "", *markdown.table(rows[0], rows[1:], ("backend",)), ""]
        yield from (f"- {markdown.escaped(one)}" for one in (*off(found), *said.values()))
        return
    yield from screen.wrap(title, "bold")
    (first, *names), *others, (last, *cells) = zip(*rows, strict=True)
    columns = [Column(of, texts, leaves=n) for n, (of, *texts) in enumerate(others, 1)]
    columns = [Column(first, names, left=True, style="bold"), *columns, Column(last, cells)]
    yield from [*table(screen, columns), ""]
    for one in (*off(found), *said.values()):
        yield from screen.wrap(one)


def ratios(found: Sequence[Sized], spell: Callable[[Sized], str]) -> list[tuple[str, ...]]:
    """Titles, and for each backend its name and its cells, one for each network."""
    networks = list(dict.fromkeys(one.network for one in found))
    cells = {(one.name, one.network): spell(one) for one in found}
    return [
        ("backend", *networks),
        *((n, *(cells.get((n, of), units.NONE) for of in networks)) for n in by_name(found)),
    ]


def spelt(one: Sized) -> str:
    """2.69, with a mark where its answer is farther off than most may be."""
    return units.ratio(one.ratio) + _MARK * (one.off is not None)


def off(found: Sequence[Sized]) -> list[str]:
    """What the mark means, where there is one."""
    far = [f"{one.name} by {one.off:.1e} on {one.network}" for one in found if one.off is not None]
    said = f"Marked with {_MARK}, since the answer is farther off than most backends' may be"
    return [f"{said}: {', '.join(far)}."] if far else []


def with_interval(one: Sized) -> str:
    """2.69 (2.60-2.78)."""
    within = "" if one.low is None else f" ({units.interval(one.low, one.high)})"
    return units.ratio(one.ratio) + within


def sentence(own: Sequence[Sized]) -> str:
    """From which size on a backend is nearly as fast as the fastest API, or that it is not."""
    first, last, near, without = own[0], own[-1], since(own), _without_the_largest(own)
    takes = f"{first.name} takes less than {units.percent(NEAR)} longer than the fastest API"
    largest = f"{millions(last)} multiply-adds ({last.network})"
    if near is first:
        return f"{takes} on every network that it ran on."
    if near:
        began = "it is the fastest" if first.ratio == 1 else f"it takes {times(first)}"
        return f"{takes} from {_size(near)}; on {first.network} {began}{without}."
    if last.low is None or last.low <= 1 + NEAR:
        no = f"{first.name}: no answer without a narrower interval"
        return f"{no}; at {largest}: {times(last)}{without}."
    why = ", more than calls can explain" if is_beyond_calls(own) else ""
    return f"{takes.replace('less', 'more')} even at {largest}: {times(last)}{why}{without}."


def _without_the_largest(own: Sequence[Sized]) -> str:
    """The end of the sentence where the answer hangs on one network: what it is without that."""
    near, rest = since(own), since(own[:-1])
    if near is rest or len(own) == 2:
        return ""
    answer = f"it takes less from {_size(rest)}" if rest else "there is no such size"
    return f"; without {own[-1].network} {answer}"


def _size(one: Sized) -> str:
    return f"{millions(one)} multiply-adds on ({one.network})"


def times(one: Sized) -> str:
    """2.69 times as long (2.60-2.78)."""
    ratio, _, within = with_interval(one).partition(" ")
    return f"{ratio} times as long {within}".rstrip()


def millions(one: Sized) -> str:
    return f"{units.digits(one.multiply_adds / 1e6)} million"

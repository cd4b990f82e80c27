"""A result in a terminal: one table, what failed and why, and what to know before believing it."""

from collections.abc import Iterator, Mapping, Sequence

from ..results import Result, RungResult
from ..terminal import Screen, Text, shorten, table_width
from .numbers import spell_interval, spell_ratio, spell_time
from .sentences import absent, conditions, failed, footnote, left_out, timed
from .throughput import throughput

_LONGEST_BAR, _SHORTEST_BAR = 24, 8
_BAR = ""  # the title of that column
_LINES = "lines"

#: The columns that make room where a terminal is narrow, the first to go first.
_DISPENSABLE = (
    *("memory", "cold start", _BAR, "p90", "p99", _LINES, "verdict", "95 % interval", "ratio"),
)

_VERDICTS = {"faster": "green", "slower": "yellow", "ambiguous": "dim", "baseline": "bold"}


def table(result: Result, screen: Screen, named: Sequence[str] = ()) -> Iterator[str]:
    """The comparison's lines, the fastest rung first.

    A rung that cannot run here has its reason where it was `named`, else a word at the end.
    """
    yield from screen.wrap(conditions(result))
    yield ""
    if ranked := timed(result):
        rows = _rows(ranked, screen)
        titles = [cell.text for cell in rows[0]]
        yield from screen.table(rows, "".join("l" if t in ("rung", _BAR) else "r" for t in titles))
    else:
        yield "No rung could be timed."
    yield from throughput(result, screen)
    for rung in failed(result, named):
        colour = "dim" if rung.status == "unavailable" else "red"
        yield from screen.wrap(f"{rung.name}: {rung.status}: {rung.reason}", colour)
    yield from screen.wrap(left_out(result) or "", "dim")
    yield ""
    yield from screen.wrap(footnote(result, screen.choose("µ", "u")), "dim")
    for warning in result.warnings:
        yield from screen.wrap(f"warning: {warning}", "yellow")
    yield from screen.wrap(absent(result, named) or "", "dim")


def _rows(ranked: Sequence[RungResult], screen: Screen) -> list[list[Text]]:
    """The header and a row a rung: the columns for which there is room, and a bar in the rest."""
    columns = _columns(ranked, screen)
    for title in _DISPENSABLE:
        if _width(columns) > screen.columns:
            columns.pop(title, None)
    left = screen.columns - _width(columns)
    if left < 0:  # only the names can still give way
        longest = max(len(rung.name) for rung in ranked)
        names = (shorten(r.name, longest + left, screen.choose("…", "...")) for r in ranked)
        columns["rung"] = [Text(name, "bold") for name in names]
    if _BAR in columns:
        columns[_BAR] = _bars(ranked, screen, min(_SHORTEST_BAR + left, _LONGEST_BAR))
    header = [Text(title, "dim") for title in columns]
    return [header, *map(list, zip(*columns.values(), strict=True))]


def _columns(ranked: Sequence[RungResult], screen: Screen) -> dict[str, list[Text]]:
    """Every figure and the shortest bars, by the title of the column."""
    rows = [_row(rung, screen) for rung in ranked]
    columns = {title: [row[title] for row in rows] for title in rows[0]}
    if all(rung.lines_of_code is None for rung in ranked):  # results of earlier versions
        del columns[_LINES]
    bars = _bars(ranked, screen, _SHORTEST_BAR)
    if any(bar.text for bar in bars):
        columns[_BAR] = bars
    return columns


def _row(rung: RungResult, screen: Screen) -> dict[str, Text]:
    s = rung.summary
    assert s is not None
    interval = "-" if s.verdict == "baseline" else spell_interval(s.ratio_low, s.ratio_high)
    cold = rung.cold_start_s
    memory = rung.resources.peak_rss_mib if rung.resources else None
    return {
        "rung": Text(rung.name, "bold"),
        f"p50 {screen.choose('µs', 'us')}": Text(spell_time(s.p50_us)),
        "p90": Text(spell_time(s.p90_us)),
        "p99": Text(spell_time(s.p99_us)),
        "ratio": Text(spell_ratio(s.ratio)),
        "95 % interval": Text(interval, "dim"),
        "verdict": Text(s.verdict or "-", _VERDICTS.get(s.verdict or "", "")),
        "cold start": Text("-" if cold is None else f"{cold:.2f} s"),
        "memory": Text("-" if memory is None else f"{memory:.0f} MiB"),
        _LINES: Text("-" if rung.lines_of_code is None else str(rung.lines_of_code)),
    }


def _width(columns: Mapping[str, Sequence[Text]]) -> int:
    return table_width([list(map(Text, columns)), *zip(*columns.values(), strict=True)])


def _bars(ranked: Sequence[RungResult], screen: Screen, columns: int) -> list[Text]:
    times = [_p50(rung) or 0.0 for rung in ranked]
    return [Text(bar, "cyan") for bar in screen.bars(times, columns)]


def _p50(rung: RungResult) -> float | None:
    return rung.summary.p50_us if rung.summary else None

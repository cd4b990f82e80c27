"""A comparison as Markdown, for documents and pull requests."""

import re
from collections.abc import Iterable, Iterator, Sequence

from ..results import Result, RungResult
from .numbers import spell_interval, spell_ratio, spell_time
from .sentences import absent, conditions, failed, footnote, left_out, timed
from .throughput import rates, refusals

_COLUMNS = (
    *("rung", "p50 µs", "p90", "p99", "ratio", "95 % interval", "verdict"),
    *("cold start", "memory", "lines"),
)
_LEFT = ("rung", "verdict")
_MEANS_SOMETHING = re.compile(r"([\\*\[\]<>|])")


def comparison(result: Result, named: Sequence[str] = ()) -> Iterator[str]:
    """The lines of a document: what was measured, the table, what failed and every warning."""
    yield escaped(conditions(result))
    yield ""
    if ranked := timed(result):
        yield from table(_COLUMNS, map(_row, ranked), _LEFT)
    else:
        yield "No rung could be timed."
    if by_batch := rates(result):
        yield ""
        yield from table(by_batch[0], by_batch[1:], _LEFT)
    told = [f"{rung.name}: {rung.status}: {rung.reason}" for rung in failed(result, named)]
    told += refusals(result)
    told += [sentence for sentence in (left_out(result), footnote(result)) if sentence]
    told += [f"warning: {warning}" for warning in result.warnings]
    told += [sentence for sentence in (absent(result, named),) if sentence]
    yield ""
    yield from (f"- {escaped(sentence)}" for sentence in told)


def table(
    titles: Sequence[str], rows: Iterable[Sequence[str]], left: Sequence[str]
) -> Iterator[str]:
    """The lines of a table without its empty columns, right-aligned but for those on the `left`."""
    columns = zip(titles, *rows, strict=True)
    filled = [(title, *cells) for title, *cells in columns if any(cell != "-" for cell in cells)]
    header, *lines = zip(*filled, strict=True)
    yield _line(header)
    yield f"|{'|'.join('---' if title in left else '--:' for title in header)}|"
    yield from map(_line, lines)


def escaped(text: str) -> str:
    """Text that Markdown shows as it is, on one line."""
    return _MEANS_SOMETHING.sub(r"\\\1", " ".join(text.split()))


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(map(escaped, cells))} |"


def _row(rung: RungResult) -> tuple[str, ...]:
    s, cold = rung.summary, rung.cold_start_s
    assert s is not None
    memory = rung.resources.peak_rss_mib if rung.resources else None
    return (
        rung.name,
        *map(spell_time, (s.p50_us, s.p90_us, s.p99_us)),
        spell_ratio(s.ratio),
        "-" if s.verdict == "baseline" else spell_interval(s.ratio_low, s.ratio_high),
        s.verdict or "-",
        "-" if cold is None else f"{cold:.2f} s",
        "-" if memory is None else f"{memory:.0f} MiB",
        "-" if rung.lines_of_code is None else str(rung.lines_of_code),
    )

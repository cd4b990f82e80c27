"""A result in a terminal: one table, what failed and why, and what to know before believing it."""

import textwrap
import time
from collections.abc import Iterator, Sequence
from typing import TextIO

from ..measure.comparison import Progress
from ..results import Result, RungResult
from ..terminal import Screen, Text

_WIDE = 96  # columns from which every figure has room
_NARROW = 64  # below: the rung, its time and its ratio
_LONGEST_BAR = 24
_REDRAW_S = 0.2

_VERDICTS = {"faster": "green", "slower": "yellow", "ambiguous": "dim", "baseline": "bold"}


def table(result: Result, screen: Screen) -> Iterator[str]:
    """The comparison's lines, the fastest rung first."""
    timed = [rung for rung in result.rungs if rung.status == "ok" and rung.summary]
    timed.sort(key=lambda rung: _p50(rung) or float("inf"))
    yield from _title(result, screen)
    if timed:
        rows = [_header(screen), *(_row(rung, screen) for rung in timed)]
        bars = [Text(""), *_bars(timed, rows, screen)]
        with_bars = [[*row, bar] for row, bar in zip(rows, bars, strict=True)]
        yield from screen.table(with_bars, "l" + "r" * (len(rows[0]) - 1) + "l")
    else:
        yield "No rung could be timed."
    yield from _failures(result, screen)
    yield from _footnotes(result, screen)
    for warning in result.warnings:
        yield from _wrapped(f"warning: {warning}", screen, "yellow")


class ProgressLine:
    """One line of progress that overwrites itself; nothing where the stream is no terminal."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = stream.isatty()
        self._next = 0.0

    def __call__(self, progress: Progress) -> None:
        """Draw it, if the last drawing is not too recent. A closed terminal is no error."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _REDRAW_S
        share = "" if progress.share is None else f"{progress.share:4.0%}  "
        self._write(f"\r\x1b[2K{share}{progress.doing}  {progress.elapsed_s:.0f} s")

    def clear(self) -> None:
        """Leave the line empty for what is printed next."""
        self._write("\r\x1b[2K")

    def _write(self, text: str) -> None:
        if not self._shown:
            return
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._shown = False


def _title(result: Result, screen: Screen) -> Iterator[str]:
    rules, machine = result.rules, result.machine
    model = (machine.get("processor") or {}).get("model") or "unknown processor"
    cores = ", ".join(map(str, rules.worker_cores)) or "any"
    threads = f"{rules.threads} thread{'s' * (rules.threads > 1)}"
    text = (
        f"One image a call, {threads} on core {cores} of {model}; "
        f"{len(result.order)} shuffled rounds, processes started anew every "
        f"{rules.rounds_a_start}, in {result.elapsed_s:.1f} s"
    )
    yield from _wrapped(text, screen, "")
    yield ""


def _header(screen: Screen) -> list[Text]:
    us = screen.choose("µs", "us")
    names = ["rung", f"p50 {us}"]
    if screen.columns >= _WIDE:
        names += ["p90", "p99"]
    names += ["ratio"]
    if screen.columns >= _NARROW:
        names += ["95 % interval", "verdict"]
    if screen.columns >= _WIDE:
        names += ["cold start", "memory"]
    return [Text(name, "dim") for name in names]


def _row(rung: RungResult, screen: Screen) -> list[Text]:
    s = rung.summary
    assert s is not None
    cells = [Text(rung.name, "bold"), Text(_time(s.p50_us))]
    if screen.columns >= _WIDE:
        cells += [Text(_time(s.p90_us)), Text(_time(s.p99_us))]
    cells += [Text(_ratio(s.ratio))]
    if screen.columns >= _NARROW:
        interval = "-"
        if s.ratio_low is not None and s.ratio_high is not None and s.verdict != "baseline":
            interval = f"{_ratio(s.ratio_low)}-{_ratio(s.ratio_high)}"
        cells += [Text(interval, "dim"), Text(s.verdict or "-", _VERDICTS.get(s.verdict or "", ""))]
    if screen.columns >= _WIDE:
        cold = rung.cold_start_s
        memory = rung.resources.peak_rss_mib if rung.resources else None
        cells += [
            Text("-" if cold is None else f"{cold:.2f} s"),
            Text("-" if memory is None else f"{memory:.0f} MiB"),
        ]
    return cells


def _bars(
    timed: Sequence[RungResult], rows: Sequence[Sequence[Text]], screen: Screen
) -> Iterator[Text]:
    """The times against the slowest's, not on a logarithm: twice as long is twice as slow."""
    widths = [max(len(cell.text) for cell in column) for column in zip(*rows, strict=True)]
    left = screen.columns - sum(width + len("  ") for width in widths)
    slowest = max(_p50(rung) or 0.0 for rung in timed) or 1.0
    for rung in timed:
        yield Text(screen.bar((_p50(rung) or 0.0) / slowest, min(left, _LONGEST_BAR)), "cyan")


def _failures(result: Result, screen: Screen) -> Iterator[str]:
    for rung in result.rungs:
        if rung.status != "ok":
            colour = "dim" if rung.status in ("unavailable", "unmeasured") else "red"
            told = f"{rung.name}: {rung.status}: {rung.reason or 'the run ended before its turn'}"
            yield from _wrapped(told, screen, colour)


def _footnotes(result: Result, screen: Screen) -> Iterator[str]:
    yield ""
    floor = result.floor.summary.p50_us if result.floor and result.floor.summary else None
    rules = result.rules
    notes = [f"seed {rules.seed}", f"same means within {rules.margin:.0%}"]
    if floor is not None:
        notes.insert(0, f"the harness itself takes {_time(floor)} {screen.choose('µs', 'us')}")
    yield from _wrapped("; ".join(notes), screen, "dim")


def _wrapped(text: str, screen: Screen, style: str) -> Iterator[str]:
    for line in textwrap.wrap(text, screen.columns, subsequent_indent="  "):
        yield screen.paint(line, style)


def _p50(rung: RungResult) -> float | None:
    return rung.summary.p50_us if rung.summary else None


def _time(us: float | None) -> str:
    """Three digits or more: nobody reads a tenth of a microsecond beside a millisecond."""
    if us is None:
        return "-"
    return f"{us:.2f}" if us < 10 else f"{us:.1f}" if us < 1000 else f"{us:,.0f}"


def _ratio(ratio: float | None) -> str:
    if ratio is None:
        return "-"
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:.0f}"

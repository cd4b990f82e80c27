"""What a result says, in a few sentences: its own figures and nothing more."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ...numerals import counted
from .. import units
from ..figures.throughput import curve
from ..markup import Markup, element, join
from ..measured import Entry, Measured, Run


def findings(measured: Measured) -> Markup:
    """A list a run."""
    told = []
    for run in measured.runs:
        entries = [entry for entry in measured.entries if entry.series.run is run]
        if len(measured.runs) > 1:
            told.append(element("h3", run.label))
        told.append(element("ul", *(element("li", one) for one in _of(run, entries))))
    return join(told)


def _of(run: Run, entries: Sequence[Entry]) -> Iterator[Markup]:
    timed = [entry for entry in entries if entry.summary.p50_us]
    if not timed:
        yield Markup("No rung could be timed.")
        return
    yield from _fastest_and_slowest(timed)
    yield from _why(timed[-1])
    yield from _code(timed)
    yield from _start(timed)
    yield from _confidence(run, timed)


def _fastest_and_slowest(timed: Sequence[Entry]) -> Iterator[Markup]:
    first, last = timed[0], timed[-1]
    told = [_strong(first), f" answers one image in {units.time(first.summary.p50_us)}"]
    if last is not first:
        times = (last.summary.p50_us or 0) / (first.summary.p50_us or 1)
        if first.summary.verdict == "baseline" and last.summary.ratio:
            times = last.summary.ratio  # taken round by round, as in the table
        told += ["; ", _strong(last), f" takes {units.time(last.summary.p50_us)}, "]
        told.append(f"{units.ratio(times)} times as long")
    yield join([*told, "."])


def _why(slowest: Entry) -> Iterator[Markup]:
    """How much of its call a batch saves; nothing where that is less than half."""
    alone, (size, rate) = slowest.summary.p50_us or 0, max(curve(slowest), default=(1, 0))
    if size == 1 or (saved := 1 - 1e6 / rate / alone) < 0.5:
        return
    where = " --device gpu" if slowest.series.device == "gpu" else ""
    yield join(
        [
            f"With {units.count(size)} images in a call ",
            _strong(slowest),
            f" takes {units.time(1e6 / rate)} an image: {units.share(saved)} of its "
            f"{units.time(alone)} is paid for the call, not for the image. ",
            element("code", f"lenet-bench why {slowest.name}{where}"),
            " takes it apart.",
        ]
    )


def _code(timed: Sequence[Entry]) -> Iterator[Markup]:
    known = [entry for entry in timed if entry.lines_of_code]
    if len({entry.exhibit for entry in known}) < 2:
        return
    shortest = min(known, key=lambda e: e.lines_of_code or 0)
    longest = max(known, key=lambda e: e.lines_of_code or 0)
    yield join(
        [
            "The network takes ",
            f"{units.count(shortest.lines_of_code)} lines of code with ",
            element("strong", shortest.exhibit),
            f" and {units.count(longest.lines_of_code)} with ",
            element("strong", longest.exhibit),
            ".",
        ]
    )


def _start(timed: Sequence[Entry]) -> Iterator[Markup]:
    known = [entry for entry in timed if entry.rung.cold_start_s]
    if len(known) < 2:
        return
    first = min(known, key=lambda e: e.rung.cold_start_s or 0)
    last = max(known, key=lambda e: e.rung.cold_start_s or 0)
    yield join(
        [
            f"A new process has its first answer after {units.seconds(first.rung.cold_start_s)} ",
            "with ",
            _strong(first),
            f" and after {units.seconds(last.rung.cold_start_s)} with ",
            _strong(last),
            ".",
        ]
    )


def _confidence(run: Run, timed: Sequence[Entry]) -> Iterator[Markup]:
    """What the harness adds, and how much there is to be careful about."""
    result = run.result
    floor = result.floor.summary.p50_us if result.floor and result.floor.summary else None
    told: list[str] = []
    if floor is not None:
        told.append(f"The harness itself takes {units.time(floor)} of each time. ")
    unsure = sum(entry.summary.verdict == "ambiguous" for entry in timed)
    if unsure:
        are = "are" if unsure > 1 else "is"
        told.append(f"{unsure} of {len(timed)} verdicts {are} ambiguous. ")
    if warned := len(result.warnings):
        told += [f"{counted(warned, 'warning')} stand", "s" * (warned == 1), " below."]
    if told:
        yield join(["".join(told).strip()])


def _strong(entry: Entry) -> Markup:
    device = f" on the {entry.series.device.upper()}" if entry.series.device == "gpu" else ""
    return join([element("strong", entry.name), device])

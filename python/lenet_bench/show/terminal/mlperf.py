"""A run under LoadGen, in a terminal."""

from collections.abc import Iterator

from ... import units
from ...questions.mlperf import LABEL, MlperfRun
from ...results.statistics import show
from ...units import counted
from .screen import Screen
from .table import Cell, Column, table


def mlperf(found: MlperfRun, screen: Screen) -> Iterator[str]:
    """The verdict, the latencies, the accuracy, and the call by LoadGen's clock and by ours."""
    yield from screen.wrap(
        f"{LABEL}: {found.backend} under LoadGen {found.loadgen}, SingleStream, "
        f"{counted(found.threads, 'thread')} on core "
        f"{', '.join(map(str, found.cores)) or 'any'}",
        "bold",
    )
    yield ""
    rows = list(_rows(found))
    names, values = [name for name, _ in rows], [value for _, value in rows]
    yield from table(screen, [Column("", names, left=True), Column("", values, left=True)])
    yield ""
    for sentence in _notes(found):
        yield from screen.wrap(sentence)
    if found.disturbed:
        low, high = units.time(min(found.turns_us)), units.time(max(found.turns_us))
        yield from screen.wrap(
            f"warning: the time of a call back to back varied between {low} and {high}, so "
            "something disturbed this run; repeat it on a quiet machine",
            "yellow",
        )


def _rows(found: MlperfRun) -> Iterator[tuple[str, Cell]]:
    s, accuracy = found.performance, found.accuracy
    assert s is not None
    yield "performance", Cell("valid", "bold green") if s.valid else Cell("invalid", "bold red")
    for sentence in (*s.unsatisfied, *s.recommendations):
        yield "", Cell(sentence)
    yield "queries", Cell(f"{s.queries:,} in {s.queries / s.queries_per_s:,.1f} s")
    yield "p90, early stopping", Cell(f"{units.time(s.p90_estimate_us)} (SingleStream's metric)")
    for percent, us in ((50, s.p50_us), (90, s.p90_us), (99, s.p99_us), (99.9, s.p999_us)):
        if show(s.queries, percent):
            yield f"p{percent:g}", Cell(units.time(us))
    yield "a call back to back", Cell(units.time(found.call_us))
    yield (
        "accuracy",
        Cell("passed", "bold green") if accuracy.passed else Cell("failed", "bold red"),
    )
    yield "", Cell(f"{units.percent(accuracy.accuracy, places=2)} of {accuracy.images:,} images")
    yield "logs", Cell(found.folder)


def _notes(found: MlperfRun) -> Iterator[str]:
    assert found.performance is not None
    if found.nothing and found.loadgen_us:
        p50, nothing = units.time(found.performance.p50_us), units.time(found.nothing.p50_us)
        yield (
            f"by LoadGen's clock a call takes {units.time(found.loadgen_us)}: its median query "
            f"{p50} less its median empty query {nothing}; back to back, as `compare` times it in "
            f"the same process, it takes {units.time(found.call_us)}: "
            f"{units.ratio(found.loadgen_us / found.call_us)} times as long under LoadGen"
        )
    reference = found.accuracy.reference_correct / found.accuracy.images
    yield (
        f"accuracy is against {found.accuracy.against} and must reach 99 % of the reference's, "
        f"{units.percent(reference, places=2)}; performance was measured with "
        f"{found.images:,} images"
    )
    if not found.full:
        yield "MLPerf's rules ask for ten minutes: --full"

"""A run under LoadGen, in a terminal."""

from collections.abc import Iterator

from ..measure.statistics import show
from ..mlperf import MlperfRun, Overhead, Summary
from ..mlperf.result import LABEL
from ..numerals import counted
from ..terminal import Screen, Text
from .numbers import spell_time


def lines(found: MlperfRun, screen: Screen) -> Iterator[str]:
    """The verdict, the latencies, the accuracy, and what LoadGen itself takes."""
    micro = screen.choose("µs", "us")
    yield from screen.wrap(
        f"{LABEL}: {found.rung} under LoadGen {found.loadgen}, SingleStream, "
        f"{counted(found.threads, 'thread')} on core "
        f"{', '.join(map(str, found.cores)) or 'any'}",
        "bold",
    )
    yield ""
    yield from screen.table(list(_rows(found, micro)), "ll")
    yield ""
    for sentence in _notes(found, micro):
        yield from screen.wrap(sentence)


def _rows(found: MlperfRun, micro: str) -> Iterator[list[Text]]:
    s, accuracy = found.performance, found.accuracy
    assert s is not None
    verdict = Text("valid", "bold green") if s.valid else Text("invalid", "bold red")
    yield [Text("performance"), verdict]
    for told in (*s.unsatisfied, *s.recommendations):
        yield [Text(""), Text(told)]
    yield [Text("queries"), Text(f"{s.queries:,} in {_took_s(s):,.1f} s")]
    estimate = f"{spell_time(s.p90_estimate_us)} {micro}" if s.p90_estimate_us else "-"
    yield [Text("p90, early stopping"), Text(f"{estimate} (SingleStream's metric)")]
    for percent, us in ((50, s.p50_us), (90, s.p90_us), (99, s.p99_us), (99.9, s.p999_us)):
        if show(s.queries, percent):
            yield [Text(f"p{percent:g}"), Text(f"{spell_time(us)} {micro}")]
    style = "bold green" if accuracy.passed else "bold red"
    passed = "passed" if accuracy.passed else "failed"
    yield [Text("accuracy"), Text(passed, style)]
    yield [Text(""), Text(f"{accuracy.accuracy:.2%} of {accuracy.images:,} images")]
    yield [Text("logs"), Text(found.folder)]


def _took_s(summary: Summary) -> float:
    return summary.queries / summary.queries_per_s


def _notes(found: MlperfRun, micro: str) -> Iterator[str]:
    yield _agreement(found, micro)
    reference = found.accuracy.reference_correct / found.accuracy.images
    yield (
        f"accuracy is against {found.accuracy.against} and must be 99 % of the reference's, "
        f"{reference:.2%}; performance was asked with {found.images:,} images"
    )
    if not found.full:
        yield "the rules want ten minutes: --full"


def _agreement(found: MlperfRun, micro: str) -> str:
    """LoadGen's median held against `compare`'s."""
    o = found.overhead
    assert found.performance is not None
    p50_us = found.performance.p50_us
    expected = (
        f"compare's clock gives {spell_time(o.compare_us)} {micro} in the same process, and "
        f"LoadGen takes {spell_time(o.overhead_us)} {micro} ({spell_time(o.overhead_low_us)} to "
        f"{spell_time(o.overhead_high_us)}) of a query of this rung: {_parts(o, micro)}"
    )
    agreed = f"LoadGen's p50, {spell_time(p50_us)} {micro},"
    if found.agrees:
        return f"{agreed} agrees with compare: {expected}"
    judged = (
        "does not agree with compare, which leads to expect"
        if found.agrees is False
        else "cannot be held against compare's, whose interval is too wide: it leads to expect some"
    )
    return (
        f"{agreed} {judged} {spell_time(o.expected_us)} {micro}: something disturbed this run; "
        f"repeat it on a quieter machine ({expected})"
    )


def _parts(overhead: Overhead, micro: str) -> str:
    """Where it goes."""
    slower_us = overhead.slower_us
    word = "more" if slower_us >= 0 else "less"
    return (
        f"{spell_time(overhead.around_us)} {micro} around the call, and the call itself takes "
        f"{spell_time(abs(slower_us))} {micro} {word} than back to back"
    )

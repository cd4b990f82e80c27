"""A run under LoadGen, in a terminal."""

from collections.abc import Iterator

from ..mlperf import MlperfRun
from ..mlperf.run import LABEL
from ..terminal import Screen, Text
from .numbers import spell_time


def lines(found: MlperfRun, screen: Screen) -> Iterator[str]:
    """The verdict, the latencies, the accuracy, and what LoadGen itself takes."""
    micro = screen.choose("µs", "us")
    yield from _wrapped(
        f"{LABEL}: {found.rung} under LoadGen {found.loadgen}, SingleStream, "
        f"{found.threads} thread{'s' * (found.threads > 1)} on core "
        f"{', '.join(map(str, found.cores)) or 'any'}",
        screen,
        "bold",
    )
    yield ""
    yield from screen.table(list(_rows(found, micro)), "ll")
    yield ""
    for sentence in _notes(found, micro):
        yield from _wrapped(sentence, screen)


def _rows(found: MlperfRun, micro: str) -> Iterator[list[Text]]:
    s, accuracy = found.performance, found.accuracy
    verdict = Text("valid", "bold green") if s.valid else Text("invalid", "bold red")
    yield [Text("performance"), verdict]
    for told in (*s.unsatisfied, *s.recommendations):
        yield [Text(""), Text(told)]
    yield [Text("queries"), Text(f"{s.queries:,} in {found.duration_s:g} s or more")]
    estimate = f"{spell_time(s.p90_estimate_us)} {micro}" if s.p90_estimate_us else "-"
    yield [Text("p90, early stopping"), Text(f"{estimate} (SingleStream's metric)")]
    latencies = (("p50", s.p50_us), ("p90", s.p90_us), ("p99", s.p99_us), ("p99.9", s.p999_us))
    for name, us in latencies:
        yield [Text(name), Text(f"{spell_time(us)} {micro}")]
    style = "bold green" if accuracy.passed else "bold red"
    passed = "passed" if accuracy.passed else "failed"
    yield [Text("accuracy"), Text(passed, style)]
    yield [Text(""), Text(f"{accuracy.accuracy:.2%} of {accuracy.images:,} images")]
    yield [Text("logs"), Text(str(found.folder))]


def _notes(found: MlperfRun, micro: str) -> Iterator[str]:
    p50, call, compare, overhead = map(
        spell_time, (found.performance.p50_us, found.call_us, found.compare_us, found.overhead_us)
    )
    yield (
        f"of LoadGen's p50, {p50} {micro}, the rung itself took {call} {micro}; a query of an "
        f"empty rung takes {overhead} {micro}; compare's clock gives {compare} {micro} in the same "
        "process, where nothing comes between two calls"
    )
    reference = found.accuracy.reference_correct / found.accuracy.images
    yield (
        f"accuracy is against {found.accuracy.against} and must be 99 % of the reference's, "
        f"{reference:.2%}; performance was asked with {found.images:,} images"
    )
    if not found.full:
        yield f"the rules want ten minutes (--full), this took {found.duration_s:g} s"


def _wrapped(text: str, screen: Screen, style: str = "") -> Iterator[str]:
    for line in screen.wrap(text):
        yield screen.paint(line, style)

"""What the commands print for people: answers, the ladder, a verification, an examination."""

from __future__ import annotations  # the types of one command are not imported for another

import itertools
import re
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING

import numpy as np

from .terminal import Screen, Text, printable, shorten

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from numpy.typing import NDArray

    from .backends.availability import Availability
    from .doctor import Examination, Finding
    from .inference import Answer, Answered, OpenLadder, OpenRung, Outcome
    from .measure.environment import Cache, Environment
    from .training import TrainResult
    from .verify import Verification

_MARGIN = "  "
_NOTABLE = 0.01  # a probability that a short answer shows
_MOST_DIGITS = 3  # of a short answer
_WIDEST_BAR = 50
_LINK = len("libcudart")


@dataclass(frozen=True)
class AnswerPrinter:
    """Prints the answers of one call: each image as it comes, and at last what a call takes."""

    screen: Screen
    images: Sequence[str]
    show: bool  # whether to draw what the network saw

    def answer(self, answered: Answered) -> Iterator[str]:
        """One image: in full where it is the only one or is shown, else in short."""
        if self.show or len(self.images) == 1:
            return _answer_in_full(self.screen, answered, show=self.show)
        return _answer_in_short(self.screen, answered, self.images)

    def times(self, rungs: Sequence[OpenRung], outcomes: Sequence[Outcome]) -> Iterator[str]:
        """A sentence for one rung, a table of several."""
        answers = [one for outcome in outcomes for one in getattr(outcome, "answers", ())]
        if not answers:
            return
        if not self.show and len(self.images) > 1:
            yield ""
        if len(rungs) == 1:
            yield _timing(self.screen, rungs[0])
        else:
            yield from _comparison(self.screen, rungs, answers)


def passed_over(opened: OpenLadder) -> str | None:
    """Which rungs were wanted and do not run."""
    return not_at_hand(opened.passed_over) if opened.passed_over else None


def not_at_hand(names: Collection[str]) -> str:
    """One line for rungs that nobody named; a rung stands for its variants."""
    usual = {name: re.sub(":[^@]*", "", name) for name in names}
    rungs = [name for name in names if usual[name] not in names or usual[name] == name]
    return f"not at hand: {', '.join(rungs)}; `lenet-bench doctor` says what brings them"


def ladder(screen: Screen, found: Sequence[Availability]) -> Iterator[str]:
    """The rungs from silicon to Keras: what each is, what it calls, and whether it runs here."""
    width = max(len(rung.name) for rung in found)
    indent = " " * (width + 4 + 5)
    for rung in found:
        lines = [*_wrapped(screen, rung.summary, len(indent))]
        if ":" not in rung.name:
            lines += _wrapped(screen, f"calls {rung.calls}", len(indent), "dim")
        if rung.reason:
            lines += _why_not(screen, rung.reason, len(indent))
        name = screen.paint(rung.name.ljust(width), "bold")
        device = screen.paint(rung.device.ljust(4), "dim")
        yield f"{_mark(screen, rung.available)} {name}  {device} {lines[0]}"
        yield from (indent + line for line in lines[1:])


def examination(screen: Screen, found: Examination) -> Iterator[str]:
    """The machine, the software, the files and the ladder, a section each."""
    yield from _section(screen, "Machine", _machine(found.environment))
    yield from _section(screen, "Software", _software(found.environment))
    yield screen.paint("Files", "bold")
    yield from _files(screen, found)
    yield ""
    yield screen.paint("The way to a GPU", "bold")
    for link in found.gpu:
        yield from _finding(screen, link, _link(screen, link), _LINK)
    yield ""
    yield screen.paint("Rungs", "bold")
    width = max(len(rung.name) for rung in found.rungs)
    for rung in found.rungs:
        yield from _finding(screen, rung, _runs(rung), width)
    yield ""
    yield screen.paint(_verdict(found), "green" if found.works else "red")


def verification(screen: Screen, results: Sequence[Verification]) -> Iterator[str]:
    """A line a rung, and then each image that a rung and the reference disagree on."""
    yield f"{results[0].images:,} test images against the float64 reference"
    yield ""
    head = ("rung", "accuracy", "largest difference", "allowed", "disagreements", "")
    rows = [[Text(title, "dim") for title in head]]
    rows += [_verification_row(screen, result) for result in results]
    yield from (_MARGIN + line for line in screen.table(rows, "lrrrrl"))
    for result in results:
        if result.disagreements:
            yield ""
            yield screen.paint(f"{result.backend} and the reference disagree on", "bold")
            yield from _disagreements(screen, result)


def _answer_in_full(screen: Screen, answered: Answered, *, show: bool) -> Iterator[str]:
    """The name and the digit, and the ten probabilities as bars beside what the network saw."""
    first = answered.answers[0]
    name, digit = printable(answered.image), str(first.digit)
    yield f"{screen.paint(name, 'bold')}: {screen.paint(digit, 'bold green')}"
    yield ""
    picture = screen.picture(answered.seen) if show else []
    beside = len(answered.seen[0]) + 3 if show else 0
    bars = _bars(screen, first.probabilities, beside)
    above = max(0, len(picture) - len(bars)) // 2
    bars = [""] * above + bars
    for left, right in itertools.zip_longest(picture, bars, fillvalue=""):
        yield f"{_MARGIN}{left}{'   ' if show else ''}{right}".rstrip()
    yield ""
    yield from _dissent(screen, answered, _MARGIN)


def _answer_in_short(screen: Screen, answered: Answered, images: Sequence[str]) -> Iterator[str]:
    """One line: the name and the digit; more where the network hesitates."""
    width = min(max(map(len, images)), screen.columns // 3)
    name = shorten(printable(answered.image), width, screen.choose("…", "..."))
    probabilities = answered.answers[0].probabilities
    columns = min(_WIDEST_BAR, screen.columns - width - 18)
    for rank, digit in enumerate(np.argsort(-probabilities, kind="stable")[:_MOST_DIGITS]):
        probability = float(probabilities[digit])
        if rank and probability < _NOTABLE:
            break
        bar = _bar(screen, int(digit), probability, columns, best=rank == 0)
        yield f"{_MARGIN}{('' if rank else name).ljust(width)}  {bar}"
    yield from _dissent(screen, answered, _MARGIN + " " * width + "  ")


def training(screen: Screen, result: TrainResult) -> Iterator[str]:
    """What came of a training run, and where it lies."""
    chosen = result.chosen
    facts = {
        "weights": str(result.weights),
        "curve": str(result.curve),
        "epoch": f"{chosen.epoch} of {len(result.history)}, chosen by its validation loss",
        "validation": f"{100 * chosen.validation_accuracy:.2f} % right",
        "test": f"{100 * result.test_accuracy:.2f} % of {result.test_images:,} images right",
    }
    yield from _facts(screen, facts)


def _bars(screen: Screen, probabilities: NDArray[np.float32], beside: int) -> list[str]:
    columns = min(_WIDEST_BAR, screen.columns - beside - 16)
    best = int(probabilities.argmax())
    return [
        _bar(screen, digit, float(probability), columns, best=digit == best)
        for digit, probability in enumerate(probabilities)
    ]


def _bar(screen: Screen, digit: int, probability: float, columns: int, *, best: bool) -> str:
    """A digit, its bar and its probability in per cent."""
    drawn = screen.bar(probability, columns)
    blank = " " * (columns - len(drawn))
    per_cent = f"{100 * probability:6.2f} %"
    if best:
        digit_style, bar_style, number_style = "bold green", "green", "bold"
    else:
        digit_style = number_style = "" if probability >= _NOTABLE else "dim"
        bar_style = "cyan"
    return (
        f"{screen.paint(str(digit), digit_style)}  {screen.paint(drawn, bar_style)}{blank}"
        f" {screen.paint(per_cent, number_style)}"
    )


def _dissent(screen: Screen, answered: Answered, indent: str) -> Iterator[str]:
    """Each rung that does not agree on this image."""
    for answer in answered.answers:
        if not answer.agrees:
            says = f"{answer.backend} says {answer.digit}, {100 * answer.probabilities.max():.2f} %"
            off = f"off by {answer.difference:.1g}" if answer.difference is not None else ""
            yield indent + screen.paint(f"{screen.choose('✗', 'x')} {says} ({off})", "red")


def _timing(screen: Screen, rung: OpenRung) -> str:
    assert rung.timing is not None
    first, steady = _time(screen, rung.timing.first_us), _time(screen, rung.timing.steady_us)
    return f"{_MARGIN}{_who(rung)}: first call {first}, then {screen.paint(steady, 'bold')} a call"


def _comparison(
    screen: Screen, rungs: Sequence[OpenRung], answers: Sequence[Answer]
) -> Iterator[str]:
    """The rungs side by side: whether they agree, and their times."""
    rows = [[Text(t, "dim") for t in ("rung", "answer", "difference", "first call", "steady", "")]]
    of_rungs = [[answer for answer in answers if answer.backend == rung.name] for rung in rungs]
    times = [own[0].timing.steady_us for own in of_rungs]
    bars = screen.bars(times, max(0, min(30, screen.columns - 66)))
    for rung, own, bar in zip(rungs, of_rungs, bars, strict=True):
        rows.append(_comparison_row(screen, rung.name, own, bar))
    yield from (_MARGIN + line for line in screen.table(rows, "lrrrrl"))


def _comparison_row(screen: Screen, name: str, own: Sequence[Answer], bar: str) -> list[Text]:
    timing = own[0].timing
    agreeing = sum(answer.agrees for answer in own)
    if len(own) == 1:
        told = f"{own[0].digit} ({100 * own[0].probabilities.max():.2f} %)"
    else:
        told = f"{agreeing} of {len(own)} agree"
    differences = [answer.difference for answer in own if answer.difference is not None]
    return [
        Text(name, "bold"),
        Text(told, "" if agreeing == len(own) else "red"),
        Text(f"{max(differences):.0e}" if differences else ""),
        Text(_time(screen, timing.first_us)),
        Text(_time(screen, timing.steady_us), "bold"),
        Text(bar, "cyan"),
    ]


def _verification_row(screen: Screen, result: Verification) -> list[Text]:
    verdict = Text(screen.choose("✓", "ok"), "green")
    if not result.passed:
        verdict = Text(screen.choose("✗ too far", "TOO FAR"), "red")
    return [
        Text(result.backend, "bold"),
        Text(f"{100 * result.accuracy:.2f} %"),
        Text(f"{result.max_difference:.1e}", "" if result.passed else "red"),
        Text(f"{result.tolerance:.0e}", "dim"),
        Text(str(len(result.disagreements)), "yellow" if result.disagreements else ""),
        verdict,
    ]


def _disagreements(screen: Screen, result: Verification) -> Iterator[str]:
    rows = [[Text(t, "dim") for t in ("image", "label", "reference", result.backend, "margin")]]
    rows += [
        [
            Text(str(one.index)),
            Text(str(one.label)),
            Text(str(one.reference)),
            Text(str(one.digit)),
            Text(f"{one.margin:.1e}"),
        ]
        for one in result.disagreements
    ]
    yield from (_MARGIN + line for line in screen.table(rows, "rrrrr"))


def _who(rung: OpenRung) -> str:
    """The rung and what it runs on: fused (AVX-512)."""
    described = rung.backend.describe()
    return f"{rung.name} ({described['isa']})" if "isa" in described else rung.name


def _time(screen: Screen, microseconds: float) -> str:
    if microseconds < 1000:
        return f"{microseconds:.1f} {screen.choose('µs', 'us')}"
    if microseconds < 1e6:
        return f"{microseconds / 1000:.2f} ms"
    return f"{microseconds / 1e6:.2f} s"


def _mark(screen: Screen, good: bool) -> str:
    if good:
        return screen.paint(screen.choose("✓", "+"), "green")
    return screen.paint(screen.choose("✗", "-"), "red")


def _wrapped(screen: Screen, text: str, indent: int, style: str = "") -> list[str]:
    """The text in lines that leave room for the indent; a command or a path is never broken."""
    columns = screen.columns - indent - 1
    lines = wrap(text, columns, break_long_words=False, break_on_hyphens=False) or [""]
    return [screen.paint(line, style) for line in lines]


def _section(screen: Screen, title: str, facts: dict[str, str]) -> Iterator[str]:
    yield screen.paint(title, "bold")
    yield from _facts(screen, facts)
    yield ""


def _facts(screen: Screen, facts: dict[str, str]) -> Iterator[str]:
    width = max(len(name) for name in facts)
    for name, fact in facts.items():
        first, *others = _wrapped(screen, fact, width + 4)
        yield f"{_MARGIN}{screen.paint(name.ljust(width), 'dim')}  {first}"
        yield from (" " * (width + 4) + line for line in others)


def _why_not(screen: Screen, reason: str, indent: int) -> list[str]:
    """The reason in red, and the command that mends it on a line of its own, to be copied."""
    sentence, mend_it_with, command = reason.partition("mend it with: ")
    sentence = re.sub(",$", ":", sentence.rstrip("; "))  # "...; if it is damaged, mend it with: "
    lines = _wrapped(screen, sentence, indent, "red")
    return [*lines, screen.paint(command, "bold")] if mend_it_with else lines


def _machine(environment: Environment) -> dict[str, str]:
    cpu = environment.processor
    facts = {
        "processor": f"{cpu.model or 'unknown'} ({cpu.architecture})",
        "CPUs": _cpus(environment),
        "ISA": ", ".join(cpu.isa) or "unknown",
        "caches": ", ".join(map(_cache, cpu.caches)) or "unknown",
        "clock": _clock(environment),
    }
    if environment.memory_bytes:
        facts["memory"] = _size(environment.memory_bytes)
    if environment.load:
        facts["load"] = f"{environment.load[0]:.2f} in the last minute"
    return facts


def _cache(cache: Cache) -> str:
    kind = "" if cache.kind == "unified" else cache.kind[0]  # L1d, L1i, L2
    return f"L{cache.level}{kind} {_size(cache.bytes)}"


def _size(count: int) -> str:
    """Bytes in the largest unit that leaves a whole part."""
    size, units = float(count), iter(("B", "KiB", "MiB", "GiB", "TiB"))
    unit = next(units)
    while size >= 1024:
        size, unit = size / 1024, next(units)
    return f"{size:.3g} {unit}"


def _cpus(environment: Environment) -> str:
    cpu = environment.processor
    told = f"{cpu.cores or cpu.logical} cores, {cpu.logical} logical CPUs"
    if cpu.allowed is not None and cpu.allowed != cpu.logical:
        told += f", {cpu.allowed} of them allowed"
    if cpu.quota is not None:
        told += f", limited to {cpu.quota:g} CPUs' time"
    return told + (", in a virtual machine" if cpu.virtual else "")


def _clock(environment: Environment) -> str:
    cpu = environment.processor
    parts = []
    if cpu.mhz_max:
        parts.append(f"up to {cpu.mhz_max:.0f} MHz")
    if cpu.mhz_now:
        parts.append(f"{cpu.mhz_now:.0f} MHz now")
    parts.append(f"governor {cpu.governor}" if cpu.governor else "governor not told")
    if cpu.turbo is not None:
        parts.append(f"turbo {'on' if cpu.turbo else 'off'}")
    if cpu.time_from:
        parts.append(f"time from {cpu.time_from}")
    return ", ".join(parts)


def _software(environment: Environment) -> dict[str, str]:
    software = environment.software
    system = (software.distribution, f"{software.system} {software.kernel}", software.libc)
    facts = {
        "system": ", ".join(part for part in system if part),
        "Python": f"{software.python} ({software.python_compiler})",
        "packages": ", ".join(f"{name} {version}" for name, version in software.packages.items()),
    }
    if software.variables:
        facts["settings"] = ", ".join(f"{n}={value}" for n, value in software.variables.items())
    return facts


def _files(screen: Screen, found: Examination) -> Iterator[str]:
    weights, mnist = found.weights.details, found.mnist.details
    told = f"sha256 {weights.get('sha256', '')[:12]}{screen.choose('…', '...')}"
    if accuracy := weights.get("test_accuracy"):
        told += f", {100 * float(accuracy):.2f} % of MNIST's test images right when trained"
    yield from _finding(screen, found.weights, told, 7)
    yield from _finding(screen, found.mnist, f"{mnist.get('images', 0):,} test images", 7)


def _finding(screen: Screen, finding: Finding, good_news: str, width: int) -> Iterator[str]:
    """One finding on one line; where it is bad, why and what mends it."""
    if finding.available:
        first, *others = _wrapped(screen, good_news, width + 6)
    else:
        first, *others = _why_not(screen, finding.reason or "", width + 6)
    name = screen.paint(finding.name.ljust(width), "bold")
    yield f"{_MARGIN}{_mark(screen, finding.available)} {name}  {first}".rstrip()
    yield from (" " * (width + 6) + line for line in others)


def _link(screen: Screen, link: Finding) -> str:
    """What was found; of a library also the end of its folder's path."""
    told = str(link.details.get("found", ""))
    folder = str(link.details.get("path", "")).rpartition("/")[0]
    room = screen.columns - _LINK - 6 - len(f"{told} in ") - 1
    return f"{told} in {shorten(folder, room, screen.choose('…', '...'))}" if folder else told


def _runs(rung: Finding) -> str:
    """The library, the instruction set and what was not tried."""
    return ", ".join(rung.details[key] for key in ("library", "isa", "note") if key in rung.details)


def _verdict(found: Examination) -> str:
    running = sum(rung.available for rung in found.rungs)
    if not found.works:
        return "Nothing can be inferred here until the above is mended."
    return f"{running} of {len(found.rungs)} rungs run here."

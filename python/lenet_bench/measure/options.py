"""The options of a comparison, and whether they continue the one saved in a file."""

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from ..between import Between
from ..errors import LenetBenchError, Misuse, ResultError
from ..registry import (
    FLOAT32,
    Device,
    canonical_name,
    find,
    packages_of,
    tolerance,
    with_threads,
    without_threads,
)
from ..registry.environments import interpreter, variables
from ..results import SHARED, Header
from ..results.differences import differing, hardware, settings, versions
from ..subjects.factory import Factory
from ..subjects.lenet import LeNet
from ..subjects.subject import Subject
from .quota import Quota

#: Default length without --budget or --rounds; a run also has the rounds that an interval needs.
DEFAULT_S = 20.0
#: What is asked of some subjects only, and of which.
_FOR = {
    "--batch": "LeNet and a model that a framework calls",
    "why": "LeNet, the networks of --network and a model that a framework calls",
}
#: Read to make caches cold; the caches of most processors are smaller.
COLD_MB = 64


@dataclass(frozen=True)
class Entry:
    """A backend to compare: one of the registry, or a factory from elsewhere.

    A `factory` is "module:callable", called as callable(weights, threads=n) in the process that is
    timed, with `path` in front of its import path.
    """

    name: str
    factory: str | None = None
    path: tuple[str, ...] = ()
    tolerance: float = FLOAT32
    python: str = sys.executable
    variables: Mapping[str, str] = field(default_factory=dict)  # what its API reads when imported
    checked: bool = True  # only floors are not
    device: Device = "cpu"  # where it computes
    threads: int | None = None  # without a number, that of the run
    is_shared: bool = False  # whether several threads may call one network at once

    @classmethod
    def of_backend(cls, name: str, threads: int, *, hide_output: bool = True) -> "Entry":
        backend, variant = find(name)
        return cls(
            canonical_name(name),
            tolerance=tolerance(name),
            python=interpreter(backend),
            variables=variables(backend, threads, hide_output=hide_output),
            device=backend.device,
            is_shared=backend.is_shared(variant),
        )

    @property
    def backend(self) -> str:
        """Its name in the registry, which the number of threads follows in some runs."""
        return without_threads(self.name)

    def made_by(self, subject: Subject) -> Subject:
        """What its process builds."""
        if not self.factory:
            return subject
        return Factory(subject.file if isinstance(subject, LeNet) else "", self.factory)


@dataclass(frozen=True)
class CompareOptions:
    """What to compare, how long, and where to save the result. Without `backends`, all of them."""

    backends: tuple[str | Entry, ...] = ()
    baseline: str | None = None  # without one, onednn, else the fastest
    #: 0: as many as each API takes by itself; several: a row each.
    threads: int | tuple[int, ...] = 1
    cores: int | None = None  # without a number, one a thread, or every one for 0 threads
    budget_s: float | None = None  # of the whole run, first starts included
    began_s: float | None = None  # when it began, by time.monotonic, where that was before
    rounds: int | None = None
    least_rounds: int = 0  # completed whatever the budget
    until_decided: bool = False  # ends when each verdict is certain, and when the budget ends
    margin: float = 0.02  # two backends that differ by less are the same
    seed: int | None = None  # without one, a new one; it is in the result
    timeout_s: float = 120.0  # for one answer of a backend's process
    interval_s: float | None = None  # from the beginning of one call to that of the next
    deadline_s: float | None = None  # of these calls; without one, the interval
    keep_warm_s: float | None = None  # before each of these the API is called for so long
    beside: int = 0  # other processes, each of which keeps a core busy
    cold: bool = False  # read COLD_MB before each call
    batches: tuple[int, ...] = ()  # sizes to measure throughput for, after the single calls
    quota: float | None = None  # cores' worth of CPU time, as a container has
    callers: tuple[int, ...] = ()  # that call at once, after the single calls
    callers_in: Literal["threads", "processes"] = "threads"  # of one process, or one each
    breakdown: bool = False  # take each call apart too, as `why` does
    subject: Subject = field(default_factory=LeNet)  # what is measured
    output: str | os.PathLike[str] | None = None  # a file with the same run is continued
    device: Device | None = None  # without `backends`, only those that run there: torch@gpu
    hide_output: bool = True  # frameworks are asked to log little
    argv: tuple[str, ...] = field(default_factory=lambda: tuple(sys.argv))

    @property
    def numbers(self) -> tuple[int, ...]:
        """The numbers of threads that are compared; mostly one."""
        return self.threads if isinstance(self.threads, tuple) else (self.threads,)

    def entries(self) -> list[Entry]:
        """The backends to compare, with the baseline; LenetBenchError for an unknown name."""
        subject, device = self.subject, self.device
        if isinstance(self.backends, str):
            raise Misuse(f"backends is a tuple of names: ({self.backends!r},)")
        every = subject.taken_apart if self.breakdown else subject.backends
        chosen = list(self.backends or every(device))
        if self.baseline is not None and self.baseline not in map(name_of, chosen):
            chosen.insert(0, self.baseline)
        entries = [entry for one in chosen for entry in self._rows(one)]
        for entry in entries:
            if sum(other.name == entry.name for other in entries) > 1:
                raise Misuse(f"{entry.name} is named twice; name each backend once")
        return entries

    def _rows(self, backend: str | Entry) -> Iterator[Entry]:
        """Its row, or one for each number of threads."""
        for threads in self.numbers:
            entry = backend if isinstance(backend, Entry) else self.entry(backend, threads)
            if len(self.numbers) > 1:
                name = with_threads(entry.name, threads)
                entry = replace(entry, name=name, threads=threads)
            yield entry

    def entry(self, name: str, threads: int | None = None) -> Entry:
        threads = max(self.numbers) if threads is None else threads
        return Entry.of_backend(name, threads, hide_output=self.hide_output)

    @property
    def keeps_all(self) -> bool:
        """Whether calls count whatever disturbs them: it is what is measured."""
        return bool(self.beside or self.quota)

    @property
    def between(self) -> Between:
        return Between(self.interval_s, self.keep_warm_s, COLD_MB if self.cold else None)

    def check(self) -> None:
        """Raise Misuse for an impossible figure, or what the subject lacks."""
        subject = self.subject
        subject.check()
        for asked, given in {"--batch": self.batches, "why": self.breakdown}.items():
            if given and asked in subject.lacks:
                raise Misuse(
                    f"{asked} is for {_FOR[asked]}, not for {subject.label}{subject.instead(asked)}"
                )
        if self.breakdown and len(self.numbers) > 1:
            raise Misuse("why takes one number of threads; to compare several: compare")
        if self.until_decided and len(self.entries()) < 2:
            raise Misuse("--until decided compares, so it needs two backends or more")
        positive = {
            "a number of threads": min(self.numbers) or None,
            "a number of cores": self.cores,
            "a number of busy processes": self.beside or None,
            "a budget": self.budget_s,
            "a number of rounds": self.rounds,
            "a margin": self.margin,
            "a timeout": self.timeout_s,
            "an interval": self.interval_s,
            "a deadline": self.deadline_s,
            "a time to keep warm": self.keep_warm_s,
            "a quota": self.quota,
            "a batch": min(self.batches, default=None),
            "a number of callers": min(self.callers, default=None),
        }
        paced = {"--deadline": self.deadline_s, "--keep-warm": self.keep_warm_s}
        if not self.interval_s and (name := next((one for one in paced if paced[one]), None)):
            raise Misuse(f"{name} is for calls with an --interval")
        for name, value in positive.items():
            if value is not None and not value > 0:
                raise Misuse(f"expected {name} above 0, got {value:g}")
        if self.interval_s and (self.keep_warm_s or 0) >= self.interval_s:
            raise Misuse("--keep-warm must be shorter than the --interval")
        if self.callers and (self.beside or any(vars(self.between).values())):
            raise Misuse(
                "--callers call again at once and with nothing beside them: leave out --interval, "
                "--cold and --beside"
            )
        if self.quota:
            if self.callers or self.batches:
                raise Misuse("--quota is for single calls: leave out --callers and --batch")
            Quota(self.quota).close()  # whether it can be made here


def name_of(backend: str | Entry) -> str:
    return backend.name if isinstance(backend, Entry) else backend


def as_before(options: CompareOptions, earlier: Header) -> CompareOptions:
    """These options with the backends, the baseline, the seed and the deadline of the file's run.

    Raises ResultError where they ask for another comparison.
    """
    if earlier.kind == SHARED:
        raise ResultError(
            f"{options.output} is a shared result without all calls, so it cannot be continued: "
            "give another --output"
        )
    compared = tuple(dict.fromkeys(without_threads(one.name) for one in earlier.backends))
    named = set(map(name_of, options.backends))
    if options.baseline:
        named.add(options.baseline)
    if options.backends and named != set(compared):
        raise ResultError(
            f"{options.output} is a comparison of {', '.join(compared)}: to continue it, name the "
            "same backends or none; or give another --output"
        )
    entries = {name_of(one): one for one in options.backends}
    rules = earlier.rules
    baseline = rules.baseline and without_threads(rules.baseline)
    return replace(
        options,
        backends=tuple(entries.get(name, name) for name in compared),
        baseline=baseline if options.baseline is None else options.baseline,
        seed=rules.seed if options.seed is None else options.seed,
        deadline_s=options.deadline_s or rules.deadline_s or None,
    )


def check_same(earlier: Header, now: Header, path: str | os.PathLike[str] | None) -> None:
    """Raise ResultError where the settings, the machine, the versions or the weights differ."""
    changed = [
        *differing(*_versions(earlier, now)),
        *differing(_settings(earlier), _settings(now)),
        *differing(hardware(earlier.machine), hardware(now.machine)),
    ]
    if changed:
        one = changed[0]
        raise ResultError(
            f"{path} was measured with other settings ({one.what}: {one.old}, now {one.new}): "
            "give another --output"
        )


def _versions(*headers: Header) -> Iterator[Mapping[str, Any]]:
    """Of this program, Python, NumPy and the backends' packages, as far as all have them."""
    used = {"lenet-bench", "python", "numpy"}
    for one in headers[0].backends:
        with suppress(LenetBenchError):  # no backend of ours
            used |= packages_of(without_threads(one.name))
    used.update(name for name in versions(headers[0]) if " of " in name)  # those of environments
    names = sorted(used.intersection(*map(versions, headers)))
    for found in map(versions, headers):
        yield {f"version of {name}": found[name] for name in names}


def _settings(header: Header) -> Mapping[str, Any]:
    rules = header.rules
    return {
        **settings(header),
        "baseline": rules.baseline,
        "seed": rules.seed,
        "margin": rules.margin,
        "confidence": rules.confidence,
        "batches": rules.batches,
        "calls taken apart": rules.apart,
        "deadline, s": rules.deadline_s or None,
    }

"""The gain from more threads, larger batches and more devices on the same host."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from statistics import fmean, median

from .machines import Measured

KINDS = ("threads", "images a call", "devices")


@dataclass(frozen=True)
class Gain:
    """A backend's gain: images per second with so many threads relative to one."""

    kind: str  # one of KINDS
    backend: str
    count: int  # of threads, images or devices
    gain: float
    host: str

    @property
    def efficiency(self) -> float:
        """1 where twice as many are twice as fast."""
        return self.gain / self.count


@dataclass(frozen=True)
class Usual:
    """The same, over all hosts that measured it."""

    kind: str
    backend: str
    count: int
    gain: float  # the median host's
    low: float
    high: float
    hosts: int


def gains(machines: Sequence[Measured]) -> list[Gain]:
    """All gains in these results; those of a host are in one folder."""
    hosts: dict[tuple[object, ...], list[Measured]] = {}
    for one in sorted(machines, key=lambda one: one.started):
        hosts.setdefault(_host(one), []).append(one)
    return [gain for own in hosts.values() for gain in _of_a_host(own)]


def usual(found: Iterable[Gain]) -> list[Usual]:
    """In the order of their numbers."""
    alike: dict[tuple[str, str, int], list[float]] = {}
    for one in found:
        alike.setdefault((one.kind, one.backend, one.count), []).append(one.gain)
    return [
        Usual(*what, median(many), min(many), max(many), len(many))
        for what, many in sorted(alike.items())
    ]


def missing(machines: Sequence[Measured], found: Sequence[Gain]) -> Iterator[str]:
    """Sentences on what these results lack, and how to measure it."""
    there = {one.kind for one in found}
    if "threads" not in there:
        yield "No host was measured with one thread and with more: `compare --threads 2`."
    if "images a call" not in there:
        yield "No result has batches: `compare --batch 1,8,64,512`."
    if "devices" not in there:
        yield "No host was measured with one device and with several at once: bench/fleet."
    for own in _together(machines).values():
        if len(own) % own[0].at_once:
            said = f"{len(own)} of {own[0].at_once} devices that ran at once gave a result"
            yield f"{PurePath(own[0].source).parent.name}: {said}, so they are left out."


def _host(one: Measured) -> tuple[object, ...]:
    cpu = one.processor
    known = (cpu.model, cpu.architecture, cpu.logical, one.memory_bytes, one.version)
    return (str(PurePath(one.source).parent), *known)


def _together(machines: Iterable[Measured]) -> dict[tuple[object, ...], list[Measured]]:
    """Results of the same runs at once, each of one device."""
    found: dict[tuple[object, ...], list[Measured]] = {}
    for one in machines:
        if one.at_once > 1:
            found.setdefault((_host(one), one.threads, one.at_once), []).append(one)
    return found


def _of_a_host(own: Sequence[Measured]) -> Iterator[Gain]:
    host = PurePath(own[0].source).parent.name
    alone = [one for one in own if one.at_once == 1]
    first = {name: one for one in alone if one.threads == 1 for name in one.times}  # the last run
    for one in alone:
        for name, found in one.times.items():
            if one.threads > 1 and name in first:
                gain = first[name].times[name].us / found.us
                yield Gain("threads", name, one.threads, gain, host)
    for name, one in first.items():
        rates = one.times[name].rates
        yield from (
            Gain("images a call", name, size, rate / rates[1], host)
            for size, rate in rates.items()
            if size > 1
        )
    for runs in _together(own).values():
        if len(runs) % runs[0].at_once == 0:
            yield from _of_devices(runs, alone, host)


def _of_devices(runs: Sequence[Measured], alone: Sequence[Measured], host: str) -> Iterator[Gain]:
    """Images per second of all devices relative to one, each at its best batch size."""
    for name in runs[0].times:
        one = [m.times[name] for m in alone if m.threads == runs[0].threads and name in m.times]
        if one and all(name in run.times for run in runs):
            rate = fmean(max(run.times[name].rates.values()) for run in runs)
            gain = runs[0].at_once * rate / max(one[-1].rates.values())
            yield Gain("devices", name, runs[0].at_once, gain, host)

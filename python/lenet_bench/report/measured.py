"""Several results as one: what is drawn together, and what a colour stands for.

A series is what one result measured on one kind of device. A rung that ran on both, or in two
results, is one row with an entry for each.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..backends import find
from ..cost import lines_of_code
from ..errors import LenetBenchError, ResultError
from ..results import Result, RungResult, Summary
from .sentences import machine_name

MOST_SERIES = 8  # that colours and shapes tell apart
_LONGEST_LABEL = 36


@dataclass(frozen=True)
class Run:
    """A result and what it is called here."""

    label: str
    source: str  # its file
    result: Result


@dataclass(frozen=True)
class Series:
    """What a colour and a shape stand for."""

    number: int
    label: str
    run: Run
    device: str  # cpu or gpu


@dataclass(frozen=True)
class Entry:
    """A rung that was timed, in one series."""

    name: str  # without the device: the series tells it
    series: Series
    rung: RungResult
    summary: Summary

    @property
    def exhibit(self) -> str:
        """The rung without its variant: what has the source."""
        try:
            return find(self.name)[0].name
        except LenetBenchError:  # of another version's ladder
            return self.name.partition(":")[0]

    @property
    def lines_of_code(self) -> int | None:
        """When it was measured; where an older result does not tell, now."""
        return self.rung.lines_of_code or lines_of_code(self.name)

    @cached_property
    def samples_us(self) -> NDArray[np.float64]:
        """Every timed call."""
        return np.concatenate([turn.samples_ns for turn in self.rung.turns]) / 1000

    @property
    def where(self) -> str:
        """Its series, by name."""
        return self.series.label or self.series.run.label

    @property
    def spoken(self) -> str:
        """Its name and, where that is not clear, which one."""
        return f"{self.name} ({self.series.label})" if self.series.label else self.name


Row = tuple[Entry, ...]  # of one name


@dataclass(frozen=True)
class Measured:
    """All that is drawn."""

    runs: tuple[Run, ...]
    series: tuple[Series, ...]
    entries: tuple[Entry, ...]

    def rows(self, entries: Sequence[Entry] | None = None) -> list[Row]:
        """Entries of one name together, in the order in which names first come."""
        rows: dict[str, list[Entry]] = {}
        for entry in self.entries if entries is None else entries:
            rows.setdefault(entry.name, []).append(entry)
        return [tuple(sorted(row, key=lambda e: e.series.number)) for row in rows.values()]


def gather(results: Sequence[tuple[str, Result]]) -> Measured:
    """Results with their files' names, as they are drawn together: the fastest rung first."""
    runs = tuple(_runs(results))
    found = [(run, device) for run in runs for device in _devices(run.result)]
    if len(found) > MOST_SERIES:
        raise ResultError(
            f"expected results of at most {MOST_SERIES} machines and devices in one report, got "
            f"{len(found)}; give fewer files"
        )
    series = tuple(
        Series(number, _series_label(run, device, found), run, device)
        for number, (run, device) in enumerate(found)
    )
    entries = [
        Entry(_without_device(rung.name), one, rung, rung.summary)
        for one in series
        for rung in one.run.result.rungs
        if rung.status == "ok" and rung.summary and rung.turns and rung.device == one.device
    ]
    if not entries:
        names = ", ".join(source for source, _ in results)
        raise ResultError(
            f"{names}: no rung was timed, so there is nothing to draw; see why with: "
            f"lenet-bench report {names}"
        )
    return Measured(runs, series, tuple(sorted(entries, key=_p50)))


def _p50(entry: Entry) -> float:
    return entry.summary.p50_us or float("inf")


def _devices(result: Result) -> list[str]:
    """Those that something was timed on, the CPU first; the CPU where nothing was."""
    return sorted({rung.device for rung in result.rungs if rung.summary}) or ["cpu"]


def _without_device(name: str) -> str:
    return re.sub(r"@\w+$", "", name)


def _runs(results: Sequence[tuple[str, Result]]) -> list[Run]:
    labels = [_machine(result) for _, result in results]
    if len(set(labels)) < len(labels):
        stems = [re.sub(r"\.json$", "", re.split(r"[\\/]", source)[-1]) for source, _ in results]
        labels = stems if len(set(stems)) == len(stems) else [source for source, _ in results]
    if len(set(labels)) < len(labels):
        raise ResultError(f"{results[0][0]}: given twice; give each result once")
    pairs = zip(labels, results, strict=True)
    return [Run(_cut(label), source, result) for label, (source, result) in pairs]


def _machine(result: Result) -> str:
    brief = re.sub(r"\((R|TM)\)|\bCPU\b|@.*", "", machine_name(result))
    return " ".join(brief.split())


def _series_label(run: Run, device: str, found: Sequence[tuple[Run, str]]) -> str:
    if len(found) == 1:
        return ""
    both = sum(other is run for other, _ in found) > 1
    if not both:
        return run.label
    alone = len({id(other) for other, _ in found}) == 1
    gpu = next((r.gpu.name for r in run.result.rungs if r.gpu and r.device == device), "")
    told = device.upper() if not (gpu and device == "gpu") else gpu
    return told if alone else f"{run.label}, {told}"


def _cut(label: str) -> str:
    return label if len(label) <= _LONGEST_LABEL else label[: _LONGEST_LABEL - 1] + "…"

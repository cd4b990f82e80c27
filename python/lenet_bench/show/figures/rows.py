"""A result as plain rows for templates and figures, which do not use Result otherwise."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import median
from typing import Any

import numpy as np

from ... import units
from ...registry import precision
from ...results import Breakdown, Result, Row, breakdowns
from ...results.breakdown import has_experiments
from ...results.statistics import FEWEST_STARTS
from ..sentences import family, processor

Record = dict[str, Any]  # a row of a table or a figure, by its columns

COLD = ("process", "import", "weights", "build", "first")  # the way to the first answer
GPU_CALL = ("copy in", "kernels", "copy out", "host")  # a profiled call
_DRAWN = (
    "name",
    "backend",
    "family",
    "where",
    "lines",
    "us",
    "minimum",
    "p99",
    "p999",
    "slowest",
    "memory",
    "disk",
    "device_memory",
    *COLD,
    *GPU_CALL,
)


#: Names that every object has in JavaScript, where Vega groups rows by name in a plain object.
_OF_OBJECTS = re.compile(
    "constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|to(Locale)?String|valueOf|__\\w+__"
)


def named(one: Row | Breakdown) -> str:
    """The backend's name in figures and pages: with a space behind a name that objects have."""
    return f"{one.name}\u00a0" if _OF_OBJECTS.fullmatch(one.name) else one.name


@dataclass(frozen=True)
class Run:
    """One result: its name on the page, its file and its rows."""

    label: str
    source: str
    result: Result
    rows: list[Record]  # of the backends that were timed in float32, the fastest first
    reduced: list[Record]  # of those that compute in less

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings about the file and about the run."""
        return (*self.result.notes, *self.result.warnings)

    @cached_property
    def breakdowns(self) -> list[Breakdown]:
        """The calls that were taken apart, the fastest first."""
        found = [one for one in breakdowns(self.result) if one.parts]
        return sorted(found, key=lambda one: one.median_us or 0.0)


def as_runs(results: Sequence[tuple[str, Result]]) -> list[Run]:
    """Results with their files' names; two of one machine are distinguished by their files."""
    labels = [machine(result) for _, result in results]
    if len(set(labels)) < len(labels):
        labels = [
            re.sub(r"\.jsonl?(\.gz)?$", "", re.split(r"[\\/]", name)[-1]) for name, _ in results
        ]
    return [_run(label, *one) for label, one in zip(labels, results, strict=True)]


def compared(runs: Sequence[Run]) -> list[Run]:
    """The results that are comparisons; all where there are only runs of `why`."""
    return [run for run in runs if not has_experiments(run.result)] or list(runs)


def _run(label: str, source: str, result: Result) -> Run:
    timed = [one for one in result.backends if one.status == "ok" and one.blocks]
    baseline = next((one for one in timed if _verdict(one) == "baseline"), None)
    rows = [
        {"where": label, **_identity(one), **_times(one, baseline), **_takes(one)} for one in timed
    ]
    rows.sort(key=lambda row: row["us"])
    full = [row for row in rows if row["precision"] == "float32"]
    reduced = [row for row in rows if full and row not in full]
    return Run(label, source, result, full or rows, reduced)


def machine(result: Result) -> str:
    """The processor, in brief."""
    return brief(processor(result.machine))


def brief(model: str) -> str:
    """A processor's name without filler words."""
    return " ".join(re.sub(r"\((R|TM)\)|\bCPU\b|@.*", "", model).split())[:40]


def _identity(one: Row) -> Record:
    base, _, variant = named(one).partition(":")
    variant, _, device = variant.partition("@")
    return {
        "name": named(one),
        "backend": base + (f"@{device}" if device else ""),
        "variant": variant,
        "family": family(one.name),
        "device": one.device.upper(),
        "precision": precision(one.name),
        "off": one.difference,
        "lines": one.lines_of_code,
    }


def _times(one: Row, baseline: Row | None) -> Record:
    """Times in microseconds; with few calls, a median but no high percentiles."""
    s = one.summary
    calls_ns = np.concatenate([block.calls_ns for block in one.blocks])
    us = _median_us(one)
    ranked = s is not None and s.starts >= FEWEST_STARTS
    verdict = _verdict(one)
    return {
        "us": us,
        "low": s.p50_low_us if s and ranked else None,
        "high": s.p50_high_us if s and ranked else None,
        "minimum": float(calls_ns.min()) / 1000,
        "mean": float(calls_ns.mean()) / 1000,
        "p90": s and s.p90_us,
        "p95": s and s.p95_us,
        "p99": s and s.p99_us,
        "p999": s and s.p999_us,
        "slowest": float(calls_ns.max()) / 1000,
        "calls": len(calls_ns),
        "starts": len(one.cold_starts),
        "ratio": us / _median_us(baseline) if baseline else None,
        "ratio_low": s.ratio_low if s and ranked and verdict != "baseline" else None,
        "ratio_high": s.ratio_high if s and ranked and verdict != "baseline" else None,
        "verdict": verdict,
        "cpu": median(block.cpu_ns / (block.made or block.calls) for block in one.blocks) / 1000,
    }


def _median_us(one: Row) -> float:
    if one.summary and one.summary.p50_us:
        return one.summary.p50_us
    return float(np.median(np.concatenate([block.calls_ns for block in one.blocks]))) / 1000


def _verdict(one: Row) -> str | None:
    return one.summary.verdict if one.summary else None


def _takes(one: Row) -> Record:
    """Cold start, memory, disk, throughput, and use of a GPU."""
    starts, resources, gpu = one.cold_starts, one.resources, one.gpu
    rates = {1: 1e6 / _median_us(one)} if one.batches else {}
    rates |= {batch.size: batch.images_per_s for batch in one.batches if batch.samples_ns}
    parts = {part: median(getattr(s, f"{part}_s") for s in starts) for part in COLD if starts}
    return {
        **parts,
        "cold": one.cold_start_s,
        "memory": resources and resources.peak_rss_mib,
        "threads": resources and resources.threads_running,
        "disk": one.installed_mib,
        "rates": dict(sorted(rates.items())),
        "rate": max(rates.values(), default=None),
        "device_memory": gpu and gpu.memory_mib,
        "energy": gpu and gpu.energy_mj,
        **_gpu_call(dict((gpu and gpu.profile_us) or {})),
    }


def _gpu_call(profile: dict[str, float]) -> Record:
    if not profile:
        return {}
    parts = [profile.get(name, 0.0) for name in ("h2d_us", "kernels_us", "d2h_us")]
    parts.append(max(0.0, profile.get("total_us", 0.0) - sum(parts)))
    return {**dict(zip(GPU_CALL, parts, strict=True)), "enqueue": profile.get("enqueue_us")}


def small(rows: Sequence[Record], story: Sequence[Record]) -> list[Record]:
    """The figures' fields of the rows, rounded; rows of the story are marked."""
    named = {row["name"] for row in story}
    return [_drawn(row) | ({"story": True} if row["name"] in named else {}) for row in rows]


def _drawn(row: Record) -> Record:
    short = rounded({key: row[key] for key in _DRAWN if row.get(key) is not None})
    short["time"] = units.time(row["us"])
    if row["rates"]:
        short["sizes"] = list(row["rates"])
        short["rates"] = [_rounded(rate) for rate in row["rates"].values()]
    return short


def rounded(row: Record) -> Record:
    """Numbers rounded to four digits, more than a figure shows."""
    return {key: _rounded(value) for key, value in row.items()}


def _rounded(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value

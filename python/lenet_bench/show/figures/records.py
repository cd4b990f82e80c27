"""A result as plain records, one a backend: what `--json` has of it, and its place in figures."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ... import units
from ...network import LENET
from ...registry import precision, without_threads
from ...results import BackendResult, Breakdown, Result, breakdowns, rows
from ...results.breakdown import has_experiments
from ..sentences import family, processor

Record = dict[str, Any]  # a row of a table or a figure, by its columns

_DRAWN = ("name", "backend", "family", "p50_us", "lines_of_code")
#: Names that every object has in JavaScript, where Vega groups rows by name in a plain object.
_OF_OBJECTS = re.compile(
    "constructor|hasOwnProperty|isPrototypeOf|propertyIsEnumerable|to(Locale)?String|valueOf|__\\w+__"
)


def named(one: BackendResult | Breakdown) -> str:
    """The backend's name in figures and pages: with a space behind a name that objects have."""
    return f"{one.name}\u00a0" if _OF_OBJECTS.fullmatch(one.name) else one.name


@dataclass(frozen=True)
class Run:
    """One result: its file, and the records of what figures and tables show."""

    source: str
    result: Result
    rows: list[Record]  # of the backends that were timed in float32, the fastest first
    reduced: list[Record]  # of those that compute in less

    @property
    def label(self) -> str:
        """The processor, in brief."""
        return brief(processor(self.result.machine))

    @property
    def taken(self) -> str:
        """What a call takes: an image, or an input of another network than LeNet."""
        return "image" if self.result.rules.network == LENET else "input"

    @property
    def has_experiments(self) -> bool:
        """Whether it is a run of `why`."""
        return has_experiments(self.result)

    @cached_property
    def _in_why(self) -> list[Breakdown]:
        return breakdowns(self.result) if self.has_experiments else []

    @cached_property
    def breakdowns(self) -> list[Breakdown]:
        """The calls that were taken apart, the fastest first."""
        found = [one for one in self._in_why if one.parts]
        return sorted(found, key=lambda one: one.median_us or 0.0)

    @property
    def not_taken_apart(self) -> list[Breakdown]:
        """The calls of a run of `why` that were timed only."""
        return [one for one in self._in_why if one.median_us and one.reason]


def as_run(source: str, result: Result) -> Run:
    timed = [row for row in records(result) if row["p50_us"] is not None]
    full = [row for row in timed if row["precision"] == "float32"]
    reduced = [row for row in timed if full and row not in full]
    return Run(source, result, full or timed, reduced)


def records(result: Result) -> list[Record]:
    """The backends that were timed, the fastest first; those without a median come last."""
    pairs = zip(result.backends, rows(result), strict=True)
    found = [_record(one, plain) for one, plain in pairs if one.status == "ok" and one.summary]
    return sorted(found, key=lambda row: row["p50_us"] or float("inf"))


def _record(one: BackendResult, plain: Record) -> Record:
    name, _, version = without_threads(named(one)).partition("==")
    base, _, variant = name.partition(":")
    base += f"=={version}" if version else ""
    variant, _, device = variant.partition("@")
    known, verdict = plain["p50_us"] is not None, plain["verdict"]
    rates = {batch.size: batch.images_per_s for batch in one.batches if batch.samples_ns}
    if rates and known:
        rates.setdefault(1, 1e6 / plain["p50_us"])
    record = {
        **plain,
        "name": named(one),
        "backend": base + (f"@{device}" if device else ""),
        "variant": variant,
        "family": family(one.name),
        "device": one.device.upper(),
        "precision": precision(one.name),
        "gpu_mib": one.gpu and one.gpu.memory_mib,
        "rates": dict(sorted(rates.items())),
        "images_per_s": max(rates.values(), default=None),
        **{f"rate-{size}": rate for size, rate in rates.items()},
    }
    if not known:  # a ratio only beside its median
        record |= {"ratio": None, "verdict": None}
    if not known or verdict == "baseline":
        record |= {"ratio_low": None, "ratio_high": None}
    return record


def brief(model: str) -> str:
    """A processor's name without filler words."""
    return " ".join(re.sub(r"\((R|TM)\)|\bCPU\b|@.*", "", model).split())[:40]


def small(rows: Sequence[Record], story: Sequence[Record]) -> list[Record]:
    """The figures' fields of the rows, rounded; rows of the story are marked."""
    in_story = {row["name"] for row in story}
    return [_drawn(row) | ({"story": True} if row["name"] in in_story else {}) for row in rows]


def _drawn(row: Record) -> Record:
    short = rounded({key: row[key] for key in _DRAWN if row.get(key) is not None})
    return short | {"time": units.time(row["p50_us"])}


def rounded(row: Record) -> Record:
    """Numbers rounded to four digits, more than a figure shows."""
    return {key: _rounded(value) for key, value in row.items()}


def _rounded(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) else value

"""Versions of an API side by side: a table, and in sentences whether the upgrade made it slower."""

import re
from collections.abc import Iterator, Mapping
from statistics import median

from .. import units
from ..registry import AGAIN, without_version
from ..results import BackendResult, Result, start_medians_us
from ..results.statistics import UNBOUNDED, Interval, judge, ratio_interval
from .columns import Quantity
from .figures.records import Record

_SHORT_S = 0.02  # an import of which nothing is said: NumPy is there before

COLUMNS = (
    Quantity("a call", "call_us", units.time, "the median call", leaves=0),
    Quantity("ratio", "ratio", units.ratio, "to the oldest version", leaves=0),
    Quantity("95 % interval", "low", units.interval, "of the ratio", "high", leaves=3),
    Quantity("verdict", "verdict", str, "what the interval says", leaves=1),
    Quantity("import", "import_s", units.seconds, "the API", leaves=4),
    Quantity("first call", "first_s", units.seconds, "after it was built", leaves=6),
    Quantity("memory", "peak_rss_mib", units.mebibytes, "the peak of the process", leaves=5),
    Quantity("disk", "installed_mib", units.mebibytes, "the packages", leaves=7),
)


def versions(result: Result) -> list[Record]:
    """A row for each version of an API of which several ran, the oldest first."""
    groups: dict[tuple[str, int | None], list[BackendResult]] = {}
    for row in result.backends:
        if row.status == "ok" and row.summary:
            groups.setdefault((without_version(row.name), row.threads), []).append(row)
    found: list[Record] = []
    for rows in groups.values():
        if len(rows) > 1:
            rows.sort(key=lambda row: ([*map(int, re.findall(r"\d+", number(row)))], row.name))
            old = rows[0]
            found += (_beside(row, old, result) for row in rows)
    return found


def number(row: BackendResult) -> str:
    """Its version, as it was asked for, or as what ran said."""
    asked = row.name.partition("==")[2].partition(" ")[0]
    return asked or (row.runs or {}).get("library", "").rpartition(" ")[2]


def slower(result: Result, by: float) -> list[str]:
    """The versions that take longer than the oldest by more than this share, with confidence."""
    return [row["name"] for row in versions(result) if row["oldest"] and (row["low"] or 0) > 1 + by]


def _beside(row: BackendResult, old: BackendResult, result: Result) -> Record:
    seed, margin = result.rules.seed, result.rules.margin
    ratio, low, high = _ratio(start_medians_us(row.blocks), start_medians_us(old.blocks), seed)
    return {
        "name": row.name,
        "api": without_version(row.name),
        "version": number(row),
        "oldest": number(old) if row is not old else None,
        "call_us": row.p50_us,
        "ratio": ratio,
        "low": low,
        "high": high,
        "verdict": "the oldest" if row is old else _verdict(low, high, margin),
        "import_s": row.median_s("import_s"),
        "first_s": row.median_s("first_s"),
        "imports": _ratio(_imports_s(row), _imports_s(old), seed),
        "peak_rss_mib": row.peak_rss_mib,
        "installed_mib": row.installed_mib,
    }


def _ratio(
    new: Mapping[int, float], old: Mapping[int, float], seed: int
) -> tuple[float | None, float | None, float | None]:
    if not (new and old):
        return None, None, None
    low, high = ratio_interval(new, old, seed) or UNBOUNDED
    return median(new.values()) / median(old.values()), low, high


def _verdict(low: float | None, high: float | None, margin: float) -> str:
    if low is None or high is None:
        return "ambiguous"
    return judge(Interval(low, high), margin)


def _imports_s(row: BackendResult) -> dict[int, float]:
    """By round."""
    return {block.round: block.cold_start.import_s for block in row.blocks if block.cold_start}


def said(found: list[Record], margin: float) -> Iterator[str]:
    """A sentence for each newer version beside the oldest."""
    floor: Record = {}
    for row in found:
        if not row["oldest"]:
            floor = {}
            continue
        one, other = f"{row['api']} {row['version']}", row["oldest"]
        takes = f"takes {units.ratio(row['ratio'])} times"
        if row["low"] is None:
            yield f"{one} {takes} as long as {other}, but starts are too few for a verdict."
            continue
        takes += f" ({units.ratio(row['low'])} to {units.ratio(row['high'])})"
        if row["name"].endswith(AGAIN):
            floor = row
            yield f"The floor: {one} in a second environment {takes} as long."
            continue
        if floor and floor["low"] <= row["ratio"] <= floor["high"]:
            call = f"{one} differs from {other} by no more than the floor: it {takes} as long"
        elif row["verdict"] == "same":
            call = f"{one} takes as long as {other}, within {units.percent(margin)}"
        elif row["verdict"] == "ambiguous":
            call = f"{one} cannot be told apart from {other}: it {takes} as long"
        else:
            call = f"{one} {takes} as long as {other}"
        yield f"{call}{_said_of_import(row, margin)}."


def _said_of_import(row: Record, margin: float) -> str:
    """What is certain of it; nothing of a short one."""
    ratio, low, high = row["imports"]
    is_long = (row["import_s"] or 0.0) > _SHORT_S
    if not is_long or _verdict(low, high, margin) in ("same", "ambiguous"):
        return ""
    return f"; its import takes {units.ratio(ratio)} times as long"

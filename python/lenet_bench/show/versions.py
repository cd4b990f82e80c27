"""Versions of an API side by side: a table, and in sentences whether the upgrade made it slower."""

import re
from collections.abc import Iterator, Mapping

from packaging.version import InvalidVersion, Version

from .. import units
from ..registry import AGAIN, with_threads, without_threads, without_version
from ..results import BackendResult, Result
from ..results.statistics import UNBOUNDED, Ratio, judge, paired_ratio, ratio_of
from ..texts import listed
from .columns import Quantity
from .figures.records import Record
from .sentences import family

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
    """A row for each version of an API of which several ran, the oldest first.

    A version in a second environment is compared with the same in the first.
    """
    groups: dict[tuple[str, int | None], list[BackendResult]] = {}
    for row in result.backends:
        if row.status == "ok" and row.summary and _version(row):
            groups.setdefault((without_version(row.name), row.threads), []).append(row)
    found: list[Record] = []
    for rows in groups.values():
        if len(rows) > 1:
            rows.sort(key=lambda row: (Version(_version(row)), row.name))
            first = {_version(row): row for row in reversed(rows)}
            found += (
                _beside(row, first[_version(row)] if _is_again(row) else rows[0], result)
                for row in rows
            )
    return found


def _version(row: BackendResult) -> str:
    """As it was asked for, or the first that what ran said; "" where that is none."""
    asked = without_threads(row.name).partition("==")[2].removesuffix(AGAIN)
    ran = re.findall(r"\d+\.[\w.+]*", (row.runs or {}).get("library", ""))
    version = asked or next(iter(ran), "")
    try:
        Version(version)
    except InvalidVersion:
        return ""
    return version


def _is_again(row: BackendResult) -> bool:
    return without_threads(row.name).endswith(AGAIN)


def uncompared(result: Result) -> list[str]:
    """What runs, of an API that a version is named of, and stands beside no other of it."""
    apis = {without_version(row.name) for row in result.backends if "==" in row.name}
    ran = [row for row in result.backends if row.status == "ok"]
    beside = {row["name"] for row in versions(result)}
    return [r.name for r in ran if without_version(r.name) in apis and r.name not in beside]


def passes(result: Result, by: float) -> bool:
    """Whether all run, and no version takes longer than the oldest by more than this share.

    Without an interval none passes. The floor changes nothing: a noisy one holds any ratio.
    """
    if uncompared(result) or any(row.status != "ok" for row in result.backends):
        return False
    rows = [row for row in versions(result) if row["other"] and not row["is_floor"]]
    return not any(row["low"] is None or row["low"] > 1 + by for row in rows)


def _beside(row: BackendResult, other: BackendResult, result: Result) -> Record:
    margin = result.rules.margin
    confidence = result.rules.confidence
    ratio = ratio_of(row, other, confidence) if row.blocks and other.blocks else None
    imports = _ratio(_imports_s(row), _imports_s(other))
    low, high = ratio.bounds if ratio else UNBOUNDED
    api = without_version(row.name)
    return {
        "name": row.name,
        "family": family(row.name),
        "api": api if row.threads is None else with_threads(api, row.threads),
        "version": _version(row),
        "other": _version(other) if row is not other else None,
        "is_floor": _is_again(row),
        "within": _within_floor(row, ratio, result),
        "call_us": row.p50_us,
        "ratio": ratio.value if ratio else None,
        "low": low,
        "high": high,
        "verdict": "the oldest" if row is other else judge(ratio, margin),
        "import_s": row.median_s("import_s"),
        "first_s": row.median_s("first_s"),
        "import_ratio": imports.value if imports else None,
        "import_verdict": judge(imports, margin),
        "peak_rss_mib": row.peak_rss_mib,
        "installed_mib": row.installed_mib,
    }


def _within_floor(row: BackendResult, ratio: Ratio | None, result: Result) -> bool:
    """Whether it differs by no more than the same version does in a second environment."""
    own = ratio and ratio.interval
    rows = {one.name: one for one in result.backends if one.threads == row.threads}
    same = next((one for one in rows.values() if _is_again(one) and one.summary), None)
    once = rows.get(same.name.replace(AGAIN, "", 1)) if same else None
    if _is_again(row) or not own or same is None or once is None:
        return False
    if without_version(same.name) != without_version(row.name):
        return False
    floor = ratio_of(same, once, result.rules.confidence).interval
    return bool(floor and floor.low <= own.low and own.high <= floor.high)


def _ratio(new: Mapping[int, float], old: Mapping[int, float]) -> Ratio | None:
    return paired_ratio(new, old) if new and old else None


def _imports_s(row: BackendResult) -> dict[int, float]:
    """By round."""
    return {block.round: block.cold_start.import_s for block in row.starts if block.cold_start}


def said(found: list[Record], margin: float) -> Iterator[str]:
    """A sentence for each newer version beside the oldest, and for a floor.

    Versions that cannot be told apart from the oldest share one, at the first of them.
    """
    alike: dict[str, list[Record]] = {}
    for row in found:
        if _is_alike(row):
            alike.setdefault(row["api"], []).append(row)
    for row in found:
        rows = alike.get(row["api"], [])
        if len(rows) < 2 or row not in rows:
            if row["other"]:
                yield f"{_said_of_call(row, margin)}{_said_of_import(row)}."
        elif row is rows[0]:
            several = listed([one["version"] for one in rows])
            yield f"{row['api']} {several} cannot be told apart from {row['other']}."


def _is_alike(row: Record) -> bool:
    is_open = row["verdict"] == "ambiguous" and row["low"] and row["low"] <= 1 <= row["high"]
    is_floor = row["is_floor"] or row["within"]
    return bool(is_open and not is_floor and not _said_of_import(row))


def _said_of_call(row: Record, margin: float) -> str:
    one, other = f"{row['api']} {row['version']}", row["other"]
    takes = f"takes {units.ratio(row['ratio'])} times"
    if row["low"] is None:
        return f"{one} {takes} as long as {other}, but starts are too few for a verdict"
    takes += f" ({units.ratio(row['low'])} to {units.ratio(row['high'])})"
    if row["is_floor"]:
        return f"The floor: {one} in a second environment {takes} as long"
    if row["within"]:
        return f"{one} differs from {other} by no more than the floor: it {takes} as long"
    if row["verdict"] == "same":
        return f"{one} takes as long as {other}, within {units.percent(margin)}"
    if row["verdict"] != "ambiguous":
        return f"{one} {takes} as long as {other}"
    if row["low"] <= 1 <= row["high"]:
        return f"{one} cannot be told apart from {other}: it {takes} as long"
    within = units.percent(margin)
    return f"{one} {takes} as long as {other}; whether by more than {within} is open"


def _said_of_import(row: Record) -> str:
    """What is certain of it; nothing of a short one, nor of a floor."""
    is_short = (row["import_s"] or 0.0) <= _SHORT_S
    if is_short or row["is_floor"] or row["import_verdict"] in ("same", "ambiguous"):
        return ""
    return f"; its import takes {units.ratio(row['import_ratio'])} times as long"

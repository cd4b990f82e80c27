"""What LoadGen's logs say: the verdict and the latencies, and the digits that were answered."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

from ..errors import ResultError

SUMMARY = "mlperf_log_summary.txt"
ACCURACY = "mlperf_log_accuracy.json"

_LINE = re.compile(r"^\s*\*?\s*(.+?)\s*:\s*(.+?)\s*$", re.MULTILINE)
_QUERIES = re.compile(r"Processed at least \d+ queries \((\d+)\)")


@dataclass(frozen=True)
class Summary:
    """LoadGen's verdict on a performance run, and its latencies."""

    valid: bool
    unsatisfied: tuple[str, ...]  # the rules that it found broken
    recommendations: tuple[str, ...]
    least_s: float | None  # the time that it had to ask for at the least
    queries: int
    queries_per_s: float  # LoadGen's own work included
    p90_estimate_us: float | None  # SingleStream's metric: what p90 is not above, early stopping
    minimum_us: float
    mean_us: float
    p50_us: float
    p90_us: float
    p95_us: float
    p99_us: float
    p999_us: float
    maximum_us: float


def read_summary(folder: Path) -> Summary:
    """The summary in a folder of LoadGen's logs."""
    text = _read(folder / SUMMARY)
    lines = dict(_LINE.findall(text))
    try:
        verdict, queries = lines["Result is"], _QUERIES.search(text)
        latencies = {
            name: float(lines[spelt]) / 1000
            for name, spelt in {
                "minimum_us": "Min latency (ns)",
                "mean_us": "Mean latency (ns)",
                "p50_us": "50.00 percentile latency (ns)",
                "p90_us": "90.00 percentile latency (ns)",
                "p95_us": "95.00 percentile latency (ns)",
                "p99_us": "99.00 percentile latency (ns)",
                "p999_us": "99.90 percentile latency (ns)",
                "maximum_us": "Max latency (ns)",
            }.items()
        }
        least_ms = lines.get("min_duration (ms)")
        estimate = lines.get("Early stopping 90.0th percentile estimate")
        return Summary(
            valid=verdict == "VALID",
            unsatisfied=tuple(name for name, value in lines.items() if value == "NO"),
            recommendations=_recommendations(text),
            least_s=float(least_ms) / 1000 if least_ms else None,
            queries=int(queries[1]) if queries else 0,
            queries_per_s=float(lines["QPS w/ loadgen overhead"]),
            p90_estimate_us=float(estimate) / 1000 if estimate else None,
            **latencies,
        )
    except (KeyError, ValueError) as error:
        raise ResultError(f"{folder / SUMMARY}: not a summary of LoadGen's: {error}") from None


def read_digits(folder: Path) -> dict[int, int]:
    """The digit that was answered for each image, from the log of an accuracy run."""
    try:
        answers = json.loads(_read(folder / ACCURACY))
        return {int(one["qsl_idx"]): int(one["data"], 16) for one in answers}
    except (ValueError, KeyError, TypeError) as error:
        raise ResultError(f"{folder / ACCURACY}: not a log of LoadGen's: {error}") from None


def _recommendations(text: str) -> tuple[str, ...]:
    _, _, rest = text.partition("Recommendations:\n")
    told, _, _ = rest.partition("Early Stopping Result")
    return tuple(line.strip(" *") for line in told.splitlines() if line.strip())


def _read(path: Path) -> str:
    try:
        return path.read_text(errors="replace")
    except OSError as error:
        raise ResultError(f"{path}: cannot be read: {error.strerror}") from None

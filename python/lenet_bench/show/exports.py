"""A comparison in the forms that other benchmark tools read."""

from collections.abc import Callable, Iterator
from typing import Any

from ..results import Result, Row, Summary, start_medians_us
from ..texts import json_text
from .sentences import processor, timed


def bencher(result: Result) -> Any:
    """Bencher Metric Format: the latency of each backend, ns, with its interval."""
    return {row.name: {"latency": _latency_ns(summary)} for row, summary in _known(result)}


def github_action_benchmark(result: Result) -> Any:
    """github-action-benchmark's customSmallerIsBetter: times, and ratios, which vary less."""
    return [*(_time(row.name, summary) for row, summary in _known(result)), *_ratios(result)]


def pyperf(result: Result) -> Any:
    """Pyperf's suite: a benchmark for each backend, a run for each start, with its median call."""
    benchmarks = [
        {
            "metadata": {"name": row.name, "unit": "second", "loops": 1},
            "runs": [{"values": [us / 1e6]} for us in start_medians_us(row.blocks).values()],
        }
        for row, _ in _known(result)
    ]
    about = {
        "cpu_model_name": processor(result.machine),
        "lenet_bench_version": result.version,
        "lenet_bench_started": result.started,
    }
    return {"version": "1.0", "metadata": about, "benchmarks": benchmarks}


#: By their names for `--format`.
FORMATS: dict[str, Callable[[Result], Any]] = {
    "bencher": bencher,
    "github-action-benchmark": github_action_benchmark,
    "pyperf": pyperf,
}


def exported(result: Result, name: str) -> Iterator[str]:
    yield json_text(FORMATS[name](result), indent=1)


def _known(result: Result) -> list[tuple[Row, Summary]]:
    """The backends with a median, the fastest first."""
    return [(row, s) for row in timed(result) if (s := row.summary) and s.p50_us is not None]


def _latency_ns(s: Summary) -> dict[str, float]:
    found = {"value": s.p50_us, "lower_value": s.p50_low_us, "upper_value": s.p50_high_us}
    return {name: round(us * 1000, 1) for name, us in found.items() if us is not None}


def _time(name: str, s: Summary) -> dict[str, Any]:
    ns = _latency_ns(s)
    entry = {"name": name, "unit": "ns", "value": ns["value"]}
    if "lower_value" in ns:
        entry["range"] = f"{ns['lower_value']} to {ns['upper_value']}"
    return {**entry, "extra": f"median of {s.starts} starts, {s.samples} calls"}


def _ratios(result: Result) -> Iterator[dict[str, Any]]:
    base = result.baseline
    for row, s in _known(result):
        if row.name == base or s.ratio is None:
            continue
        entry = {"name": f"{row.name} / {base}", "unit": "ratio", "value": round(s.ratio, 4)}
        if s.ratio_low is not None and s.ratio_high is not None:
            entry["range"] = f"{s.ratio_low:.4f} to {s.ratio_high:.4f}"
        yield {**entry, "extra": f"ratio of the medians of {s.starts} starts"}

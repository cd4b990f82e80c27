"""A result as flat rows, for programs and for tables: figures without the samples behind them."""

from collections.abc import Sequence
from dataclasses import asdict, fields
from typing import Any

from .model import BackendResult, Result, Summary, check_results


def rows(result: Result) -> list[dict[str, Any]]:
    """The backends as flat rows, `--json`'s: figures for those that are ok, None for the others."""
    check_results(result)
    return [_row(row, result) for row in result.backends]


def digest(result: Result) -> dict[str, Any]:
    """The output of `--json`: the rows, the settings and the warnings, without the samples."""
    return {
        "schema": result.schema,
        "started": result.started,
        "ended": result.ended,
        "elapsed_s": result.elapsed_s,
        "rounds": result.rounds,
        "network": result.rules.network,
        "float32": result.rules.placed.float32,
        "arbiter": result.rules.placed.arbiter,
        "inputs": dict(result.rules.placed.inputs),
        "parameters": result.rules.placed.parameters,
        "seed": result.rules.seed,
        "threads": result.rules.threads,
        "interval_s": result.rules.interval_s,
        "deadline_s": result.rules.paced_within_s,
        "keep_warm_s": result.rules.keep_warm_s,
        "beside": result.rules.beside,
        "quota": result.rules.quota,
        "cold_mb": result.rules.cold_mb,
        "margin": result.rules.margin,
        "baseline": result.baseline,
        "harness_us": result.floor.p50_us,
        "backends": [
            {
                **_row(row, result),
                "images_per_s": {str(batch.size): batch.images_per_s for batch in row.batches},
                "batch_refusals": dict(row.batch_refusals),
                "callers": [asdict(one) for one in row.together],
                "callers_refused": dict(row.callers_refused),
            }
            for row in result.backends
        ],
        "blocks": result.disturbance.blocks,
        "disturbed_blocks": result.disturbance.disturbed,
        "quiet_share": result.disturbance.quiet_share,
        "warnings": list(result.warnings),
    }


def failures(backends: Sequence[BackendResult], named: Sequence[str] = ()) -> list[str]:
    """The backends that failed; one that cannot run here counts only if it was named."""
    fine = ("ok", "unsupported")
    every = (row for row in backends if row.status != "unavailable" or row.name in named)
    return [row.name for row in every if row.status not in fine]


def is_well(backends: Sequence[BackendResult], named: Sequence[str] = ()) -> bool:
    """Whether one was timed and none failed."""
    return any(row.status == "ok" for row in backends) and not failures(backends, named)


def _row(row: BackendResult, result: Result) -> dict[str, Any]:
    ok = row.status == "ok"
    summary = row.summary if ok else None
    figures = [field.name for field in fields(Summary)]
    best = max(row.batches, key=lambda batch: batch.images_per_s, default=None) if ok else None
    return {
        "name": row.name,
        "threads": result.rules.threads_of(row),
        "status": row.status,
        "reason": row.reason,
        "difference": row.difference,
        **{name: getattr(summary, name) if summary else None for name in figures},
        "cold_start_s": row.cold_start_s if ok else None,
        "import_s": row.median_s("import_s") if ok else None,
        "first_s": row.median_s("first_s") if ok else None,
        "threads_running": row.threads_running if ok else None,
        "throttled_share": row.throttled_share if ok else None,
        "gil_share": row.gil_share if ok else None,
        "peak_rss_mib": row.peak_rss_mib if ok else None,
        "lines_of_code": row.lines_of_code,
        "installed_mib": row.installed_mib,
        "converter_mib": row.converter_mib,
        "conversion_s": row.conversion_s,
        "file_mib": row.file_mib,
        "best_images_per_s": best.images_per_s if best else None,
        "best_batch": best.size if best else None,
    }

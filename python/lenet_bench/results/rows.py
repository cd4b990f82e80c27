"""A result as flat rows, for programs and for tables: figures without the samples behind them."""

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any, Protocol

from .model import Result, RungResult, Status, Summary


class Outcome(Protocol):
    """What became of a rung."""

    @property
    def name(self) -> str:
        """The rung's."""

    @property
    def status(self) -> Status:
        """As in a result."""


def rows(result: Result) -> list[dict[str, Any]]:
    """The rungs as flat rows, `--json`'s: figures for those that are ok, None for the others."""
    return [_row(rung) for rung in result.rungs]


def digest(result: Result) -> dict[str, Any]:
    """What `--json` prints: the rows and what they must be read with, without the samples."""
    baseline = [r.name for r in result.rungs if r.summary and r.summary.verdict == "baseline"]
    floor = result.floor.summary if result.floor else None
    return {
        "schema": result.schema,
        "started": result.started,
        "ended": result.ended,
        "elapsed_s": result.elapsed_s,
        "rounds": len(result.order),
        "seed": result.rules.seed,
        "threads": result.rules.threads,
        "interval_s": result.rules.interval_s,
        "margin": result.rules.margin,
        "baseline": baseline[0] if baseline else None,
        "harness_us": floor.p50_us if floor else None,
        "rungs": [
            {**row, **_by_batch(rung)} for row, rung in zip(rows(result), result.rungs, strict=True)
        ],
        "warnings": list(result.warnings),
    }


def _by_batch(rung: RungResult) -> dict[str, Any]:
    return {
        "images_per_s": {str(batch.size): batch.images_per_s for batch in rung.batches},
        "batch_refusals": dict(rung.batch_refusals),
    }


def failures(rungs: Iterable[Outcome], named: Sequence[str] = ()) -> list[str]:
    """The rungs that failed; one that cannot run here counts where it was asked for by name."""
    return [
        rung.name
        for rung in rungs
        if rung.status != "ok" and (rung.status != "unavailable" or rung.name in named)
    ]


def _row(rung: RungResult) -> dict[str, Any]:
    ok = rung.status == "ok"
    summary = rung.summary if ok else None
    figures = [field.name for field in fields(Summary)]
    best = max(rung.batches, key=lambda batch: batch.images_per_s, default=None) if ok else None
    return {
        "name": rung.name,
        "status": rung.status,
        "reason": rung.reason,
        **{name: getattr(summary, name) if summary else None for name in figures},
        "cold_start_s": rung.cold_start_s if ok else None,
        "peak_rss_mib": rung.resources.peak_rss_mib if ok and rung.resources else None,
        "lines_of_code": rung.lines_of_code,
        "installed_mib": rung.installed_mib,
        "best_images_per_s": best.images_per_s if best else None,
        "best_batch": best.size if best else None,
    }

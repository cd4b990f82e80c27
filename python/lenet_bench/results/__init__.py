"""The result of a comparison: its model, its file, and its rows for whoever draws it."""

from .file import ResultFile, read_result, write_result
from .model import (
    SCHEMA,
    Batch,
    CacheProbe,
    ColdStart,
    Disturbance,
    Ended,
    Gpu,
    Resources,
    Result,
    Resumption,
    Rules,
    RungResult,
    Status,
    Summary,
    Turn,
    Verdict,
)
from .rows import digest, failures, rows

__all__ = [
    "SCHEMA",
    "Batch",
    "CacheProbe",
    "ColdStart",
    "Disturbance",
    "Ended",
    "Gpu",
    "Resources",
    "Result",
    "ResultFile",
    "Resumption",
    "Rules",
    "RungResult",
    "Status",
    "Summary",
    "Turn",
    "Verdict",
    "digest",
    "failures",
    "read_result",
    "rows",
    "write_result",
]

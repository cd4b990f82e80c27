"""The result of a comparison: its model, its file, and what is computed from it."""

from .breakdown import Breakdown, Part, breakdowns
from .flat import digest, failures, is_well, rows
from .log import Appended, Log, as_read, read_log
from .model import (
    SHARED,
    Anatomy,
    BackendResult,
    Batch,
    Block,
    CacheProbe,
    Callers,
    ColdStart,
    End,
    Ended,
    Experiment,
    Function,
    Gil,
    Gpu,
    Header,
    Listed,
    Other,
    Result,
    Rules,
    Status,
    Summary,
    Throttled,
    Verdict,
    Way,
    check_results,
)
from .read import as_result, disturbed, ratios, read_result
from .statistics import start_medians_us

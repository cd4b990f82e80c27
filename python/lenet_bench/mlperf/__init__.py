"""A rung under MLPerf's LoadGen: the run, what its logs say, and what LoadGen itself takes."""

from .logs import Summary, read_digits, read_summary
from .overhead import Block, Overhead
from .result import Accuracy, MlperfRun, read
from .run import mlperf

__all__ = [
    "Accuracy",
    "Block",
    "MlperfRun",
    "Overhead",
    "Summary",
    "mlperf",
    "read",
    "read_digits",
    "read_summary",
]

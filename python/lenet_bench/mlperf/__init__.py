"""A rung under MLPerf's LoadGen: the run, and what its logs say."""

from .logs import Summary, read_digits, read_summary
from .run import Accuracy, MlperfRun, mlperf

__all__ = ["Accuracy", "MlperfRun", "Summary", "mlperf", "read_digits", "read_summary"]

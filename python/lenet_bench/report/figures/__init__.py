"""The report's figures: each a file, each drawn at any width from what was measured."""

from __future__ import annotations

from ..measured import Measured
from .cold_start import cold_start
from .distribution import distribution
from .figure import Figure
from .footprint import device_memory, disk, memory
from .gpu_call import gpu_call
from .lines_of_code import lines_of_code
from .of_2018 import of_2018
from .processing_time import processing_time
from .ratio import ratio
from .throughput import throughput
from .tradeoff import tradeoff

_ALL = (
    of_2018,
    lines_of_code,
    processing_time,
    tradeoff,
    ratio,
    distribution,
    gpu_call,
    cold_start,
    throughput,
    memory,
    device_memory,
    disk,
)


def figures(measured: Measured) -> list[Figure]:
    """Those that there is something to draw for, in the order in which they are read."""
    drawn = (figure(measured) for figure in _ALL)
    return [figure for figure in drawn if figure]

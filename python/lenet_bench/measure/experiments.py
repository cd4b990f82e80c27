"""The experiments of a block: each timed in short turns, in an order that is shuffled each time.

So what disturbs the machine for some milliseconds, or drifts, falls on all of them alike.
"""

import random
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..probes import Probe
from .calls import Image, time_calls

_TURNS = 8
_TURN_S = 0.008
_WARM_S = 0.002
_FEWEST = 3  # calls of a turn, however slow


def timed(probes: Sequence[Probe], images: Sequence[Image]) -> list[dict[str, Any]]:
    """The median call of each, as JSON takes it."""
    samples: list[list[int]] = [[] for _ in probes]
    order = list(range(len(probes)))
    for _ in range(_TURNS):
        random.shuffle(order)
        for number in order:
            infer = probes[number].infer
            time_calls(infer, images, _WARM_S, fewest=1)
            samples[number] += time_calls(infer, images, _TURN_S, _FEWEST).samples_ns
    return [
        {
            "kind": probe.kind,
            "name": probe.name,
            "us": float(np.median(ns)) / 1000,
            "calls": len(ns),
            "operations": probe.operations,
            "evidence": probe.evidence,
            "work": dict(probe.work),
        }
        for probe, ns in zip(probes, samples, strict=True)
    ]

"""The experiments of a block: each timed in short turns, in an order that is shuffled each time.

So a drift affects all of them alike. On a disturbed machine there are more turns, until as many
calls count as on a quiet one. Before each call the whole network is called, outside the time: the
one as built for the experiments, where there is one.
"""

import random
from collections.abc import Sequence
from functools import partial
from math import inf
from typing import Any

import numpy as np

from ..experiment_names import AS_BUILT, TWO_CORES
from ..registry import find
from ..subjects.subject import Subject
from ..undisturbed import Slice, quickest, undisturbed_calls
from ..weights import Weights
from ..why import Infer, Probe, probes_of
from .calls import Image, clock, time_calls
from .messages import Turns
from .pinning import with_threads_on

_TURNS, _MOST_TURNS = 8, 32
_ENOUGH = 4  # turns' worth of quiet calls that must be reached
_TURN_S = 0.008
_WARM_S = 0.002
_FEWEST = 3  # calls of a turn at least


_kept: list[Probe] = []  # never freed: OpenVINO crashes if one is


class Experiments:
    """Networks that were built, and a turn of each at a time."""

    def __init__(self, probes: Sequence[Probe], whole: Infer, images: Sequence[Image]) -> None:
        """`whole` is the call that is taken apart.

        It is called untimed before each call of its own pieces. Networks that were built share
        objects and memory with the whole one that was built, so that one is called before them.
        """
        built = next((one.infer for one in probes if one.name == AS_BUILT), whole)
        self._every = [_Timed(one, whole if one.infer is whole else built) for one in probes]
        self._due = self._every
        self._turns = 0
        self._whole, self._images = whole, images

    @property
    def turns(self) -> Turns:
        most = _TURNS if self._turns < _TURNS else _MOST_TURNS
        return Turns(self._turns, enough=_TURNS, most=most if self._due else self._turns)

    def turn(self, seconds: float = inf) -> None:
        """Time each that has too few calls so far, unless that takes longer."""
        end = clock() + seconds * 1e9
        for one in random.sample(self._due, len(self._due)):
            if clock() >= end:
                return
            one.turn(self._images)
        self._turns += 1
        self._due = [one for one in self._due if not one.has_enough()]

    def found(self) -> list[dict[str, Any]]:
        """The median call of each, as plain data."""
        return [one.as_json() for one in self._every]

    def on(self, cores: Sequence[int]) -> list[dict[str, Any]]:
        """The whole call alone, on these cores: a runtime's thread may have one of its own."""
        alone = Experiments([Probe("call", TWO_CORES, self._whole)], self._whole, self._images)
        with with_threads_on(cores):
            while alone.turns.done < alone.turns.most:
                alone.turn()
        return alone.found()


def built_probes(
    subject: Subject, name: str, weights: Weights, threads: int, first: Any, infer: Infer
) -> Sequence[Probe]:
    """The call and the experiments of a subject on a backend; none where none are written."""
    made = list(subject.own_probes(weights, threads))
    if graph := subject.graph():
        made = probes_of(*find(name), graph, weights, threads)
    if subject.is_block:
        from ..why.own_model import probes_of_model  # which imports packages of its own

        made = probes_of_model(subject, name, weights, threads, first)
    _kept.extend(made)
    return [Probe("call", "call", infer), *made] if made else ()


class _Timed:
    """A probe, and its calls so far."""

    def __init__(self, probe: Probe, whole: Infer) -> None:
        """Before each call, `whole` is called."""
        self.probe = probe
        self._before = probe.infer if probe.kind == "after itself" else whole
        self._turns = 0
        self._samples: list[int] = []
        self._slices: list[Slice] = []

    def turn(self, images: Sequence[Image]) -> None:
        infer, before = self.probe.infer, partial(self._before, images[0])
        time_calls(infer, images, _WARM_S, fewest=1, before=before)
        calls = time_calls(infer, images, _TURN_S, _FEWEST, before=before)
        self._turns += 1
        self._samples += calls.samples_ns
        self._slices += calls.slices

    def quiet(self) -> Sequence[int]:
        least = quickest(loops for _, *loops in self._slices)
        return undisturbed_calls(self._samples, self._slices, least, _FEWEST)

    def has_enough(self) -> bool:
        one_turn = len(self._samples) / self._turns
        return self._turns >= _TURNS and len(self.quiet()) >= _ENOUGH * one_turn

    def as_json(self) -> dict[str, Any]:
        samples_ns, probe = self.quiet() or self._samples, self.probe
        return {
            "kind": probe.kind,
            "name": probe.name,
            "us": probe.gpu_us() if probe.gpu_us else float(np.median(samples_ns)) / 1000,
            "calls": len(samples_ns),
            "operations": probe.operations,
            "evidence": probe.evidence,
        }

"""`bench/self_test.py`: what it says of results whose truth is known."""

import dataclasses
import sys

import numpy as np
import pytest
from conftest import ROOT
from lenet_bench.results import as_result
from msgspec.structs import replace
from sample_results import blocks, failed, log

sys.path.insert(0, str(ROOT / "bench"))
import self_test

ROUNDS = self_test.COMPARISONS * self_test.STARTS


def simulated(noise=0.01, floor_us=0.1, caught=tuple(self_test.CHEATS), **slowness):
    """A run of backends of 100 us whose starts scatter by the noise; some are slower."""
    random = np.random.default_rng(1)
    slow = {name: 1 + by for by, names in self_test.SLOWER.items() for name in names}
    slow |= {name.replace("_", " "): by for name, by in slowness.items()}

    def row(name):
        medians = (
            100e3 * slow.get(name, 1) * np.exp(noise * random.standard_normal(ROUNDS) / 2**0.5)
        )
        made = zip(blocks(name, 100, rounds=ROUNDS), medians, strict=True)
        return tuple(replace(block, samples_ns=(int(ns),) * 25) for block, ns in made)

    rows = [row(name) for name in (*self_test.SAME, *sum(self_test.SLOWER.values(), ()))]
    rows += [
        failed(name, "wrong", "caught") if name in caught else blocks(name, 100, rounds=1)
        for name in self_test.CHEATS
    ]
    made = log(*rows, baseline=self_test.SAME[0])
    rest = [block for block in made.blocks if block.backend != "empty"]
    return as_result(dataclasses.replace(made, blocks=(*blocks("empty", floor_us), *rest)))


def verdicts(result):
    return {point.name: point.verdict for point in self_test.points(result)}


def test_a_quiet_machine_passes_every_point():
    assert set(verdicts(simulated()).values()) == {"passed"}


def test_a_noisy_machine_is_called_too_noisy():
    assert verdicts(simulated(noise=0.1))["identical backends"] == "too noisy"


@pytest.mark.parametrize(
    ("point", "options"),
    [
        ("identical backends", {"noise": 0.005, "same_2": 1.04}),
        ("intervals hold the truth", {"same_2": 1.02, "same_4": 1.02}),
        ("a slowdown of 5%", {"noise": 0.005, **{f"5%_slower_{n}": 1.0 for n in (1, 2, 3)}}),
        ("the floor", {"floor_us": 20}),
        ("a backend that answers wrongly", {"caught": ()}),
    ],
)
def test_a_point_fails_where_its_truth_is_missed(point, options):
    assert verdicts(simulated(**options))[point] == "failed"


@pytest.mark.parametrize(("hits", "of"), [(0, 7), (30, 60)])
def test_the_interval_of_a_share_is_scipys(hits, of):
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    theirs = stats.binomtest(hits, of).proportion_ci(0.95, method="wilson")
    assert self_test.share_interval(hits, of) == pytest.approx((theirs.low, theirs.high))

"""`bench/self_test.py`: what it says of results whose truth is known."""

import dataclasses
import sys

import numpy as np
import pytest
from conftest import ROOT
from lenet_bench.results import as_result
from sample_results import blocks, failed, log, timed_starts

sys.path.insert(0, str(ROOT / "bench"))
import self_test

ROUNDS = self_test.STARTS
BACKENDS = {"numpy": 15, "fused": 5}


@pytest.fixture(autouse=True)
def pairs(monkeypatch):
    """As many pairs, of fewer backends."""
    monkeypatch.setattr(self_test, "PAIRS", BACKENDS)


def simulated(
    noise=0.02, floor_us=0.1, by=self_test.BY, caught=tuple(self_test.CHEATS), **slowness
):
    """Runs of backends of 100 us whose starts scatter by the noise; some are slower."""
    random = np.random.default_rng(1)
    slowness = {name.replace("_", " "): factor for name, factor in slowness.items()}

    def row(name):
        slow = slowness.get(name, 1 + by * ("slower" in name))
        medians = 100 * slow * np.exp(noise * random.standard_normal(ROUNDS) / 2**0.5)
        return timed_starts(name, *medians)

    def run(backend):
        names = [one.name for one in self_test.entries(backend)]
        rows = [row(name) for name in names if name not in self_test.CHEATS]
        rows += [
            failed(name, "wrong", "caught") if name in caught else blocks(name, 100, rounds=1)
            for name in names
            if name in self_test.CHEATS
        ]
        made = log(*rows, baseline=self_test.same(0))
        rest = [block for block in made.blocks if block.backend != "empty"]
        return dataclasses.replace(made, blocks=(*blocks("empty", floor_us), *rest))

    return {backend: run(backend) for backend in BACKENDS}


def verdicts(logs):
    results = {name: as_result(made) for name, made in logs.items()}
    return {point.name: point.verdict for point in self_test.points(logs, results)}


def test_a_quiet_machine_passes_every_point():
    assert set(verdicts(simulated()).values()) == {"passed"}


def test_a_noisy_machine_is_called_too_noisy():
    assert verdicts(simulated(noise=0.1))["identical backends"] == "too noisy"


@pytest.mark.parametrize(
    ("point", "options"),
    [
        ("identical backends", {f"same_{2 * pair + 2}": 1.04 for pair in range(3)}),
        ("intervals hold the truth", {f"same_{2 * pair + 2}": 1.02 for pair in range(6)}),
        ("a slowdown of 3%", {"by": 0.0}),
        ("the floor", {"floor_us": 20}),
        ("a backend that answers wrongly", {"caught": ()}),
    ],
)
def test_a_point_fails_where_its_truth_is_missed(point, options):
    assert verdicts(simulated(**options))[point] == "failed"


def test_fewer_starts_are_judged_in_as_many_parts_as_there_are():
    found = {row["starts"]: row for row in self_test.by_starts(simulated(), ROUNDS)}
    assert {starts: row["comparisons"] for starts, row in found.items()} == {
        starts: 20 * (ROUNDS // starts) for starts in (*self_test.FEWER, ROUNDS)
    }
    assert found[6]["same"] / found[6]["comparisons"] < found[40]["same"] / 20


def test_a_pair_is_judged_that_lost_a_start_or_has_fewer():
    whole = simulated()["fused"]
    for rounds in (ROUNDS, ROUNDS // 2):
        left = tuple(block for block in whole.blocks if 0 < block.round < rounds)
        fewer = dataclasses.replace(whole, blocks=left)
        judged = self_test.all_ratios({"fused": fewer}, ROUNDS, slow=False)
        assert [one.starts for one in judged] == [rounds - 1] * BACKENDS["fused"]


def decided(equal="same", took_s=20.0):
    """The verdicts on comparisons by `--until decided`, all alike."""
    runs = [
        {"point": point, "said": verdict if by else equal, "took_s": took_s}
        for point, by, verdict, _ in self_test.DECIDED
        for _ in range(self_test.TRIES)
    ]
    return [point.verdict for point in self_test.decided_points(runs)]


def test_both_kinds_are_decided_rightly_and_soon():
    assert decided() == ["passed", "passed"]
    assert decided(took_s=40) == ["passed", "too noisy"]
    assert decided(equal="ambiguous") == ["too noisy", "passed"]
    assert decided(equal="slower") == ["failed", "passed"]


@pytest.mark.parametrize(("hits", "of"), [(0, 7), (30, 60)])
def test_the_interval_of_a_share_is_scipys(hits, of):
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    theirs = stats.binomtest(hits, of).proportion_ci(0.95, method="wilson")
    assert self_test.share_interval(hits, of) == pytest.approx((theirs.low, theirs.high))

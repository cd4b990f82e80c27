"""What the self-test says of results whose truth is known, and of one real run."""

import dataclasses
import json
import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from lenet_bench.cli import run as run_here
from lenet_bench.questions.self_test import (
    PUBLISHED_STARTS,
    enough,
    points,
    self_test_options,
    share_interval,
)
from lenet_bench.results import as_result, read_result
from lenet_bench.results.statistics import FEWEST_STARTS
from lenet_bench.show.terminal.screen import Screen
from lenet_bench.show.terminal.self_test import self_test
from msgspec.structs import replace
from sample_results import QUIET_SLICES, SLOW_SLICES, blocks, failed, log

STARTS = 105
ENOUGH = 7 * PUBLISHED_STARTS  # for 21 comparisons, since there are three pairs
CHEATS = ("remembers answers", "answers wrongly", "answers wrongly when timed")
SAME = tuple(f"same {number}" for number in range(1, 7))
SLOWER = {f"{by}% slower {n}": 1 + by / 100 for by in (2, 5, 10) for n in (1, 2, 3)}
README = Path(__file__).parents[1] / "README.md"


@cache
def simulated_log(noise, starts=STARTS, floor_us=0.1, caught=CHEATS, **slowness):
    """A self-test of backends of 100 us whose starts scatter by the noise, and some are slower."""
    random = np.random.default_rng(1)

    def row(name, us, noise):
        medians = us * 1000 * np.exp(noise * random.standard_normal(starts))
        made = zip(blocks(name, us, rounds=starts), medians, strict=True)
        return tuple(replace(block, samples_ns=(int(ns),) * 25) for block, ns in made)

    slow = {**SLOWER, **{name.replace("_", " "): by for name, by in slowness.items()}}
    rows = [row(name, 100 * slow.get(name, 1), noise / 2**0.5) for name in (*SAME, *SLOWER)]
    rows += [
        failed(name, "wrong", "caught") if name in caught else blocks(name, 100, rounds=1)
        for name in CHEATS
    ]
    made = log(*rows, baseline=SAME[0])
    floor = blocks("empty", floor_us)
    rest = [block for block in made.blocks if block.backend != "empty"]
    return dataclasses.replace(made, blocks=(*floor, *rest))


@cache
def simulated(*arguments, **options):
    return as_result(simulated_log(*arguments, **options))


def verdicts(result, **options):
    return {point.name: point.verdict for point in points(result, **options)}


NO_5_PERCENT = {f"5%_slower_{n}": 1.0 for n in (1, 2, 3)}


def test_a_quiet_machine_passes_every_point():
    assert set(verdicts(simulated(noise=0.01)).values()) == {"passed"}


@pytest.mark.parametrize(
    ("point", "noise", "rest"),
    [
        ("identical backends", 0.005, {"same_2": 1.04}),
        ("intervals hold the truth", 0.01, {"same_2": 1.02, "same_4": 1.02}),
        ("a slowdown of 5%", 0.005, NO_5_PERCENT),
        ("the floor", 0.01, {"floor_us": 20}),
        *(
            (f"a backend that {cheat}", 0.01, {"caught": tuple(set(CHEATS) - {cheat})})
            for cheat in CHEATS
        ),
    ],
)
def test_a_point_fails_where_its_truth_is_missed(point, noise, rest):
    assert verdicts(simulated(noise=noise, **rest))[point] == "failed"


def test_the_share_of_right_verdicts_has_its_count_and_interval_and_the_noise():
    figures = points(simulated(noise=0.01))[0].figures
    assert figures["comparisons"] == 3 * (STARTS // figures["starts"])
    assert figures["right"] >= 0.95 * figures["comparisons"]
    assert figures["share_low"] < figures["right"] / figures["comparisons"]
    assert points(simulated(noise=0.02))[0].figures["noise"] == pytest.approx(0.02, rel=0.2)
    file = re.search(r"<!-- backends drawn from (\S+) -->", README.read_text())[1]
    assert read_result(README.parent / file).rounds == PUBLISHED_STARTS == figures["starts"]
    assert points(simulated(noise=0.01), starts=30)[0].figures["starts"] == 30


def test_the_resolution_grows_with_the_noise_and_too_noisy_a_machine_does_not_pass():
    quiet, noisy = (points(simulated(noise=noise))[0].figures for noise in (0.01, 0.04))
    assert 2 * quiet["resolution"] < noisy["resolution"]
    for starts in (STARTS, 24):
        point = points(simulated(noise=0.1, starts=starts))[0]
        assert point.verdict == "too noisy"
        assert "close other programs" in point.says


@pytest.mark.parametrize("noise", [0.01, 0.1])
def test_intervals_hold_the_truth_however_noisy_the_machine(noise):
    point = points(simulated(noise=noise))[1]
    assert point.figures["intervals"] == 3 * (STARTS // PUBLISHED_STARTS)
    assert point.figures["held"] >= 0.9 * point.figures["intervals"]
    assert point.verdict == "passed"


def test_it_goes_on_until_there_are_twenty_comparisons_unless_a_time_is_given():
    assert enough(simulated_log(noise=0.01, starts=7 * PUBLISHED_STARTS).blocks) == 1
    half = simulated_log(noise=0.01, starts=7 * 12).blocks
    assert enough(half, starts=24) == 0.5
    quiet = [replace(block, slices=QUIET_SLICES) for block in half]
    later = [replace(block, round=block.round + 100, slices=SLOW_SLICES) for block in half]
    assert enough([*quiet, *later], starts=24) == 0.5, "disturbed blocks do not count"
    assert self_test_options(starts=20).enough.keywords == {"starts": 20}
    assert self_test_options(budget_s=60).enough is None
    assert self_test_options(quick=True).enough is None
    entries = self_test_options("fused").backends
    assert {entry.variables["LENET_BENCH_SELF_TEST_BACKEND"] for entry in entries} == {"fused"}


def test_each_slowdown_is_found_in_so_many_of_so_many_which_bounds_the_share():
    found = {point.name: point for point in points(simulated(noise=0.01, starts=ENOUGH))}
    small, large = (found[f"a slowdown of {by}%"].figures for by in (2, 10))
    assert large["comparisons"] == small["comparisons"] == 21
    assert large["right"] == 21
    assert small["right"] > 0
    says = f"found in 21 of 21 comparisons of {PUBLISHED_STARTS} starts"
    assert says in found["a slowdown of 10%"].says
    assert "85 %" in found["a slowdown of 10%"].says, "with 95 % confidence"


def test_a_slowdown_as_the_margin_is_not_demanded_and_a_quick_one_makes_do_with_few_starts():
    point = points(simulated(noise=0.03))[2]
    assert (point.name, point.verdict) == ("a slowdown of 2%", "passed")
    assert point.figures["right"] < 15

    result = simulated(noise=0.005, starts=FEWEST_STARTS)
    assert verdicts(result)["identical backends"] == "too noisy"
    assert verdicts(result, quick=True)["identical backends"] == "passed"


@pytest.mark.parametrize(("hits", "of"), [(41, 42), (0, 7), (20, 20), (30, 60)])
def test_the_interval_of_a_share_is_scipys_and_a_share_of_nothing_is_unknown(hits, of):
    stats = pytest.importorskip("scipy.stats", reason="scipy is not installed")
    theirs = stats.binomtest(hits, of).proportion_ci(0.95, method="wilson")
    assert share_interval(hits, of) == pytest.approx((theirs.low, theirs.high))
    assert share_interval(0, 0) == (0.0, 1.0)


@pytest.mark.parametrize("columns", [40, 80, 200])
def test_it_is_no_wider_than_the_terminal(columns):
    result = simulated(noise=0.05)
    lines = list(self_test(points(result), result, Screen(columns, colour=False)))
    assert max(map(len, lines)) <= columns
    assert any(line.startswith("✗ identical backends: too noisy") for line in lines)


@pytest.mark.slow
def test_a_real_run_catches_every_cheat(weights_file, tmp_path, capsys):
    command = ["self-test", "numpy", "--budget", "20s", "--json"]
    command += ["--weights", str(weights_file), "-o", str(tmp_path / "r.jsonl")]
    assert run_here(command) in (0, 1), "a busy machine cannot pass, and says so"
    printed = json.loads(capsys.readouterr().out)
    assert printed["machine"]["processor"]["logical"] >= 1
    found = {point["name"]: point for point in printed["points"]}
    for cheat in CHEATS:
        assert found[f"a backend that {cheat}"]["verdict"] == "passed"
    assert found["the floor"]["verdict"] == "passed"

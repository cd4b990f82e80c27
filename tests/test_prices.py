"""`prices`: prices that are planted come back, and answers that are wrong are not timed."""

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import toy_backends as toys
from conftest import Run
from lenet_bench import CompareOptions
from lenet_bench.errors import LenetBenchError, ResultError
from lenet_bench.measure.experiments import timed
from lenet_bench.probes.described import (
    OTHERS,
    drawn,
    exact,
    image,
    read,
    spelt,
    steps,
    trivial,
    work,
)
from lenet_bench.probes.written import WRITTEN, numpy, priced
from lenet_bench.questions.prices import digest, measured
from lenet_bench.results import Experiment, Priced
from lenet_bench.results import priced as priced_of
from lenet_bench.results.statistics import FEWEST_STARTS
from lenet_bench.show.terminal.prices import lists
from lenet_bench.show.terminal.screen import Screen
from msgspec.structs import replace as changed
from sample_results import blocks, failed, result

PLANTED = {
    **{"entering": 20.0, "operation": 2.0},
    **{"convolution": 9.0, "1000 floats in windows": 0.3, "1000 floats in uneven windows": 0.7},
    **{"1000 multiply-adds": 0.04},
    **{"dense layer": 5.0, "kB of weights": 0.06, "1000 floats": 0.5, "1000 tangents": 4.0},
}


def experiments(planted: Mapping[str, float], **times: float) -> tuple[Experiment, ...]:
    """Of an API with these prices; a network that is named takes so many times that."""
    kinds = (("operations", trivial()), ("drawn", drawn()), ("other", OTHERS))
    found = []
    for kind, network in [(kind, one) for kind, networks in kinds for one in networks]:
        does = work(network)
        us = planted["entering"] + sum(planted[name] * amount for name, amount in does.items())
        us *= times.get(network.name, 1)
        count = int(does["operation"])
        found.append(Experiment(kind, network.name, us, 9, count, spelt(network)))  # type: ignore[arg-type]
    return tuple(found)


def found_of(*starts: tuple[Experiment, ...]) -> Priced:
    """A backend with these starts."""
    rows = blocks("made", 100, len(starts))
    made = [changed(row, experiments=start) for row, start in zip(rows, starts, strict=True)]
    return priced_of(result(tuple(made)))[0]


def figures(found: Priced) -> dict[str, float]:
    return {part.name: part.us for part in found.prices}


@pytest.mark.parametrize("doubled", [None, *PLANTED])
def test_planted_prices_come_back_however_dear_and_predict_what_follows(doubled: str) -> None:
    planted = {name: us * (1 + (name == doubled)) for name, us in PLANTED.items()}
    found = found_of(experiments(planted))
    assert figures(found) == pytest.approx(planted, rel=1e-3)
    assert [one.error for one in found.predictions] == pytest.approx([0] * 3, abs=1e-3)


def test_no_price_is_below_zero_or_moved_by_an_odd_network() -> None:
    noise = np.random.default_rng(1).normal(1, 0.05, 24)
    scattered = {f"drawn {n}": float(share) for n, share in enumerate(noise, 1)}
    free = {**PLANTED, "1000 floats": 0.0, "dense layer": 0.0}
    assert min(figures(found_of(experiments(free, **scattered))).values()) >= 0
    odd = figures(found_of(experiments(PLANTED, **{"drawn 4": 3.0})))
    assert odd == pytest.approx(PLANTED, rel=0.1)
    found = found_of(experiments(PLANTED, **{one.name: 1.25 for one in OTHERS}))
    assert figures(found) == pytest.approx(PLANTED, rel=1e-3)
    assert [one.error for one in found.predictions] == pytest.approx([-0.2] * 3, abs=1e-3)
    assert digest([found])["within"] == 0
    assert digest([found_of(experiments(PLANTED))])["within"] == 3


def test_intervals_are_over_starts_and_few_starts_have_none() -> None:
    one = experiments(PLANTED)
    assert {part.low_us for part in found_of(one).prices} == {None}
    random = np.random.default_rng(2)
    scattered = [
        experiments({**PLANTED, "entering": 20 + random.normal()}) for _ in range(FEWEST_STARTS)
    ]
    widths = {
        part.name: part.high_us - part.low_us
        for part in found_of(*scattered).prices
        if part.high_us is not None and part.low_us is not None
    }
    assert widths["entering"] > 0.5 > 10 * widths["operation"]


def test_the_perceptron_has_the_work_that_paper_says_and_a_convolution_is_its_sum() -> None:
    perceptron, lenet5, _ = OTHERS
    does = work(perceptron)
    assert (does["dense layer"], does["operation"]) == (2, 2)
    assert does["kB of weights"] == 4 * (784 * 300 + 300 * 10) / 1000
    does, windows = work(lenet5), (28 * 28 * 25, 10 * 10 * 6 * 25)
    assert does["1000 floats in windows"] == 0  # of one channel, and of six
    assert does["1000 floats in uneven windows"] == pytest.approx(sum(windows) / 1000)
    by_hand = windows[0] * 6 + windows[1] * 16
    assert does["1000 multiply-adds"] == pytest.approx(by_hand / 1000)

    network = replace(OTHERS[1], layers=OTHERS[1].layers[:1])
    (step,), x = steps(network), image(network)[0, 0]
    by_hand = (x[3:8, 7:12] * step.weight[2, 0]).sum() + step.bias[2]
    assert exact(network)[2, 3, 7] == pytest.approx(by_hand, rel=1e-5)


def test_the_same_networks_are_drawn_each_time_and_read_as_they_are_spelt() -> None:
    assert drawn() == drawn()
    assert len({one.layers for one in drawn()}) > 20
    assert max(work(one)["kB of weights"] for one in drawn()) <= 5000
    for network in (*OTHERS, *drawn()):
        assert read(spelt(network)).layers == network.layers
        assert work(read(spelt(network))) == work(network)
    strange = changed(experiments(PLANTED)[-1], evidence="1x28: conv six")
    with pytest.raises(ResultError, match="expected a network"):
        found_of((*experiments(PLANTED), strange))


@pytest.mark.parametrize("api", ["numpy", "onnxruntime"])
def test_every_network_answers_as_its_definition_says(api: str) -> None:
    pytest.importorskip(api)
    assert len(priced(WRITTEN[api], 1)) == 4 + 24 + 3


def test_a_network_that_answers_otherwise_and_one_that_nobody_wrote_are_refused(run: Run) -> None:
    def write(network: Any, threads: int) -> Any:
        infer = numpy(network, threads)
        wrong = network is OTHERS[2]
        return lambda given: infer(given)[:, ::-1] if wrong else infer(given)

    with pytest.raises(LenetBenchError, match="CIFAR-10"):
        priced(write, 1)
    done = run("prices", "numpy", "caffe")
    assert done.code == 1
    assert "does not support caffe" in done.errors


@pytest.mark.slow
def test_an_api_whose_networks_take_known_times_is_found_out() -> None:
    made = timed(priced(toys.Priced.written, 1), [np.zeros((28, 28), np.float32)])
    found, planted = figures(found_of(tuple(Experiment(**one) for one in made))), toys.Priced.prices
    assert {name: found[name] for name in planted} == pytest.approx(planted, rel=0.35)


def test_wrong_answers_and_what_is_missing_have_no_prices(weights_file: Path) -> None:
    options = CompareOptions((toys.entry(toys.WronglyPriced),), rounds=1, weights=weights_file)
    (found,) = priced_of(measured(options, lambda _: None))
    assert (found.status, found.prices) == ("ok", ())
    assert "NumPy's" in (found.reason or "")
    assert "no prices" in " ".join(lists([found], Screen(400, False)))

    made = result(failed("jax", "unavailable", "no JAX"))
    text = "\n".join(
        lists([found_of(experiments(PLANTED)), *priced_of(made)], Screen(200, False), ["jax"])
    )
    assert "3 of 3 predictions" in text
    assert "no JAX" in text
    assert "LeNet-5 of 1998" in text


def test_the_command_prices_and_goes_on_with_its_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "prices.jsonl"
    first = run("prices", "numpy", "--rounds", "1", "-o", path, "--json")
    assert first.code == 0, first.errors
    (backend,) = json.loads(first.output)["backends"]
    assert {one["name"] for one in backend["prices"]} == set(PLANTED)
    assert all(one["measured_us"] > 0 for one in backend["predictions"])
    again = run("prices", "-o", path, "--rounds", "1")
    assert again.code == 0, again.errors
    assert "of 3 predictions" in again.output
    otherwise = run("compare", "-o", path)
    assert (otherwise.code, "other networks" in otherwise.errors) == (1, True)

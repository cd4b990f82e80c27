"""Networks other than LeNet: they answer on each API as the definition of each layer says."""

from dataclasses import replace
from typing import Any

import pytest
from lenet_bench.errors import LenetBenchError
from lenet_bench.probes.described import OTHERS, drawn, exact, image, size, steps, trivial
from lenet_bench.probes.written import WRITTEN, check, numpy


def test_the_size_of_the_perceptron_is_that_of_its_matrices() -> None:
    weights = 784 * 300 + 300 * 10
    assert size(OTHERS[0]) == pytest.approx((4 * weights / 1000, weights / 1000))


def test_a_convolution_multiplies_each_window_by_each_kernel() -> None:
    convolution = replace(OTHERS[1], layers=OTHERS[1].layers[:1])
    assert size(convolution)[1] == pytest.approx(28 * 28 * 25 * 6 / 1000)


def test_a_convolution_is_the_sum_over_its_window() -> None:
    network = replace(OTHERS[1], layers=OTHERS[1].layers[:1])
    (step,), x = steps(network), image(network)[0, 0]
    by_hand = (x[3:8, 7:12] * step.weight[2, 0]).sum() + step.bias[2]
    assert exact(network)[2, 3, 7] == pytest.approx(by_hand, rel=1e-5)


def test_the_same_networks_are_drawn_each_time() -> None:
    assert drawn() == drawn()


def test_the_drawn_networks_differ() -> None:
    assert len({one.layers for one in drawn()}) > 20


@pytest.mark.parametrize("api", ["numpy", "onnxruntime"])
def test_every_network_answers_as_its_definition_says(api: str) -> None:
    pytest.importorskip(api)
    for network in (*trivial(), *drawn(), *OTHERS):
        check(network, WRITTEN[api](network, 1))


def test_a_network_that_answers_otherwise_is_refused() -> None:
    right = numpy(OTHERS[2], 1)

    def wrong(given: Any) -> Any:
        return right(given)[:, ::-1]

    with pytest.raises(LenetBenchError, match="CIFAR-10"):
        check(OTHERS[2], wrong)

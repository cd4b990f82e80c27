"""Halide's other autoschedulers, and code without checks."""

from pathlib import Path

import halide as hl
from lenet_bench.backends import Infer
from lenet_bench.backends.halide import LeNet, autoscheduled, by_hand, compiled
from lenet_bench.weights import Weights

VARIABLES = {
    "by_hand_no_checks": {"HL_JIT_TARGET": "host-no_asserts"},
    "autoscheduled_no_checks": {"HL_JIT_TARGET": "host-no_asserts"},
}


def by_hand_no_checks(weights: Weights, threads: int) -> Infer:
    """Our schedule, without checks when it runs: no_asserts."""
    return by_hand(weights, threads)


def autoscheduled_no_checks(weights: Weights, threads: int) -> Infer:
    """The schedule of Mullapudi2016, without checks when it runs."""
    return autoscheduled(weights, threads)


def _scheduled_by(name: str, weights: Weights, settings: dict[str, str]) -> Infer:
    hl.load_plugin(str(Path(hl.install_dir()) / f"lib64/libautoschedule_{name.lower()}.so"))
    net = LeNet(weights)
    net.image.set_estimates([(0, 28), (0, 28), (0, 1)])
    net.softmax.set_estimates([(0, 10)])
    asked = hl.AutoschedulerParams(name, settings)
    hl.Pipeline([net.softmax]).apply_autoscheduler(hl.get_jit_target_from_environment(), asked)
    return compiled(net)


def li2018(weights: Weights, threads: int) -> Infer:
    """The autoscheduler Li2018."""
    return _scheduled_by("Li2018", weights, {"parallelism": str(threads)})


def adams2019_greedy(weights: Weights, threads: int) -> Infer:
    """The autoscheduler Adams2019, told to keep one schedule at a time: beam_size=1."""
    settings = {"parallelism": str(threads), "beam_size": "1"}
    return _scheduled_by("Adams2019", weights, settings)

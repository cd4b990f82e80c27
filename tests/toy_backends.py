"""A toy API with a place for every part of a call, and a delay planted into one of them."""

# ruff: noqa: ARG002, ARG003 - a backend has its interface, whatever it looks at

import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from lenet_bench.experiment_names import ENTERING
from lenet_bench.why import Way, experiments
from lenet_bench.why.native import ONE_EACH, numbered
from scratch_backends import entry as scratch_entry

PLANTED_US = 20.0
IMAGES = np.random.default_rng(0).random((28, 28), np.float32)


def spin(us):
    end = time.perf_counter_ns() + int(us * 1000)
    while us and time.perf_counter_ns() < end:
        pass


class Toy:
    """Python hands a network of trivial stages to the runtime's thread, which dispatches each."""

    python_us = hand_over_us = node_us = stage_us = after_us = 0.0
    after_a_network = False  # whether one has run since the last call

    def __init__(self, weights, *, threads):
        self.network = [self.conv2 if name == "conv2" else np.tanh for name in ONE_EACH]
        self.own_thread = ThreadPoolExecutor(1)

    def infer(self, images):
        spin(self.python_us)
        if Toy.after_a_network:
            spin(self.after_us)
        Toy.after_a_network = False
        return self.handed_over(self.network, images)

    def handed_over(self, network, images):
        """The way to the runtime's thread, and back."""
        spin(self.hand_over_us)
        return self.own_thread.submit(self.run, network, images).result()

    def run(self, network, images):
        x = images.ravel()[:10].copy()
        for step in network:
            spin(self.node_us)
            x = step(x)
        Toy.after_a_network = len(network) >= len(ONE_EACH)
        return x

    def conv2(self, x):
        spin(self.stage_us)
        return np.tanh(x)

    def describe(self):
        return {}

    @classmethod
    def probes(cls, weights, *, threads):
        def built(piece):
            toy = cls(weights, threads=threads)
            toy.network = toy.network[: piece.stages] + [np.tanh] * piece.trivial
            return toy

        ways = [
            Way("Python", "all of the call", lambda toy: toy.infer),
            Way(
                "hand-over",
                "without Python",
                lambda toy: lambda _: toy.handed_over(toy.network, IMAGES),
            ),
            Way(ENTERING, "in this thread", lambda toy: lambda _: toy.run(toy.network, IMAGES)),
        ]
        return experiments(numbered(ONE_EACH), built, ways)


class SlowPython(Toy):
    python_us = PLANTED_US


class SlowHandOver(Toy):
    hand_over_us = PLANTED_US


class SlowNode(Toy):
    node_us = PLANTED_US


class SlowStage(Toy):
    stage_us = PLANTED_US


class SlowAfter(Toy):
    after_us = PLANTED_US


class BrokenProbes(Toy):
    @classmethod
    def probes(cls, weights, *, threads):
        raise RuntimeError("no such network")


class CrashingProbes(Toy):
    @classmethod
    def probes(cls, weights, *, threads):
        os.abort()


def entry(factory):
    """Its answers are not LeNet's, and are not checked."""
    made = scratch_entry(factory, checked=False)
    return replace(made, factory=f"{__name__}:{factory.__name__}")

"""A toy API with a place for every part of a call, and a delay planted into one of them."""

# ruff: noqa: ARG002, ARG003 - a backend has its interface whether it looks at its arguments or not

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from lenet_bench.measure.options import Entry
from lenet_bench.probes import CUTS, ENTERING, IMAGES, SOFTMAX, networks, way
from scratch_backends import entry as scratch_entry

PLANTED_US = 500.0  # on a machine at work, every part moves by tens
STAGES = (*CUTS, SOFTMAX)


def spin(us):
    """Work for so long."""
    end = time.perf_counter_ns() + int(us * 1000)
    while us and time.perf_counter_ns() < end:
        pass


class Toy:
    """Python hands a network of trivial stages to the runtime's thread, which dispatches each."""

    python_us = hand_over_us = node_us = stage_us = 0.0

    def __init__(self, weights, *, threads):
        self.network = [self.conv2 if name == "conv2" else np.tanh for name in STAGES]
        self.own_thread = ThreadPoolExecutor(1)

    def infer(self, images):
        """Python above the binding."""
        spin(self.python_us)
        return self.handed_over(self.network, images)

    def handed_over(self, network, images):
        """The way to the runtime's thread, and back."""
        spin(self.hand_over_us)
        return self.own_thread.submit(self.run, network, images).result()

    def run(self, network, images):
        """One operation after the other."""
        x = images.ravel()[:10].copy()
        for step in network:
            spin(self.node_us)
            x = step(x)
        return x

    def conv2(self, x):
        """The stage that can be slow."""
        spin(self.stage_us)
        return np.tanh(x)

    def describe(self):
        """Nothing to tell."""
        return {}

    @classmethod
    def probes(cls, weights, *, threads):
        """What it is taken apart by."""
        toy, whole = cls(weights, threads=threads), cls(weights, threads=threads)
        whole.network = []

        def cut(stage):
            return [np.tanh] if stage == SOFTMAX else toy.network[: STAGES.index(stage) + 1]

        def last(network):
            return lambda _: toy.run(network, IMAGES)

        return [
            way("Python", whole.infer, "all of the call"),
            way("hand-over", lambda _: toy.handed_over([], IMAGES), "without Python"),
            way(ENTERING, last([]), "in the caller's thread"),
            *networks(last, lambda count: [np.tanh] * count, cut, dict.fromkeys(STAGES, 1)),
        ]


class SlowPython(Toy):
    python_us = PLANTED_US


class SlowHandOver(Toy):
    hand_over_us = PLANTED_US


class SlowNode(Toy):
    node_us = PLANTED_US


class SlowStage(Toy):
    stage_us = PLANTED_US


class BrokenProbes(Toy):
    @classmethod
    def probes(cls, weights, *, threads):
        """Fail."""
        raise RuntimeError("no such network")


class CrashingProbes(Toy):
    @classmethod
    def probes(cls, weights, *, threads):
        """Take the process down."""
        os.abort()


def entry(factory) -> Entry:
    """Its answers are not LeNet's, and are not checked."""
    made = scratch_entry(factory, checked=False)
    return Entry(**{**vars(made), "factory": f"{__name__}:{factory.__name__}"})

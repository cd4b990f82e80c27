"""A kind of subject that lenet-bench does not have, in one file: a product with a matrix."""

# ruff: noqa: ARG002 - they are what every subject is asked with

from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
from lenet_bench.results.model import Other
from lenet_bench.subjects.subject import STRETCHES, Known, Prepared, Subject

MATRIX = np.random.default_rng(0).random((8, 4), np.float32)


@dataclass(frozen=True)
class Product(Subject):
    factor: float = 1.0

    @property
    def label(self):
        return "product"

    @property
    def floats(self):
        return 4

    def backends(self, device):
        return ["numpy"]

    def prepared(self, run):
        inputs = np.random.default_rng(run.seed).random((3, 8), np.float32)
        known = Known(inputs, inputs @ MATRIX)
        timed = [known] * STRETCHES
        return Prepared(self, "none", known, known, timed, other=Other(self.label))

    def build(self, name, threads, weights, first):
        return SimpleNamespace(infer=lambda one: self.factor * (one @ MATRIX))

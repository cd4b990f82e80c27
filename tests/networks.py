"""Random networks and images, from a seed: what the backends' tests are fed."""

from math import prod

import numpy as np
import pytest
from lenet_bench import Unavailable, load
from lenet_bench.network import PARAMETERS
from lenet_bench.networks.graph import Draft
from lenet_bench.weights import Weights


def random_weights(seed, scale=1.0):
    """Weights that keep every layer's values of the same size, as training does."""
    random = np.random.default_rng(seed)
    parameters = {}
    for name, shape in PARAMETERS.items():
        inputs = prod(PARAMETERS[name.replace("bias", "weight")][1:])
        values = random.normal(0, scale / np.sqrt(inputs), shape)
        parameters[name] = values.astype(np.float32)
    return Weights(parameters)


def loaded(name, threads=1, weights=None):
    """The backend of these weights or of random ones; skips where its API is not installed."""
    try:
        return load(name, threads=threads, weights=weights or random_weights(0))
    except Unavailable as reason:
        pytest.skip(str(reason))


def random_images(seed, count):
    """Every pixel anywhere between paper and ink."""
    return np.random.default_rng(seed).random((count, 28, 28), dtype=np.float32)


def random_image(seed):
    return random_images(seed, 1)[0]


def branched():
    """Branches that are added and concatenated, where a builder may fuse that and where not."""
    draft = Draft((3, 13, 13))
    first = draft.conv(8, 3, stride=2)
    draft.add("conv", first, out=8, side=3, pad=1)
    added = draft.add("add", draft.last, first)  # what the convolution itself reads
    kept = draft.add("relu", added)
    draft.conv(8, 1, kept)
    draft.add("conv", out=8)
    draft.add("add", draft.last, kept)
    rectified = draft.add("relu")
    twice = draft.add("add", rectified, rectified)
    pooled = draft.add("pool", twice, side=3, pad=1)
    wide = draft.add("concat", twice, pooled, draft.conv(5, 1, twice))
    draft.add("concat", wide, draft.add("conv", wide, out=3, side=5, stride=1, pad=2))
    draft.add("mean")
    begun = draft.add("fc", out=7)
    draft.add("fc", begun, out=7)
    draft.add("add", draft.last, begun)
    draft.add("fc", out=7)
    draft.add("relu")
    draft.add("softmax")
    return draft.done("branched", "")

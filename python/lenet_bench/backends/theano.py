"""LeNet in Theano 1.0, as its deep learning tutorials wrote it.

Expressions of arrays that are rewritten to C, which the compiler at hand compiles. Convolutions
are im2col and a matrix product of the BLAS that is linked, or NumPy's where none is.
"""

import numpy as np
import theano
from theano import tensor as T  # noqa: N812
from theano.tensor import nnet
from theano.tensor.signal.pool import pool_2d

from ..weights import Weights
from ._exhibit import Array, Exhibit


class Theano(Exhibit):
    """One compiled function, the weights shared variables in it."""

    def __init__(self, weights: Weights, *, threads: int) -> None:
        self._threads = threads
        p = {name: theano.shared(array, name) for name, array in weights.parameters.items()}
        images = T.tensor4("images", dtype="float32")
        conv1 = nnet.conv2d(images, p["conv1.weight"], filter_flip=False)
        pool1 = pool_2d(conv1 + by_channel(p["conv1.bias"]), (2, 2), ignore_border=True)
        conv2 = nnet.conv2d(pool1, p["conv2.weight"], filter_flip=False)
        pool2 = pool_2d(conv2 + by_channel(p["conv2.bias"]), (2, 2), ignore_border=True)
        fc1 = nnet.relu(T.dot(pool2.flatten(2), p["fc1.weight"].T) + p["fc1.bias"])
        fc2 = T.dot(fc1, p["fc2.weight"].T) + p["fc2.bias"]
        self._function = theano.function([images], nnet.softmax(fc2))
        self._function.trust_input = True  # the image is checked already: 5 us of 163

    def forward(self, images: Array) -> Array:
        return self._function(images[:, np.newaxis])

    def describe(self) -> dict[str, str]:
        return {
            "library": f"Theano {theano.__version__}",
            "compiler": theano.config.cxx or "none, so NumPy",
            "blas": theano.config.blas.ldflags or "NumPy's",
            "threads": str(self._threads),
        }


def by_channel(bias: T.TensorVariable) -> T.TensorVariable:
    """A bias that is added to each channel of a batch."""
    return bias.dimshuffle("x", 0, "x", "x")

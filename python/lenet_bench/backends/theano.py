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
        x = images
        for layer in ("conv1", "conv2"):
            x = nnet.conv2d(x, p[f"{layer}.weight"], filter_flip=False)
            x = x + p[f"{layer}.bias"].dimshuffle("x", 0, "x", "x")
            x = pool_2d(x, (2, 2), ignore_border=True)
        x = T.dot(x.flatten(2), p["fc1.weight"].T) + p["fc1.bias"]
        x = T.dot(nnet.relu(x), p["fc2.weight"].T) + p["fc2.bias"]
        self._function = theano.function([images], nnet.softmax(x))

    def forward(self, images: Array) -> Array:
        return self._function(images[:, np.newaxis])

    def describe(self) -> dict[str, str]:
        return {
            "library": f"Theano {theano.__version__}",
            "compiler": theano.config.cxx or "none, so NumPy",
            "blas": theano.config.blas.ldflags or "NumPy's",
            "threads": str(self._threads),
        }

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
from . import Infer


def build(weights: Weights) -> Infer:
    """One compiled function, the weights shared variables in it."""
    # load
    p = {name: theano.shared(array, name) for name, array in weights.parameters.items()}
    images = T.tensor4("images", dtype="float32")
    conv1 = nnet.conv2d(images, p["conv1.weight"], filter_flip=False)
    pool1 = pool_2d(conv1 + by_channel(p["conv1.bias"]), (2, 2), ignore_border=True)
    conv2 = nnet.conv2d(pool1, p["conv2.weight"], filter_flip=False)
    pool2 = pool_2d(conv2 + by_channel(p["conv2.bias"]), (2, 2), ignore_border=True)
    fc1 = nnet.relu(T.dot(pool2.flatten(2), p["fc1.weight"].T) + p["fc1.bias"])
    fc2 = T.dot(fc1, p["fc2.weight"].T) + p["fc2.bias"]
    function = theano.function([images], nnet.softmax(fc2))
    function.trust_input = True  # without a check of types: 5 us of 163
    return lambda images: function(images[:, np.newaxis])


# conv1 and conv2
def by_channel(bias: T.TensorVariable) -> T.TensorVariable:
    """A bias that is added to each channel of a batch."""
    return bias.dimshuffle("x", 0, "x", "x")


def describe() -> dict[str, str]:
    """The compiler and the BLAS that it found."""
    return {
        "compiler": theano.config.cxx or "none, so NumPy",
        "blas": theano.config.blas.ldflags or "NumPy's",
    }

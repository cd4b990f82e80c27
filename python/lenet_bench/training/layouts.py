"""Parameters between Caffe's layout, which is the project's, and channels last.

Channels last is how Keras, TensorFlow and JAX like them: kernels as HWIO, matrices as in x out, and
fc1's inputs as height x width x channels.
"""

import numpy as np
from numpy.typing import NDArray

from ..network import LAYERS, PARAMETERS

_CHANNELS, _HEIGHT, _WIDTH = LAYERS["pool2"]


def to_channels_last(name: str, array: NDArray[np.float32]) -> NDArray[np.float32]:
    """From Caffe's layout: OIHW to HWIO, out x in to in x out, fc1's inputs CHW to HWC."""
    if name == "fc1.weight":
        array = array.reshape(-1, _CHANNELS, _HEIGHT, _WIDTH).transpose(0, 2, 3, 1)
        array = array.reshape(len(array), -1)
    turned: NDArray[np.float32] = array.transpose(2, 3, 1, 0) if array.ndim == 4 else array.T
    return turned


def to_caffe(name: str, array: NDArray[np.float32]) -> NDArray[np.float32]:
    """The inverse of `to_channels_last`, as a copy of its own."""
    if array.ndim == 4:
        array = array.transpose(3, 2, 0, 1)
    elif name == "fc1.weight":
        array = array.T.reshape(-1, _HEIGHT, _WIDTH, _CHANNELS).transpose(0, 3, 1, 2)
    else:
        array = array.T
    return np.array(array.reshape(PARAMETERS[name]), dtype=np.float32, order="C")

"""LeNet in raw TensorFlow operations.

Under Keras and beside JAX: each operation is a kernel of TensorFlow's, on oneDNN or Eigen, or on
cuDNN and cuBLAS where it is told to run on a GPU. `eager` dispatches them one by one from Python,
`function` traces them into a graph once, `concrete` calls that graph without looking for the right
one first, and `xla` does so once XLA has compiled it.
"""

import numpy as np
import tensorflow as tf

from ..weights import Weights
from ._exhibit import Array, Exhibit


class LeNet(tf.Module):
    """The network on tf.nn; images (n, 28, 28, 1)."""

    def __init__(self, weights: Weights) -> None:
        super().__init__()
        fc1 = weights["fc1.weight"].reshape(500, 50, 4, 4)  # rows x CHW
        self.conv1_weight = tf.constant(weights["conv1.weight"].transpose(2, 3, 1, 0))  # HWIO
        self.conv1_bias = tf.constant(weights["conv1.bias"])
        self.conv2_weight = tf.constant(weights["conv2.weight"].transpose(2, 3, 1, 0))
        self.conv2_bias = tf.constant(weights["conv2.bias"])
        self.fc1_weight = tf.constant(fc1.transpose(2, 3, 1, 0).reshape(800, 500))  # HWC x columns
        self.fc1_bias = tf.constant(weights["fc1.bias"])
        self.fc2_weight = tf.constant(weights["fc2.weight"].T)
        self.fc2_bias = tf.constant(weights["fc2.bias"])

    def __call__(self, images: tf.Tensor) -> tf.Tensor:
        x = tf.nn.conv2d(images, self.conv1_weight, strides=1, padding="VALID")
        x = tf.nn.max_pool2d(tf.nn.bias_add(x, self.conv1_bias), 2, strides=2, padding="VALID")
        x = tf.nn.conv2d(x, self.conv2_weight, strides=1, padding="VALID")
        x = tf.nn.max_pool2d(tf.nn.bias_add(x, self.conv2_bias), 2, strides=2, padding="VALID")
        x = tf.reshape(x, [-1, 800])
        x = tf.nn.relu(tf.nn.bias_add(x @ self.fc1_weight, self.fc1_bias))
        return tf.nn.softmax(tf.nn.bias_add(x @ self.fc2_weight, self.fc2_bias))


class TensorFlow(Exhibit):
    """The module called as it is (`eager`), or as a graph in one of three ways."""

    def __init__(self, weights: Weights, *, threads: int, variant: str, device: str) -> None:
        tf.config.threading.set_intra_op_parallelism_threads(threads)
        tf.config.threading.set_inter_op_parallelism_threads(1)
        tf.config.set_soft_device_placement(False)  # what cannot run on the device is an error
        tf.config.experimental.enable_tensor_float_32_execution(False)
        gpus = tf.config.list_physical_devices("GPU")
        if device == "gpu" and not gpus:
            raise RuntimeError(f"TensorFlow {tf.__version__} sees no GPU")
        tf.config.set_visible_devices(gpus[:1] if device == "gpu" else [], "GPU")
        self._variant = variant
        self._model = LeNet(weights)
        if variant != "eager":
            self._model = tf.function(self._model, jit_compile=variant == "xla")
        if variant in ("concrete", "xla"):
            images = tf.TensorSpec([None, 28, 28, 1], tf.float32)
            self._model = self._model.get_concrete_function(images)

    def forward(self, images: Array) -> Array:
        return self._model(tf.constant(images[..., np.newaxis])).numpy()

    def describe(self) -> dict[str, str]:
        return {
            "library": f"TensorFlow {tf.__version__}",
            "variant": self._variant,
            "threads": str(tf.config.threading.get_intra_op_parallelism_threads()),
            "device": self._model(tf.zeros([1, 28, 28, 1])).device,
        }

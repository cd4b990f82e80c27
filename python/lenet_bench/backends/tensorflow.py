"""LeNet in raw TensorFlow operations.

Under Keras and beside JAX: each operation is a kernel of TensorFlow's, on oneDNN or Eigen, or on
cuDNN and cuBLAS where it runs on a GPU. `eager` dispatches them one by one from Python, `function`
traces them into a graph once, `concrete` calls that graph without looking for the right one first,
and `xla` does so once XLA has compiled it. `session` has the graph in a session, TensorFlow 1's
API, which can be told to compute it in the thread that calls. These three are made for one image,
and once more for batches.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from ..network import IMAGE
from ..weights import Weights
from . import Infer, in_cpp


class LeNet(tf.Module):
    """The network on tf.nn; images (n, 28, 28, 1)."""

    # load
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
        # conv1 and pool1
        x = tf.nn.max_pool2d(tf.nn.bias_add(x, self.conv1_bias), 2, strides=2, padding="VALID")
        x = tf.nn.conv2d(x, self.conv2_weight, strides=1, padding="VALID")
        # conv2 and pool2
        x = tf.nn.max_pool2d(tf.nn.bias_add(x, self.conv2_bias), 2, strides=2, padding="VALID")
        x = tf.reshape(x, [-1, 800])  # fc1
        x = tf.nn.relu(tf.nn.bias_add(x @ self.fc1_weight, self.fc1_bias))
        return tf.nn.softmax(tf.nn.bias_add(x @ self.fc2_weight, self.fc2_bias))  # fc2 and softmax


def load(weights: Weights, threads: int) -> LeNet:
    """The module, on so many threads."""
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    return LeNet(weights)


def given(count: int | None) -> tf.TensorSpec:
    """What a graph is given: so many images; None is any number."""
    return tf.TensorSpec([count, *IMAGE, 1], tf.float32)


def graph_of(
    module: LeNet, count: int | None, *, jit_compile: bool = False
) -> tf.types.experimental.ConcreteFunction:
    """The graph for so many images."""
    return tf.function(module, jit_compile=jit_compile).get_concrete_function(given(count))


def on_arrays(model: tf.types.experimental.Callable) -> Infer:
    """The model from array to array."""
    return lambda images: model(tf.constant(images[..., np.newaxis])).numpy()


def eager(weights: Weights, threads: int) -> Infer:
    """Operation after operation."""
    return on_arrays(load(weights, threads))


def function(weights: Weights, threads: int) -> Infer:
    """Traced into a graph when it is called first."""
    return on_arrays(tf.function(load(weights, threads)))


def xla(weights: Weights, threads: int, images: int | None) -> Infer:
    """The graph itself, compiled by XLA."""
    return on_arrays(graph_of(load(weights, threads), images, jit_compile=True))


def concrete(weights: Weights, threads: int, images: int | None) -> Infer:
    """The graph itself."""
    return on_arrays(graph_of(load(weights, threads), images))


def bfloat16(weights: Weights, threads: int) -> Infer:
    """The graph in bfloat16: weights, images and all between."""
    module = load(weights, threads)
    for name, array in list(vars(module).items()):
        if name.endswith(("_weight", "_bias")):
            setattr(module, name, tf.cast(array, tf.bfloat16))

    def lenet(images: tf.Tensor) -> tf.Tensor:
        return tf.cast(module(tf.cast(images, tf.bfloat16)), tf.float32)

    return on_arrays(tf.function(lenet).get_concrete_function(given(1)))


def session(weights: Weights, threads: int, images: int | None) -> Infer:
    """The graph in a session of TensorFlow 1."""
    v1, spec = tf.compat.v1, given(images)
    with tf.Graph().as_default() as graph:
        image = v1.placeholder(spec.dtype, spec.shape)
        answer = load(weights, threads)(image)
    config = v1.ConfigProto(intra_op_parallelism_threads=threads, inter_op_parallelism_threads=1)
    session = v1.Session(graph=graph, config=config)
    here = v1.RunOptions(inter_op_thread_pool=-1)  # in the thread that calls
    return lambda images: session.run(answer, {image: images[..., np.newaxis]}, options=here)


def cpp(weights: Weights, threads: int) -> Infer:
    """`session` in C++, on the same libraries."""
    folder = Path(tf.__file__).parent
    libraries = [folder / f"libtensorflow_{name}.so.2" for name in ("cc", "framework")]
    includes = [Path(tf.sysconfig.get_include())]
    return in_cpp.build("tensorflow", tf.__version__, includes, libraries, weights, threads)


def describe(
    model: Any = None, session: Any = None, image: Any = None, answer: Any = None
) -> dict[str, str]:
    """The threads, and the device that an answer lies on."""
    if session:
        device = device_of(session, image, answer)
    else:
        device = model(tf.zeros([1, *IMAGE, 1])).device
    threads = tf.config.threading.get_intra_op_parallelism_threads()
    return {"threads": str(threads), "device": device}


def device_of(session: Any, image: Any, answer: Any) -> str:
    """The devices of the operations that do the work, from a run that reports its graphs."""
    v1 = tf.compat.v1
    report = v1.RunMetadata()
    session.run(
        answer,
        {image: np.zeros((1, *IMAGE, 1), np.float32)},
        options=v1.RunOptions(output_partition_graphs=True),
        run_metadata=report,
    )
    work = re.compile("Conv2D|MaxPool|MatMul|Softmax")  # also of _FusedConv2D
    nodes = (node for graph in report.partition_graphs for node in graph.node)
    return ", ".join(sorted({node.device for node in nodes if work.search(node.op)}))

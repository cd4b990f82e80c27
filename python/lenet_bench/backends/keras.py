"""LeNet in Keras 3.

Layers with names, on the framework that KERAS_BACKEND chose before Keras was imported: TensorFlow,
JAX, PyTorch or OpenVINO. `predict` is what the guides show, made for data sets: it builds an input
pipeline and runs callbacks on each call. `predict_on_batch` only runs the compiled graph, `call`
runs the layers one after another: what Keras' documentation names for a few images. `function`,
`jit` and `compile` give the model to the compiler of the framework below; `bfloat16` and `int8` do
so in precisions that Keras has words for, a policy and Model.quantize. It has no word for threads,
nor to demand float32, so whoever sets these writes for that framework too.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import keras
import numpy as np
from keras import layers

from ..network import IMAGE
from ..weights import Weights
from . import Array, Infer


def lenet(weights: Weights) -> keras.Sequential:
    """The network as Keras' guides write it."""
    model = keras.Sequential(
        [
            keras.Input((28, 28, 1)),
            layers.Conv2D(20, 5, name="conv1"),
            layers.MaxPooling2D(2),  # pool1
            layers.Conv2D(50, 5, name="conv2"),
            layers.MaxPooling2D(2),  # pool2
            layers.Flatten(),  # fc1
            layers.Dense(500, activation="relu", name="fc1"),
            layers.Dense(10, activation="softmax", name="fc2"),  # fc2 and softmax
        ]
    )
    # load
    for name in ("conv1", "conv2"):
        kernel = weights[f"{name}.weight"].transpose(2, 3, 1, 0)  # OIHW to HWIO
        model.get_layer(name).set_weights([kernel, weights[f"{name}.bias"]])
    # load
    fc1 = weights["fc1.weight"].reshape(500, 50, 4, 4)  # rows x CHW
    # load
    fc1 = fc1.transpose(2, 3, 1, 0).reshape(800, 500)  # HWC x columns
    # load
    model.get_layer("fc1").set_weights([fc1, weights["fc1.bias"]])
    # load
    model.get_layer("fc2").set_weights([weights["fc2.weight"].T, weights["fc2.bias"]])
    return model


def predict(weights: Weights) -> Infer:
    """Through the input pipeline and callbacks of Model.predict."""
    model = lenet(weights)
    return lambda images: model.predict(images[..., np.newaxis], verbose=0)


def predict_on_batch(weights: Weights) -> Infer:
    """The compiled graph only."""
    model = lenet(weights)
    return lambda images: model.predict_on_batch(images[..., np.newaxis])


def call(weights: Weights) -> Infer:
    """Layer after layer."""
    return on_arrays(lenet(weights))


def on_arrays(model: keras.Model) -> Infer:
    """The model from array to array."""

    def infer(images: Array) -> Array:
        return keras.ops.convert_to_numpy(model(images[..., np.newaxis]))

    if keras.config.backend() != "torch":
        return infer
    import torch

    return torch.no_grad()(infer)  # or it prepares for gradients


def function(weights: Weights) -> Infer:
    """The model in a function that TensorFlow compiles."""
    import tensorflow as tf

    return through_tensors(tf.function(lenet(weights), jit_compile=True))


def through_tensors(program: Callable[[Any], Any]) -> Infer:
    """TensorFlow's program from array to array."""
    import tensorflow as tf

    return lambda images: program(tf.constant(images[..., np.newaxis])).numpy()


def jit(weights: Weights) -> Infer:
    """The model in a function that JAX compiles, its weights constants of the program."""
    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", False)  # no other thread for one image
    model = lenet(weights)
    kinds = model.trainable_variables, model.non_trainable_variables
    values = [[one.value for one in variables] for variables in kinds]
    program = jax.jit(lambda images: model.stateless_call(*values, images)[0])
    return lambda images: np.array(program(images[..., np.newaxis]))


def bfloat16(weights: Weights) -> Infer:
    """The same, the policy mixed_bfloat16: it computes in bfloat16, its weights in float32."""
    import tensorflow as tf

    keras.config.set_dtype_policy("mixed_bfloat16")
    model = lenet(weights)
    keras.config.set_dtype_policy("float32")  # for the models after it
    return through_tensors(tf.function(lambda x: tf.cast(model(x), tf.float32), jit_compile=True))


def int8(weights: Weights) -> Infer:
    """The same, the fully connected layers quantized by Model.quantize."""
    import tensorflow as tf

    model = lenet(weights)
    model.quantize("int8")
    return through_tensors(tf.function(model, jit_compile=True))


def compile(weights: Weights, device: str) -> Infer:
    """The model compiled by PyTorch."""
    import torch

    torch._inductor.config.compile_threads = 1
    program = torch.compile(lenet(weights))

    def infer(images: Array) -> Array:
        return program(torch.from_numpy(images[..., np.newaxis]).to(device)).cpu().numpy()

    return torch.no_grad()(infer)


def on_tensorflow(threads: int) -> None:
    """Settings for Keras on TensorFlow."""
    import tensorflow

    tensorflow.config.threading.set_intra_op_parallelism_threads(threads)
    tensorflow.config.threading.set_inter_op_parallelism_threads(1)


def on_torch(threads: int) -> None:
    """Settings for Keras on PyTorch."""
    import torch

    torch.set_num_threads(threads)


def on_openvino(threads: int) -> None:
    """Settings for Keras on OpenVINO, which computes in bfloat16 by default where it can."""
    import openvino

    config = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads}
    openvino.compile_model = partial(openvino.compile_model, config=config)  # Keras passes none


def describe(model: Any = None, program: Any = None) -> dict[str, str]:
    """The framework below, and the device that an answer lies on."""
    framework = import_module(keras.config.backend())
    image = np.zeros((1, *IMAGE, 1), np.float32)
    compiled = program is not None  # a compiled model has no truth value
    answer = program(keras.ops.convert_to_tensor(image)) if compiled else model(image)
    return {
        "backend": f"{framework.__name__} {framework.__version__}",
        "jit_compile": "True" if compiled else str(model.jit_compile),
        "device": str(getattr(answer, "device", "cpu")),  # OpenVINO's tensors have no device
    }

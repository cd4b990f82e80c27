"""LeNet in PaddlePaddle.

Baidu's framework; its kernels are its own, on MKL. `eager` runs layer after layer, `static` what
jit.to_static made of them, and `predictor` is the engine for deployment on the saved program, which
uses oneDNN. `bfloat16` is the same in that type.
"""

import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import paddle
from paddle import inference, nn
from paddle.nn import functional
from paddle.static import InputSpec

from ..weights import Weights
from . import Array, Infer


class LeNet(nn.Layer):
    """The network as Paddle's tutorials write it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(1, 20, kernel_size=5)
        self.conv2 = nn.Conv2D(20, 50, kernel_size=5)
        self.pool = nn.MaxPool2D(kernel_size=2)  # pool1 and pool2
        self.fc1 = nn.Linear(50 * 4 * 4, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        x = self.pool(self.conv1(x))  # conv1 and pool1
        x = self.pool(self.conv2(x))  # conv2 and pool2
        x = functional.relu(self.fc1(paddle.flatten(x, 1)))
        return functional.softmax(self.fc2(x))  # fc2 and softmax


def load(weights: Weights) -> LeNet:
    """The layer with its weights."""
    paddle.set_device("cpu")
    model = LeNet()
    # load
    parameters = weights.parameters.items()  # fully connected layers are stored as in x out
    # load
    model.set_state_dict({name: a.T if name.startswith("fc") else a for name, a in parameters})
    model.eval()
    return model


def to_static(model: LeNet) -> nn.Layer:
    """The graph of it, for any number of images."""
    image = InputSpec([None, 1, 28, 28], "float32", "image")
    return paddle.jit.to_static(model, input_spec=[image], full_graph=True)


def on_arrays(model: nn.Layer) -> Infer:
    """The layer from array to array."""

    def infer(images: Array) -> Array:
        with paddle.no_grad():
            return model(paddle.to_tensor(images[:, np.newaxis])).numpy()

    return infer


def eager(weights: Weights) -> Infer:
    """The layer as it is."""
    return on_arrays(load(weights))


def static(weights: Weights) -> Infer:
    """The graph of it."""
    return on_arrays(to_static(load(weights)))


def predictor(weights: Weights, threads: int) -> Infer:
    """The inference engine on the saved program."""
    return deployed(weights, threads, inference.Config.enable_mkldnn)  # which is the default


def bfloat16(weights: Weights, threads: int) -> Infer:
    """The inference engine in bfloat16, which oneDNN has."""
    return deployed(weights, threads, inference.Config.enable_mkldnn_bfloat16)


def deployed(weights: Weights, threads: int, onednn: Callable[[inference.Config], None]) -> Infer:
    """The saved program in a predictor, with oneDNN set so."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = str(Path(folder) / "lenet")
        paddle.jit.save(to_static(load(weights)), prefix)
        config = inference.Config(f"{prefix}.json", f"{prefix}.pdiparams")  # load
        config.disable_gpu()
        onednn(config)
        config.set_cpu_math_library_num_threads(threads)
        engine = inference.create_predictor(config)
    image = engine.get_input_handle("image")
    (output,) = engine.get_output_names()
    probabilities = engine.get_output_handle(output)

    def infer(images: Array) -> Array:
        image.copy_from_cpu(images[:, np.newaxis])
        engine.run()
        return probabilities.copy_to_cpu()

    return infer

"""LeNet in PaddlePaddle.

Baidu's framework; its kernels are its own, on MKL. `eager` runs layer after layer, `static` what
jit.to_static made of them, and `predictor` is the engine for deployment on the saved program.
"""

import tempfile
from pathlib import Path

import numpy as np
import paddle
from paddle import inference, nn
from paddle.nn import functional
from paddle.static import InputSpec

from ..weights import Weights
from ._exhibit import Array, Exhibit


class LeNet(nn.Layer):
    """The network as Paddle's tutorials write it."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2D(1, 20, kernel_size=5)
        self.conv2 = nn.Conv2D(20, 50, kernel_size=5)
        self.pool = nn.MaxPool2D(kernel_size=2)
        self.fc1 = nn.Linear(50 * 4 * 4, 500)
        self.fc2 = nn.Linear(500, 10)

    def forward(self, x: paddle.Tensor) -> paddle.Tensor:
        x = self.pool(self.conv1(x))
        x = self.pool(self.conv2(x))
        x = functional.relu(self.fc1(paddle.flatten(x, 1)))
        return functional.softmax(self.fc2(x))


class Paddle(Exhibit):
    """The layer, its static graph, or a predictor on that."""

    def __init__(self, weights: Weights, *, threads: int, variant: str) -> None:
        self._variant, self._threads = variant, threads
        paddle.set_device("cpu")
        model = LeNet()
        model.set_state_dict(
            {  # fully connected layers are stored as in x out
                name: array.T if name.startswith("fc") else array
                for name, array in weights.parameters.items()
            }
        )
        model.eval()
        if variant != "eager":
            image = InputSpec([None, 1, 28, 28], "float32", "image")
            model = paddle.jit.to_static(model, input_spec=[image], full_graph=True)
        if variant == "predictor":
            self._predictor = predictor(model, threads)
            self._input = self._predictor.get_input_handle("image")
            (output,) = self._predictor.get_output_names()
            self._output = self._predictor.get_output_handle(output)
        else:
            self._model = model

    def forward(self, images: Array) -> Array:
        if self._variant == "predictor":
            self._input.copy_from_cpu(images[:, np.newaxis])
            self._predictor.run()
            return self._output.copy_to_cpu()
        with paddle.no_grad():
            return self._model(paddle.to_tensor(images[:, np.newaxis])).numpy()

    def describe(self) -> dict[str, str]:
        return {
            "library": f"PaddlePaddle {paddle.__version__}",
            "variant": self._variant,
            "threads": str(self._threads),
        }


def predictor(model: nn.Layer, threads: int) -> inference.Predictor:
    """Save the program and its parameters, and have the inference engine read them."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = str(Path(folder) / "lenet")
        paddle.jit.save(model, prefix)
        config = inference.Config(f"{prefix}.json", f"{prefix}.pdiparams")
        config.disable_gpu()
        config.disable_mkldnn()  # on by default, and here slower: 256 us instead of 158
        config.set_cpu_math_library_num_threads(threads)
        return inference.create_predictor(config)

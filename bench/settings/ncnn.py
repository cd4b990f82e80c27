"""What ncnn's Option names."""

import tempfile
from pathlib import Path

import ncnn
import numpy as np
from lenet_bench.backends import Array, Infer
from lenet_bench.backends.ncnn import PARAM
from lenet_bench.weights import Weights


def _net(weights: Weights, threads: int, **options: bool) -> Infer:
    net = ncnn.Net()
    net.opt.num_threads = threads
    net.opt.use_vulkan_compute = False
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = net.opt.use_bf16_packed = False
    for name, value in options.items():
        setattr(net.opt, name, value)
    with tempfile.TemporaryDirectory() as folder:
        param, model = Path(folder) / "lenet.param", Path(folder) / "lenet.bin"
        param.write_text(PARAM)
        with model.open("wb") as file:
            for layer in ("conv1", "conv2", "fc1", "fc2"):
                file.write(np.uint32(0).tobytes())
                file.write(weights[f"{layer}.weight"].tobytes())
                file.write(weights[f"{layer}.bias"].tobytes())
        net.load_param(str(param))
        net.load_model(str(model))

    def infer(images: Array) -> Array:
        extractor = net.create_extractor()
        extractor.input("image", ncnn.Mat(images))
        _, probabilities = extractor.extract("probabilities")
        return np.array(probabilities)[np.newaxis]

    return infer


def no_packing(weights: Weights, threads: int) -> Infer:
    """No packed layout."""
    return _net(weights, threads, use_packing_layout=False)


def no_sgemm(weights: Weights, threads: int) -> Infer:
    """Convolutions not as matrix products."""
    return _net(weights, threads, use_sgemm_convolution=False)


def no_winograd(weights: Weights, threads: int) -> Infer:
    """Convolutions not by Winograd's method."""
    return _net(weights, threads, use_winograd_convolution=False)


def no_light_mode(weights: Weights, threads: int) -> Infer:
    """Intermediate results kept."""
    return _net(weights, threads, lightmode=False)

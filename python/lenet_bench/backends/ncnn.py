"""LeNet in ncnn.

A C++ library made for phones, with kernels and assembly of its own. The network is its .param text,
one layer a line; the weights follow one another in its .bin: a zero marks raw float32. Its options
for 16-bit floats are on by default and change probabilities by up to 3.5e-4, so all are turned off;
`float16` is that default, and `bfloat16` keeps weights and what passes between layers in the other
kind.
"""

import tempfile
from pathlib import Path

import ncnn
import numpy as np

from ..weights import Weights
from . import Array, Infer

PARAM = """\
7767517
9 9
Input         image  0 1 image
Convolution   conv1  1 1 image conv1 0=20 1=5 5=1 6=500
Pooling       pool1  1 1 conv1 pool1 0=0 1=2 2=2 5=1
Convolution   conv2  1 1 pool1 conv2 0=50 1=5 5=1 6=25000
Pooling       pool2  1 1 conv2 pool2 0=0 1=2 2=2 5=1
InnerProduct  fc1    1 1 pool2 fc1 0=500 1=1 2=400000
ReLU          relu1  1 1 fc1 relu1
InnerProduct  fc2    1 1 relu1 fc2 0=10 1=1 2=5000
Softmax       prob   1 1 fc2 probabilities 0=0
"""


def build(
    weights: Weights,
    threads: int,
    *,
    winograd: bool = True,
    fp16: bool = False,
    bf16: bool = False,
) -> Infer:
    """A net, and an extractor for each image."""
    net = ncnn.Net()
    net.opt.num_threads = threads
    net.opt.use_winograd_convolution = winograd
    net.opt.use_vulkan_compute = False
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = fp16
    if bf16:  # which it is not by default
        net.opt.use_bf16_storage = net.opt.use_bf16_packed = True
    # load
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


def direct(weights: Weights, threads: int) -> Infer:
    """No Winograd, which ncnn uses for convolutions of three by three, so not for LeNet's."""
    return build(weights, threads, winograd=False)


def float16(weights: Weights, threads: int) -> Infer:
    """The same as ncnn's default options have it."""
    return build(weights, threads, fp16=True)


def bfloat16(weights: Weights, threads: int) -> Infer:
    """The same, stored in bfloat16."""
    return build(weights, threads, bf16=True)


def describe(net: ncnn.Net) -> dict[str, str]:
    """The threads of the net."""
    return {"threads": str(net.opt.num_threads)}

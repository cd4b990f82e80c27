"""LeNet in Triton: kernels for a GPU, written in Python on blocks of numbers.

A kernel says what one program does with its block, and Triton compiles it. There are two, each
called twice: a convolution with its pool, and a fully connected layer with what follows it. All is
float32, in plain sums without tensor cores. PyTorch holds the memory.
"""

import torch
import triton
from triton import language as tl

from ..network import CLASSES
from ..weights import Weights
from . import Array, Infer


# conv1, pool1, conv2 and pool2
@triton.jit
def convolve(
    inputs, weight, bias, outputs, side: tl.constexpr, taps: tl.constexpr, block: tl.constexpr
):
    """16 pixels of a channel: a 5x5 convolution, the largest of each 2x2 square, and the bias."""
    pooled: tl.constexpr = (side - 4) // 2
    channel, tap = tl.program_id(0), tl.arange(0, block)
    pixel = tl.program_id(1) * 16 + tl.arange(0, 16)
    corner = pixel // pooled * 2 * side + pixel % pooled * 2
    offset = tap // 25 * side * side + tap // 5 % 5 * side + tap % 5
    windows = inputs + corner[:, None] + offset[None, :]
    w = tl.load(weight + channel * taps + tap, tap < taps, 0.0)
    largest = tl.full((16,), float("-inf"), tl.float32)
    for down in tl.static_range(2):
        for right in tl.static_range(2):
            x = tl.load(windows + down * side + right, tap[None, :] < taps, 0.0)
            largest = tl.maximum(largest, tl.sum(x * w[None, :], 1))
    tl.store(outputs + channel * pooled * pooled + pixel, largest + tl.load(bias + channel))


# fc1 and fc2
@triton.jit
def connect(
    inputs,
    weight,
    bias,
    outputs,
    rows: tl.constexpr,
    columns: tl.constexpr,
    block_rows: tl.constexpr,
    block_columns: tl.constexpr,
    softmax: tl.constexpr,
):
    """A block of rows of a fully connected layer, and its ReLU; or all rows, and their softmax."""
    row = tl.program_id(0) * block_rows + tl.arange(0, block_rows)
    column = tl.arange(0, block_columns)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    x = tl.load(inputs + column, column < columns, 0.0)
    w = tl.load(weight + row[:, None] * columns + column[None, :], inside, 0.0)
    y = tl.sum(w * x[None, :], 1) + tl.load(bias + row, row < rows, float("-inf"))
    if softmax:
        exponentials = tl.exp(y - tl.max(y, 0))  # softmax
        y = exponentials / tl.sum(exponentials, 0)  # softmax
    else:
        y = tl.maximum(y, 0.0)
    tl.store(outputs + row, y, row < rows)


def build(weights: Weights, device: str) -> Infer:
    """The network for one image, in four launches."""
    p = {name: torch.tensor(a, device=device) for name, a in weights.parameters.items()}  # load
    pool1, pool2 = torch.empty(20, 12, 12, device=device), torch.empty(50, 4, 4, device=device)
    fc1, answer = torch.empty(500, device=device), torch.empty(1, CLASSES, device=device)

    def infer(images: Array) -> Array:
        x = torch.from_numpy(images).to(device)
        convolve[20, 9](x, p["conv1.weight"], p["conv1.bias"], pool1, 28, 25, 32)
        convolve[50, 1](pool1, p["conv2.weight"], p["conv2.bias"], pool2, 12, 500, 512)
        connect[125,](pool2, p["fc1.weight"], p["fc1.bias"], fc1, 500, 800, 4, 1024, False)
        connect[1,](fc1, p["fc2.weight"], p["fc2.bias"], answer, CLASSES, 500, 16, 512, True)
        return answer.cpu().numpy()

    return infer


def describe(answer: torch.Tensor) -> dict[str, str]:
    """The device that the answer lies on, and the version of what holds it."""
    return {"device": str(answer.device), "torch": str(torch.__version__)}

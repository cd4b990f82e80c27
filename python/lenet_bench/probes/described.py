"""Networks other than LeNet, as lists of layers.

A convolution has stride 1; `same` keeps the size of its image. A pool is 2x2. Weights are random,
and the same each time.
"""

from dataclasses import dataclass
from functools import cache
from math import prod
from random import Random

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from . import COUNTS

Array = NDArray[np.float32]
Exact = NDArray[np.float64]

_DRAWN = 24
_MOST_KB, _MOST_KMACS = 5_000, 20_000  # of a network that is drawn


@dataclass(frozen=True)
class Layer:
    """`conv` and `same` with their channels and side, `dense` with its floats; others are named."""

    kind: str
    out: int = 0
    side: int = 0


@dataclass(frozen=True)
class Described:
    """A network: the shape of its image (channels first), and its layers."""

    name: str
    shape: tuple[int, ...]
    layers: tuple[Layer, ...]


@dataclass(frozen=True)
class Step:
    """A layer with its weights, (out, in, side, side) or (out, in), and the shapes beside it."""

    kind: str
    before: tuple[int, ...]
    after: tuple[int, ...]
    weight: Array
    bias: Array

    @property
    def convolves(self) -> bool:
        return self.kind in ("conv", "same")

    @property
    def has_weights(self) -> bool:
        return self.convolves or self.kind == "dense"

    @property
    def side(self) -> int:
        """The side of a convolution's kernel."""
        return self.weight.shape[-1]

    def channels_last(self) -> tuple[Array, Array]:
        """Weights (side, side, in, out) or (in, out), for images whose channels are last; bias."""
        weight = self.weight
        if self.convolves:
            return np.ascontiguousarray(weight.transpose(2, 3, 1, 0)), self.bias
        if len(self.before) == 3:
            weight = weight.reshape(-1, *self.before).transpose(0, 2, 3, 1).reshape(weight.shape)
        return np.ascontiguousarray(weight.T), self.bias


def _layers(text: str) -> tuple[Layer, ...]:
    """`conv 6 5, tanh` as layers."""
    words = (one.split() for one in text.split(", "))
    return tuple(Layer(kind, *map(int, numbers)) for kind, *numbers in words)


_TEN = "dense 10, softmax"
#: Networks that people know.
OTHERS = (
    Described("784-300-10 perceptron", (1, 28, 28), _layers(f"dense 300, tanh, {_TEN}")),
    Described(
        "LeNet-5 of 1998",
        (1, 32, 32),
        _layers(
            "conv 6 5, tanh, mean, conv 16 5, tanh, mean, dense 120, tanh, dense 84, tanh, " + _TEN
        ),
    ),
    Described(
        "CNN for CIFAR-10",
        (3, 32, 32),
        _layers(
            "same 32 3, relu, conv 32 3, relu, max, same 64 3, relu, conv 64 3, relu, max, "
            f"dense 512, relu, {_TEN}"
        ),
    ),
)


def trivial() -> list[Described]:
    """Ten floats in, and so many operations on them."""
    return [Described(str(n), (10,), (Layer("trivial"),) * n) for n in COUNTS]


def drawn() -> list[Described]:
    """Random small classifiers, the same each time."""
    found: list[Described] = []
    random = Random(0)
    while len(found) < _DRAWN:
        one = _draw(random, f"drawn {len(found) + 1}")
        kilobytes, multiply_adds = size(one)
        if kilobytes <= _MOST_KB and multiply_adds <= _MOST_KMACS:
            found.append(one)
    return found


def _draw(random: Random, name: str) -> Described:
    """Up to four convolutions and two dense layers before the last."""
    side = random.choice((12, 16, 20, 28, 32))
    shape = (random.choice((1, 3, 16)), side, side)
    activation = random.choice(("relu", "tanh"))
    layers = []
    for _ in range(random.randrange(5)):
        kind, kernel = random.choice(("conv", "same")), random.choice((3, 5))
        after = side if kind == "same" else side - kernel + 1
        if after < 4:
            break
        side = after
        layers += [f"{kind} {random.choice((6, 12, 16, 24, 32, 48, 64))} {kernel}"]
        layers += [activation] if random.random() < 0.7 else []
        if side >= 8 and random.random() < 0.6:
            layers.append(random.choice(("max", "mean")))
            side //= 2
    for _ in range(random.choice((0, 1, 1, 2))):
        layers += [f"dense {random.choice((64, 128, 256, 512))}", activation]
    return Described(name, shape, _layers(", ".join([*layers, _TEN])))


def spelt(network: Described) -> str:
    """`1x28x28: dense 300, tanh, dense 10, softmax`."""
    layers = (f"{one.kind} {one.out or ''} {one.side or ''}".strip() for one in network.layers)
    return f"{'x'.join(map(str, network.shape))}: {', '.join(layers)}"


def size(network: Described) -> tuple[float, float]:
    """Its weights in kB, and its multiply-adds in thousands."""
    kilobytes = multiply_adds = 0.0
    shape = network.shape
    for layer in network.layers:
        after = _after(layer, shape)
        if layer.out:
            taken = shape[0] * layer.side**2 if layer.side else prod(shape)
            kilobytes += 4 * taken * layer.out / 1000
            multiply_adds += taken * prod(after) / 1000
        shape = after
    return kilobytes, multiply_adds


@cache
def steps(network: Described) -> list[Step]:
    """Its layers, with weights scaled so that the floats neither vanish nor grow."""
    random = np.random.default_rng(0)
    found, shape = [], network.shape
    for layer in network.layers:
        after = _after(layer, shape)
        taken = (shape[0], layer.side, layer.side) if layer.side else (prod(shape),)
        weight = random.standard_normal((layer.out, *taken), np.float32)
        weight *= np.float32((2 / prod(taken)) ** 0.5)
        bias = random.standard_normal(layer.out, np.float32) / np.float32(10)
        found.append(Step(layer.kind, shape, after, weight, bias))
        shape = after
    return found


def _after(layer: Layer, shape: tuple[int, ...]) -> tuple[int, ...]:
    match layer.kind:
        case "conv":
            return (layer.out, *(side - layer.side + 1 for side in shape[1:]))
        case "same":
            return (layer.out, *shape[1:])
        case "dense":
            return (layer.out,)
        case "max" | "mean":
            return (shape[0], *(side // 2 for side in shape[1:]))
    return shape


def image(network: Described, *, channels_last: bool = False) -> Array:
    """Its input: a batch of one."""
    made = np.random.default_rng(1).random((1, *network.shape), np.float32)
    last = channels_last and made.ndim == 4
    return np.ascontiguousarray(made.transpose(0, 2, 3, 1)) if last else made


def exact(network: Described) -> Exact:
    """Its answer, by the definition of each layer, in float64."""
    x: Exact = image(network)[0].astype(np.float64)
    for step in steps(network):
        x = _exact(step, x)
    return x


def _exact(step: Step, x: Exact) -> Exact:
    if step.convolves:
        edge = step.side // 2 if step.kind == "same" else 0
        padded = np.pad(x, ((0, 0), (edge, edge), (edge, edge)))
        windows = sliding_window_view(padded, (step.side, step.side), (1, 2))
        sums: Exact = np.tensordot(step.weight, windows, ((1, 2, 3), (0, 3, 4)))
        return sums + step.bias[:, None, None]
    if step.kind == "dense":
        return step.weight @ x.ravel() + step.bias
    if step.kind in ("max", "mean"):
        channels, height, width = step.after
        even = x[:, : 2 * height, : 2 * width]
        squares = even.reshape(channels, height, 2, width, 2)
        return squares.max((2, 4)) if step.kind == "max" else squares.mean((2, 4))
    if step.kind == "softmax":
        powers: Exact = np.exp(x - x.max())
        return powers / powers.sum()
    return np.maximum(x, 0) if step.kind == "relu" else np.tanh(x)

"""A network as a graph of named layers, each with the shape of its output.

Shapes are of one image or text, without a batch: (channels, rows, columns), (tokens, floats) or
(floats,). Parameters have PyTorch's names and layout: `conv1.weight` is (out, in, rows, columns).

The kinds of layers:

- input: an image, vectors, or words
- conv: a convolution with a square kernel and zeros around the image
- pool: the largest of each square
- mean: the mean over all places, pixels or tokens
- fc: fully connected, of all of an image or of each token
- relu, softmax, add, concat (of channels)
- embedding: a vector for each word, whose number is given as a float
- gru: the last state of a gated recurrent unit, reset after the product
- attention: multi-head self-attention with its four projections
- norm: layer normalisation of each token
- take: the first floats of its input, or all; only in pieces of networks
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Layer:
    """A layer, the layers that it reads, and the shape of its output."""

    name: str
    kind: str
    inputs: tuple[str, ...]
    before: Shape  # the output of its first input
    after: Shape
    side: int = 1  # of the kernel, or of the pool's square
    stride: int = 1
    pad: int = 0
    heads: int = 1

    @property
    def flattens(self) -> bool:
        """Whether it is a fully connected layer of all of an image."""
        return self.kind == "fc" and len(self.before) == 3

    @property
    def parameters(self) -> dict[str, Shape]:
        """The shapes of its parameters, by what follows its name and a dot."""
        out, width = self.after[0], self.before[-1] if self.before else 0
        match self.kind:
            case "conv":
                return {"weight": (out, self.before[0], self.side, self.side), "bias": (out,)}
            case "fc":
                taken = prod(self.before) if self.flattens else width
                return {"weight": (self.after[-1], taken), "bias": (self.after[-1],)}
            case "embedding":
                return {"weight": (self.side, self.after[-1])}
            case "gru":
                return {
                    "weight_ih_l0": (3 * out, width),
                    "weight_hh_l0": (3 * out, out),
                    "bias_ih_l0": (3 * out,),
                    "bias_hh_l0": (3 * out,),
                }
            case "attention":
                return {
                    "in_proj_weight": (3 * width, width),
                    "in_proj_bias": (3 * width,),
                    "out_proj.weight": (width, width),
                    "out_proj.bias": (width,),
                }
            case "norm":
                return {"weight": (width,), "bias": (width,)}
        return {}

    def own(self, arrays: Any) -> list[Any]:
        """Its parameters, of the network's by their full names."""
        return [arrays[f"{self.name}.{name}"] for name in self.parameters]

    @property
    def multiply_adds(self) -> int:
        """Products of a weight, or of two activations in attention."""
        weights = sum(prod(shape) for shape in self.parameters.values() if len(shape) > 1)
        places = self.before[0] if len(self.before) == 2 else 1
        match self.kind:
            case "conv":
                return weights * prod(self.after[1:])
            case "fc" | "gru":
                return weights * places
            case "attention":
                return places * (weights + 2 * places * self.before[1])
        return 0


@dataclass(frozen=True)
class Graph:
    """A network: its layers in an order in which they can be computed, the last is the answer."""

    name: str
    summary: str
    layers: tuple[Layer, ...]

    @property
    def shape(self) -> Shape:
        """Of its input."""
        return self.layers[0].after

    @property
    def answers(self) -> int:
        """The floats of its answer."""
        return self.layers[-1].after[-1]

    @property
    def computed(self) -> tuple[Layer, ...]:
        """All layers but the input."""
        return self.layers[1:]

    @property
    def kinds(self) -> set[str]:
        return {layer.kind for layer in self.layers}

    @property
    def is_chain(self) -> bool:
        """Whether each layer reads one layer, once."""
        single = {len(layer.inputs) for layer in self.computed} == {1}
        return single and "attention" not in self.kinds

    @property
    def parameters(self) -> dict[str, Shape]:
        """The shape of each, by its full name."""
        return {
            f"{layer.name}.{name}": shape
            for layer in self.layers
            for name, shape in layer.parameters.items()
        }

    @property
    def multiply_adds(self) -> int:
        return sum(layer.multiply_adds for layer in self.layers)

    @property
    def weights(self) -> int:
        """How many parameters it has."""
        return sum(map(prod, self.parameters.values()))

    @property
    def vocabulary(self) -> int:
        """How many words it knows, where its input is words."""
        return next((layer.side for layer in self.layers if layer.kind == "embedding"), 0)

    @property
    def activations(self) -> int:
        """The floats of all layers' outputs."""
        return sum(prod(layer.after) for layer in self.layers)


def _windows(shapes: Sequence[Shape], out: int, of: Mapping[str, int]) -> Shape:
    side, stride, pad = of.get("side", 1), of.get("stride", 1), of.get("pad", 0)
    channels, *lengths = shapes[0]
    return out or channels, *((length + 2 * pad - side) // stride + 1 for length in lengths)


#: The shape of a layer's output, by its kind; of other kinds, that of its first input.
_AFTER: dict[str, Callable[[Sequence[Shape], int, Mapping[str, int]], Shape]] = {
    "conv": _windows,
    "pool": _windows,
    "mean": lambda shapes, _, __: shapes[0][:1] if len(shapes[0]) == 3 else shapes[0][1:],
    "concat": lambda shapes, _, __: (sum(shape[0] for shape in shapes), *shapes[0][1:]),
    "fc": lambda shapes, out, _: (*shapes[0][:-1], out) if len(shapes[0]) == 2 else (out,),
    "embedding": lambda shapes, out, _: (*shapes[0], out),
    "gru": lambda _, out, __: (out,),
}


@dataclass
class Draft:
    """A network while it is written: each method adds a layer to the last one, or to others."""

    shape: Shape
    layers: dict[str, Layer] = field(default_factory=dict)
    last: str = "input"

    def __post_init__(self) -> None:
        self.layers["input"] = Layer("input", "input", (), (), self.shape)

    def add(self, kind: str, *inputs: str, out: int = 0, **rest: int) -> str:
        """Add a layer and return its name, its kind and a number."""
        inputs = inputs or (self.last,)
        shapes = [self.layers[name].after for name in inputs]
        number = 1 + sum(layer.kind == kind for layer in self.layers.values())
        self.last = f"{kind}{number}"
        after = _AFTER[kind](shapes, out, rest) if kind in _AFTER else shapes[0]
        self.layers[self.last] = Layer(self.last, kind, inputs, shapes[0], after, **rest)
        return self.last

    def convs(self, text: str) -> None:
        """`64 64 max 128`: 3x3 convolutions that keep the size, each with a ReLU; halving pools."""
        for word in text.split():
            if word == "max":
                self.add("pool", side=2, stride=2)
            else:
                self.conv(int(word), 3)

    def conv(
        self, out: int, side: int, *inputs: str, stride: int = 1, pad: int | None = None
    ) -> str:
        """A convolution and its ReLU; without `pad`, one that keeps the size."""
        around = side // 2 if pad is None else pad
        self.add("conv", *inputs, out=out, side=side, stride=stride, pad=around)
        return self.add("relu")

    def dense(self, *outs: int) -> None:
        """Fully connected layers, with a ReLU between each two."""
        for number, out in enumerate(outs):
            if number:
                self.add("relu")
            self.add("fc", out=out)

    def classify(self, *outs: int) -> None:
        """The same, and the probabilities of what the last one gives."""
        self.dense(*outs)
        self.add("softmax")

    def done(self, name: str, summary: str) -> Graph:
        return Graph(name, summary, tuple(self.layers.values()))

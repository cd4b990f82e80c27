"""Keras: what `predict` and `predict_on_batch` add, step by step; or each layer of a call.

Only public API, down to TensorFlow's graph in `predict_function`. On JAX and PyTorch the steps end
at `predict_on_batch`. In `call` the layers are operations; `function` is the model compiled by XLA.
"""

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any

import keras
from keras import layers

from ..backends import keras as file
from ..registry.adapter import Adapter
from ..registry.backend import Backend
from ..weights import Weights
from . import (
    ALONE,
    CUTS,
    ENTERING,
    IMAGES,
    NOTHING,
    SOFTMAX,
    Infer,
    Probe,
    checks,
    networks,
    unchecked,
    varied,
    waiting,
    way,
)

#: Layers a stage; with fc1 goes the one that flattens.
_LAYERS = {"conv1": 1, "pool1": 1, "conv2": 1, "pool2": 1, "fc1": 2, "fc2": 1, SOFTMAX: 0}
_VARIANTS = ("predict", "predict_on_batch", "call", "function")


class First(layers.Layer):
    """The first ten floats of its input."""

    def call(self, x: Any) -> Any:
        return keras.ops.reshape(x, (-1, prod(x.shape[1:])))[:, :10]


class Holding(layers.Layer):
    """Returns its input. The model has these layers' variables, as LeNet's model has its own."""

    def __init__(self, held: Sequence[Any]) -> None:
        super().__init__()
        self.held = list(held)

    def call(self, x: Any) -> Any:
        for layer in self.held:
            for variable in layer.weights:
                keras.ops.convert_to_tensor(variable)
        return x


def probes(row: Backend, variant: str, weights: Weights, threads: int) -> Sequence[Probe]:
    below = keras.config.backend()
    if variant not in _VARIANTS or below == "openvino":
        return ()
    # Eager code does not receive its variables as arguments.
    steps = _Steps(weights, hold=below in ("tensorflow", "jax") and variant != "call")
    # On a GPU, PyTorch does not compute what only takes ten floats.
    on_gpu = row.device == "gpu" and below == "torch"
    empty = steps.trivial(1) if on_gpu else [First()]
    nothing = steps.model(empty)
    whole = varied(row, variant, weights, threads, lenet=lambda _: nothing)
    images = IMAGES[..., None]
    found = [checks(whole, 1 if variant == "call" else 2)]
    if variant == "call":
        return [*found, *_of_layers(row, unchecked(whole), nothing, steps, empty)]
    if variant == "function":
        return [*found, *_of_function(row, whole, steps)]
    if variant == "predict":
        found += _of_predict(nothing, images, unchecked(whole))
    if below == "tensorflow":
        return [*found, *_on_tensorflow(row, nothing, images, steps)]

    # On JAX, XLA leaves out what is not part of the answer.
    keep = below == "jax"

    def on_batch(network: Sequence[Any], *, keep: bool = keep) -> Infer:
        model = steps.model(network, keep=keep)
        return lambda _: model.predict_on_batch(images)

    evidence = "predict_on_batch of a model that returns ten pixels"
    found.append(way(ENTERING, lambda _: nothing.predict_on_batch(images), evidence, len(empty)))
    if keep:
        found.append(Probe("stage", NOTHING, on_batch([First()]), 1))
        found.append(Probe("stage", ALONE, on_batch(steps.cut(CUTS[-1]), keep=False)))
    return [*found, *networks(on_batch, steps.trivial, steps.cut, _LAYERS, 1)]


def _of_predict(model: Any, images: Any, predict: Infer) -> Iterator[Probe]:
    """From predict on an array to predict_on_batch."""
    if keras.config.backend() == "tensorflow":
        import tensorflow as tf

        prepared = tf.data.Dataset.from_tensors(images)
        evidence = "predict on an array less predict on a prepared data set"
        yield way("data set", predict, evidence, 2)
        evidence = "predict on a data set less predict_on_batch: iterator and callbacks"
        yield way("loop", lambda _: model.predict(prepared, verbose=0), evidence, 2)
    else:
        yield way("loop", predict, "predict on an array less predict_on_batch", 1)


def _on_tensorflow(row: Backend, model: Any, images: Any, steps: "_Steps") -> Iterator[Probe]:
    """From predict_on_batch to the graph."""
    import tensorflow as tf

    from .tensorflow import REST, below_python, operations_of_a_graph, ways_of_a_graph

    x = tf.constant(images)

    def graph(model: Any) -> Any:
        model.make_predict_function()
        return model.predict_function.get_concrete_function([(x,)])

    evidence = "predict_on_batch less its predict_function on a tensor"
    yield way("arrays", lambda _: model.predict_on_batch(images), evidence, REST)
    made, asked = graph(model), model.predict_function
    evidence = "the predict_function less the concrete function that it calls"
    yield way("finding the graph", waiting(row, lambda _: asked([(x,)])), evidence, REST)
    yield from ways_of_a_graph(row, made, x, [(x,)], own_thread=True)

    def named(network: Sequence[Any]) -> Infer:
        return below_python(row, graph(steps.model(network)), x)

    count = operations_of_a_graph(row)
    yield from networks(named, steps.trivial, steps.cut, count, REST)


def _of_function(row: Backend, whole: Adapter, steps: "_Steps") -> Iterator[Probe]:
    """From the function on an array to its code by XLA."""
    import tensorflow as tf

    from .tensorflow import GRAPH, REST, below_python, ways_of_a_graph

    x, asked = tf.constant(IMAGES[..., None]), whole.inside()["program"]
    yield way("arrays", unchecked(whole), "the call on an array less that on a tensor", REST)
    evidence = "the tf.function less the concrete function that it calls"
    yield way("finding the graph", waiting(row, lambda _: asked(x)), evidence, REST)
    yield from ways_of_a_graph(row, asked.get_concrete_function(x), x, x, own_thread=False)

    def named(network: Sequence[Any], *, keep: bool = True) -> Infer:
        program = tf.function(steps.model(network, keep=keep), jit_compile=True)
        return below_python(row, program.get_concrete_function(x), x)

    yield Probe("stage", NOTHING, named([First()]), REST)
    yield Probe("stage", ALONE, named(steps.cut(CUTS[-1]), keep=False))
    yield from networks(named, steps.trivial, steps.cut, GRAPH, REST)


def _of_layers(
    row: Backend, call: Infer, nothing: Any, steps: "_Steps", empty: Sequence[Any]
) -> Iterator[Probe]:
    """The model called, and its layers called one by one."""
    x = keras.ops.convert_to_tensor(IMAGES[..., None])

    def last(network: Sequence[Callable[[Any], Any]]) -> Infer:
        def infer(_: Any) -> Any:
            y = x
            for layer in network:
                y = layer(y)
            return y

        return waiting(row, _without_gradients(infer))

    yield way("arrays", call, "the model from array to array less the model on a tensor", 1)
    model = waiting(row, _without_gradients(lambda _: nothing(x)))
    yield way("model", model, "the model less its layers called one by one", 1)
    yield way(ENTERING, last(empty), "a layer that returns ten pixels", len(empty))
    found = networks(last, steps.trivial, steps.cut, _LAYERS, 1)
    for probe in found:
        probe.infer(IMAGES[0])  # which builds its layers
    yield from found


class _Steps:
    """The layers of each network."""

    def __init__(self, weights: Weights, *, hold: bool) -> None:
        self._layers = list(file.lenet(weights).layers)
        fc2 = self._layers.pop()
        self._fc2 = layers.Dense(10)
        self._fc2.build((None, 500))
        self._fc2.set_weights(fc2.get_weights())
        self._hold = hold

    def model(self, network: Sequence[Any], *, keep: bool = False) -> Any:
        """A model of these layers, which also returns all floats of the last but one."""
        image = keras.Input((28, 28, 1))
        before = x = image
        others = [one for one in (*self._layers, self._fc2) if one not in network]
        for layer in [*([Holding(others)] if self._hold and others else ()), *network]:
            before, x = x, layer(x)
        return keras.Model(image, [x, before] if keep else x)

    def trivial(self, count: int) -> list[Any]:
        return [First(), *(layers.Activation("softsign") for _ in range(count))]

    def cut(self, stage: str) -> list[Any]:
        if stage == SOFTMAX:
            return [First(), keras.activations.softmax]
        if stage == CUTS[-1]:
            return [*self._layers, self._fc2]
        end = CUTS.index(stage) + (2 if stage == "fc1" else 1)
        return [*self._layers[:end], First()]


def _without_gradients(infer: Infer) -> Infer:
    if keras.config.backend() != "torch":
        return infer
    import torch

    return torch.no_grad()(infer)

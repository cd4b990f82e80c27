"""Keras: what `predict` and `predict_on_batch` add, step by step; or each layer of a call.

Only public API, down to TensorFlow's graph in `predict_function`. On JAX and PyTorch the steps end
at `predict_on_batch`. In `call` the layers are operations; `function` is the model compiled by XLA.
"""

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import Any
from unittest import mock

import keras
from keras import callbacks, layers

from ..backends import keras as file
from ..registry.adapter import Adapter
from ..weights import Weights
from . import (
    CUTS,
    ENTERING,
    IMAGES,
    SOFTMAX,
    Case,
    Infer,
    Probe,
    checks,
    compiled,
    networks,
    unchecked,
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


def probes(case: Case) -> Sequence[Probe]:
    below, variant = keras.config.backend(), case.variant
    if variant not in _VARIANTS or below == "openvino":
        return ()
    # Eager code does not receive its variables as arguments.
    steps = _Steps(case.weights, hold=below in ("tensorflow", "jax") and variant != "call")
    # On a GPU, PyTorch does not compute what only takes ten floats.
    on_gpu = case.on_gpu and below == "torch"
    empty = steps.trivial(1) if on_gpu else [First()]
    nothing = steps.model(empty)
    whole = case.varied(lenet=lambda _: nothing)
    images = IMAGES[..., None]
    found = [checks(whole, 1 if variant == "call" else 2)]
    if variant == "call":
        return [*found, *_of_layers(case, unchecked(whole), nothing, steps, empty)]
    if variant == "function":
        return [*found, *_of_function(case, whole, steps)]
    if below == "tensorflow":
        if variant == "predict":
            found += _of_predict(nothing, images, unchecked(whole))
        return [*found, *_on_tensorflow(case, nothing, images, steps)]
    if variant == "predict":
        evidence = "predict on an array, less predict_on_batch"
        found.append(way("loop", unchecked(whole), evidence, 1))

    # On JAX, XLA leaves out what is not part of the answer.
    keep = below == "jax"

    def on_batch(network: Sequence[Any], *, keep: bool = keep) -> Infer:
        model = steps.model(network, keep=keep)
        return lambda _: model.predict_on_batch(images)

    evidence = "predict_on_batch of a model that returns ten pixels"
    found.append(way(ENTERING, lambda _: nothing.predict_on_batch(images), evidence, len(empty)))
    if keep:
        found += compiled(on_batch([First()]), on_batch(steps.cut(CUTS[-1]), keep=False), 1)
    return [*found, *steps.networks(on_batch, in_full=not (keep or on_gpu))]


def _of_predict(model: Any, images: Any, predict: Infer) -> list[Probe]:
    """From predict on an array to its predict_function on a tensor, whose answer is an array."""
    import tensorflow as tf

    from .tensorflow import REST

    def by_hand(data: Any, *, called_back: bool = False, twice: bool = False) -> Infer:
        """What predict does with a data set, each step through public API."""

        def infer(_: Any) -> Any:
            calls = callbacks.CallbackList(model=model, epochs=1, steps=1) if called_back else None
            if calls:
                calls.on_predict_begin()
            iterator = iter(data)
            if calls:
                calls.on_predict_batch_begin(0)
            answer = asked([next(iterator)])
            if calls:
                calls.on_predict_batch_end(0, {"outputs": answer})
            if twice:
                iterator = iter(data)
            if calls:
                calls.on_predict_end()
            return tf.concat([answer], 0).numpy()

        return infer

    def unasked(data: Any) -> Infer:
        return lambda _: (iter(data), tf.concat([asked([(x,)])], 0).numpy())[1]

    kept = _data_set_of(model, images)
    untuned, plain = (_untuned(one) for one in (kept, tf.data.Dataset.from_tensors((images,))))
    asked, x = model.predict_function, tf.constant(images)
    pieces: dict[str, tuple[Infer, str]] = {
        "data set": (
            predict,
            "predict on an array, less on the data set that Keras makes of it, kept",
        ),
        "tuning": (
            lambda _: model.predict(kept, verbose=0),
            "predict on that data set, less without tf.data's autotuning and the thread for it",
        ),
        "loop": (
            lambda _: model.predict(untuned, verbose=0),
            "predict on that, less its steps by hand",
        ),
        "callbacks": (
            by_hand(untuned, called_back=True, twice=True),
            "the steps by hand, less the same without a CallbackList",
        ),
        "second iterator": (
            by_hand(untuned, twice=True),
            "the same, less without the iterator that predict makes at the end, and asks nothing",
        ),
        "batch": (
            by_hand(untuned),
            "the batch taken from an iterator, less an iterator that is made only",
        ),
        "pipeline": (
            unasked(untuned),
            "an iterator of Keras' data set, whose steps are functions, less one of a single "
            "tensor",
        ),
        "iterator": (unasked(plain), "an iterator of a single tensor, less none"),
        "arrays": (
            lambda _: tf.concat([asked([(x,)])], 0).numpy(),
            "the predict_function, its answer as an array, less without that",
        ),
    }
    return [way(name, infer, evidence, REST) for name, (infer, evidence) in pieces.items()]


def _data_set_of(model: Any, images: Any) -> Any:
    """The data set that Keras makes of an array, kept where predict asks it for its iterator.

    Keras infers one batch from an array; for a data set we set the cardinality.
    """
    import tensorflow as tf

    made: list[Any] = []
    ask = tf.data.Dataset.__iter__

    def iterator(data: Any) -> Any:
        made.append(data)
        return ask(data)

    with mock.patch.object(tf.data.Dataset, "__iter__", iterator):
        model.predict(images, verbose=0)
    return made[0].apply(tf.data.experimental.assert_cardinality(1))


def _untuned(data: Any) -> Any:
    import tensorflow as tf

    options = tf.data.Options()
    options.autotune.enabled = False
    return data.with_options(options)


def _on_tensorflow(case: Case, model: Any, images: Any, steps: "_Steps") -> Iterator[Probe]:
    """From predict_on_batch, or its predict_function, to the graph."""
    import tensorflow as tf

    from .tensorflow import REST, below_python, operations_of_a_graph, ways_of_a_graph

    x = tf.constant(images)

    def graph(model: Any) -> Any:
        model.make_predict_function()
        return model.predict_function.get_concrete_function([(x,)])

    if case.variant == "predict_on_batch":
        evidence = "predict_on_batch, less its predict_function on a tensor"
        yield way("arrays", lambda _: model.predict_on_batch(images), evidence, REST)
    made, asked = graph(model), model.predict_function
    evidence = "the predict_function less the concrete function that it calls"
    yield way("finding the graph", case.waiting(lambda _: asked([(x,)])), evidence, REST)
    yield from ways_of_a_graph(case, made, x, [(x,)], own_thread=True)

    def named(network: Sequence[Any]) -> Infer:
        return below_python(case, graph(steps.model(network)), x)

    count = operations_of_a_graph(case)
    yield from networks(named, steps.trivial, steps.cut, count, REST)


def _of_function(case: Case, whole: Adapter, steps: "_Steps") -> Iterator[Probe]:
    """From the function on an array to its code by XLA."""
    import tensorflow as tf

    from .tensorflow import GRAPH, REST, below_python, ways_of_a_graph

    x, asked = tf.constant(IMAGES[..., None]), whole.inside()["program"]
    yield way("arrays", unchecked(whole), "the call on an array less that on a tensor", REST)
    evidence = "the tf.function less the concrete function that it calls"
    yield way("finding the graph", case.waiting(lambda _: asked(x)), evidence, REST)
    yield from ways_of_a_graph(case, asked.get_concrete_function(x), x, x, own_thread=False)

    def named(network: Sequence[Any], *, keep: bool = True) -> Infer:
        program = tf.function(steps.model(network, keep=keep), jit_compile=True)
        return below_python(case, program.get_concrete_function(x), x)

    yield from compiled(named([First()]), named(steps.cut(CUTS[-1]), keep=False), REST)
    yield from networks(named, steps.trivial, steps.cut, GRAPH, REST)


def _of_layers(
    case: Case, call: Infer, nothing: Any, steps: "_Steps", empty: Sequence[Any]
) -> Iterator[Probe]:
    """The model called, and its layers called one by one."""
    x = keras.ops.convert_to_tensor(IMAGES[..., None])

    def last(network: Sequence[Callable[[Any], Any]]) -> Infer:
        def infer(_: Any) -> Any:
            y = x
            for layer in network:
                y = layer(y)
            return y

        return case.waiting(_without_gradients(infer))

    yield way("arrays", call, "the model from array to array less the model on a tensor", 1)
    model = case.waiting(_without_gradients(lambda _: nothing(x)))
    yield way("model", model, "the model, less its layers one by one", 1)
    yield way(ENTERING, last(empty), "a layer that gives ten pixels", len(empty))
    # On a GPU an answer may be copied to be waited for.
    found = steps.networks(last, in_full=not case.on_gpu)
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

    def networks(self, last: Callable[[Any], Infer], *, in_full: bool) -> list[Probe]:
        """With layers as operations; the cuts answer in full, or with ten floats."""
        if in_full:
            return networks(last, self.trivial, self.cut_in_full, _LAYERS, 1, [])
        return networks(last, self.trivial, self.cut, _LAYERS, 1)

    def cut(self, stage: str) -> list[Any]:
        """With an answer of ten floats."""
        in_full = self.cut_in_full(stage)
        return in_full if stage in (CUTS[-1], SOFTMAX) else [*in_full, First()]

    def cut_in_full(self, stage: str) -> list[Any]:
        if stage == SOFTMAX:
            return [First(), keras.activations.softmax]
        if stage == CUTS[-1]:
            return [*self._layers, self._fc2]
        end = CUTS.index(stage) + (2 if stage == "fc1" else 1)
        return self._layers[:end]


def _without_gradients(infer: Infer) -> Infer:
    if keras.config.backend() != "torch":
        return infer
    import torch

    return torch.no_grad()(infer)

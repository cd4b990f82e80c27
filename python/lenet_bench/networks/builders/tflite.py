"""A network as a TensorFlow Lite flatbuffer: Keras' model, by TensorFlow's own converter."""

import re
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...export import converted
from ...weights import Weights
from ..graph import Graph, Layer

#: What the model depends on beside the network.
_SOURCES = ("seeded.py", "builders/keras.py")

if TYPE_CHECKING:
    from ...process import Parent


def in_place(network: Graph, weights: Weights) -> dict[str, Any]:
    sources = [(Path(__file__).parents[1] / one).read_text() for one in _SOURCES]
    made_of = [*sources, repr(network), weights.sha256]
    name = re.sub(r"\W+", "-", network.name)
    question = (list(map(astuple, network.layers)), dict(weights.parameters))
    model = converted("tflite", f"{name}.tflite", made_of, f"{__name__}:serve", question)
    return {"tflite_model": model, "ARENA": 8 * network.activations + (1 << 20)}


def serve(parent: "Parent") -> None:
    """In a process of its own: convert the network with these weights."""
    import tensorflow as tf

    from . import keras

    file, (layers, parameters) = parent.hear()
    network = Graph("", "", tuple(Layer(*one) for one in layers))
    model = keras.model(network, Weights(parameters), batch=1)
    content = tf.lite.TFLiteConverter.from_keras_model(model).convert()
    parent.say(Path(file).write_bytes(content))

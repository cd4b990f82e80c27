"""A network as a TensorFlow Lite flatbuffer: Keras' model, by TensorFlow's own converter."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...export import converted, versions
from ...weights import Weights
from .. import network, seeded
from ..graph import Network

#: What the model depends on.
_SOURCES = ("__init__.py", "graph.py", "seeded.py", "builders/keras.py")

if TYPE_CHECKING:
    from ...process import Parent


def in_place(other: Network, weights: Weights) -> dict[str, Any]:  # noqa: ARG001
    sources = [(Path(__file__).parents[1] / one).read_text() for one in _SOURCES]
    made_of = [*sources, *versions("tflite")]
    model = converted(f"{other.name}.tflite", made_of, f"{__name__}:serve", other.name)
    return {"tflite_model": model, "ARENA": 8 * other.activations + (1 << 20)}


def serve(parent: "Parent") -> None:
    """In a process of its own: convert the network of that name."""
    import tensorflow as tf

    from . import keras

    chosen = network(parent.hear())
    model = keras.model(chosen, seeded.weights_of(chosen), batch=1)
    parent.say(tf.lite.TFLiteConverter.from_keras_model(model).convert())

"""LeNet as Caffe's own two files: the network as text, the weights as a protocol buffer.

Users of Caffe wrote the second with `Net.save`. Caffe has had no release since 2017 and must be
built from source, and no converter to its format is maintained; so the file is written here.
"""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from ..weights import Weights

# NetParameter.name, .layer; LayerParameter.name, .type, .blobs; BlobProto.data, .shape;
# BlobShape.dim: the numbers of these fields in caffe.proto.
_NET_NAME, _NET_LAYER = 1, 100
_LAYER_NAME, _LAYER_TYPE, _LAYER_BLOBS = 1, 2, 7
_BLOB_DATA, _BLOB_SHAPE = 5, 7
_SHAPE_DIM = 1
_LENGTH_DELIMITED = 2

# load
_LAYERS = {
    "conv1": "Convolution",
    "conv2": "Convolution",
    "fc1": "InnerProduct",
    "fc2": "InnerProduct",
}

_PROTOTXT = """\
name: "LeNet"
layer {
  name: "image" type: "Input" top: "image"
  input_param { shape { dim: 1 dim: 1 dim: 28 dim: 28 } }
}
layer {
  name: "conv1" type: "Convolution" bottom: "image" top: "conv1"
  convolution_param { num_output: 20 kernel_size: 5 stride: 1 }
}
layer {
  name: "pool1" type: "Pooling" bottom: "conv1" top: "pool1"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 }
}
layer {
  name: "conv2" type: "Convolution" bottom: "pool1" top: "conv2"
  convolution_param { num_output: 50 kernel_size: 5 stride: 1 }
}
layer {
  name: "pool2" type: "Pooling" bottom: "conv2" top: "pool2"
  pooling_param { pool: MAX kernel_size: 2 stride: 2 }
}
layer {
  name: "fc1" type: "InnerProduct" bottom: "pool2" top: "fc1"
  inner_product_param { num_output: 500 }
}
layer { name: "relu1" type: "ReLU" bottom: "fc1" top: "fc1" }
layer {
  name: "fc2" type: "InnerProduct" bottom: "fc1" top: "fc2"
  inner_product_param { num_output: 10 }
}
layer { name: "probabilities" type: "Softmax" bottom: "fc2" top: "probabilities" }
"""


def prototxt(_weights: Weights) -> bytes:
    """The network, as `examples/mnist/lenet.prototxt` of Caffe has it."""
    return _PROTOTXT.encode()


# load
def caffemodel(weights: Weights) -> bytes:
    """The weights, a NetParameter with the layers that have some."""
    layers = (_field(_NET_LAYER, _layer(weights, *layer)) for layer in _LAYERS.items())
    return _field(_NET_NAME, b"LeNet") + b"".join(layers)


# load
def _layer(weights: Weights, name: str, kind: str) -> bytes:
    blobs = (weights[f"{name}.weight"], weights[f"{name}.bias"])
    return b"".join(
        [
            _field(_LAYER_NAME, name.encode()),
            _field(_LAYER_TYPE, kind.encode()),
            *(_field(_LAYER_BLOBS, _blob(blob)) for blob in blobs),
        ]
    )


# load
def _blob(array: NDArray[np.float32]) -> bytes:
    dimensions = b"".join(bytes(_varint(dimension)) for dimension in array.shape)
    data = _field(_BLOB_DATA, np.ascontiguousarray(array, "<f4").tobytes())
    return data + _field(_BLOB_SHAPE, _field(_SHAPE_DIM, dimensions))


def _field(number: int, content: bytes) -> bytes:
    """A length-delimited field: a string, a message or a packed array."""
    tag = number << 3 | _LENGTH_DELIMITED
    return bytes(_varint(tag)) + bytes(_varint(len(content))) + content


def _varint(value: int) -> Iterator[int]:
    """Seven bits a byte, the lowest first; the top bit says that more follow."""
    while value > 0x7F:
        yield value & 0x7F | 0x80
        value >>= 7
    yield value

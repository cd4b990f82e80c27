"""LeNet in MXNet 1.9.

The framework of Amazon's 2018, retired by Apache in 2023; its operators run on oneDNN. `symbol`
is its first API, a graph that is bound to arrays; `gluon` the later one, layers that are
hybridized into such a graph.
"""

import mxnet as mx
from mxnet.gluon import nn

from ..weights import Weights
from . import Array, Infer


# load
def parameters_of(weights: Weights) -> "dict[str, mx.nd.NDArray]":
    """The parameters as MXNet names them."""
    return {name.replace(".", "_"): mx.nd.array(a) for name, a in weights.parameters.items()}


def lenet() -> mx.sym.Symbol:
    """The network as a graph; its parameters are named after its layers."""
    x = mx.sym.Variable("image")
    x = mx.sym.Convolution(x, kernel=(5, 5), num_filter=20, name="conv1")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")  # pool1
    x = mx.sym.Convolution(x, kernel=(5, 5), num_filter=50, name="conv2")
    x = mx.sym.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="max")  # pool2
    x = mx.sym.FullyConnected(x, num_hidden=500, name="fc1")
    x = mx.sym.Activation(x, act_type="relu")  # fc1
    x = mx.sym.FullyConnected(x, num_hidden=10, name="fc2")
    return mx.sym.softmax(x)


def symbol(weights: Weights) -> Infer:
    """The graph, bound by a Module."""
    return bound(lenet(), parameters_of(weights))


def bfloat16(weights: Weights) -> Infer:
    """The graph, converted to bfloat16 where MXNet holds that to be sound."""
    from mxnet.contrib import amp

    parameters = parameters_of(weights)
    graph, converted, _ = amp.convert_model(lenet(), parameters, {}, target_dtype="bfloat16")
    return bound(graph, converted)


def bound(graph: mx.sym.Symbol, parameters: dict[str, mx.nd.NDArray]) -> Infer:
    """A module of this graph."""
    module = mx.mod.Module(graph, data_names=["image"], label_names=None)
    module.bind(data_shapes=[("image", (1, 1, 28, 28))], for_training=False)
    module.set_params(parameters, {})  # load

    def infer(images: Array) -> Array:
        batch = mx.io.DataBatch([mx.nd.from_numpy(images[:, None])])
        module.forward(batch, is_train=False)
        return module.get_outputs()[0].asnumpy()

    return infer


def gluon(weights: Weights) -> Infer:
    """The network as layers, hybridized."""
    block = nn.HybridSequential(prefix="")
    with block.name_scope():
        block.add(nn.Conv2D(20, 5, in_channels=1, prefix="conv1_"))
        block.add(nn.MaxPool2D(2))  # pool1
        block.add(nn.Conv2D(50, 5, in_channels=20, prefix="conv2_"))
        block.add(nn.MaxPool2D(2))  # pool2
        block.add(nn.Dense(500, activation="relu", in_units=800, prefix="fc1_"))
        block.add(nn.Dense(10, in_units=500, prefix="fc2_"))
        block.add(nn.HybridLambda("softmax"))
    block.initialize(ctx=mx.cpu())
    parameters = parameters_of(weights)
    # load
    for name, parameter in block.collect_params().items():
        parameter.set_data(parameters[name])
    block.hybridize(static_alloc=True, static_shape=True)
    return lambda images: block(mx.nd.from_numpy(images[:, None])).asnumpy()

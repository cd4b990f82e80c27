"""LeNet as an ONNX model: PyTorch's layout is ONNX's own, so the weights go in as they are."""

from onnx import TensorProto, checker, helper, numpy_helper

from ..network import PARAMETERS
from ..weights import Weights

OPSET = 17  # the newest that every runtime here reads
IR_VERSION = 8  # released with that opset


def model(weights: Weights) -> bytes:
    """The model, from `image` (n, 1, 28, 28) to `probabilities` (n, 10)."""
    node = helper.make_node
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nodes = [
        node("Conv", ["image", "conv1.weight", "conv1.bias"], ["conv1"]),
        node("MaxPool", ["conv1"], ["pool1"], **pool),  # pool1
        node("Conv", ["pool1", "conv2.weight", "conv2.bias"], ["conv2"]),  # conv2
        node("MaxPool", ["conv2"], ["pool2"], **pool),  # pool2
        node("Flatten", ["pool2"], ["flat"]),  # fc1
        node("Gemm", ["flat", "fc1.weight", "fc1.bias"], ["fc1"], transB=1),
        node("Relu", ["fc1"], ["relu"]),
        node("Gemm", ["relu", "fc2.weight", "fc2.bias"], ["fc2"], transB=1),
        node("Softmax", ["fc2"], ["probabilities"], axis=1),
    ]
    graph = helper.make_graph(
        nodes,
        "lenet",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["n", 1, 28, 28])],
        [helper.make_tensor_value_info("probabilities", TensorProto.FLOAT, ["n", 10])],
        [numpy_helper.from_array(weights[name], name) for name in PARAMETERS],  # load
    )
    opset = helper.make_opsetid("", OPSET)
    made = helper.make_model(
        graph, producer_name="lenet-bench", opset_imports=[opset], ir_version=IR_VERSION
    )
    checker.check_model(made, full_check=True)
    content: bytes = made.SerializeToString()
    return content

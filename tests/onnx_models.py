"""Models in ONNX's form, of the nodes that a test names."""

import pytest

onnx = pytest.importorskip("onnx")
BOOL, FLOAT, INT64 = (getattr(onnx.TensorProto, kind) for kind in ("BOOL", "FLOAT", "INT64"))
make, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
array = onnx.numpy_helper.from_array


def saved(file, nodes, ends, *constants, opset=17, **more):
    """A model of these nodes; `ends` has the type and shape of each input, of outputs the type."""
    values = {name: value(name, *end) for name, end in ends.items()}
    made = {name for node in nodes for name in node.output}
    graph = onnx.helper.make_graph(
        nodes,
        "own",
        [one for name, one in values.items() if name not in made],
        [one for name, one in values.items() if name in made],
        list(constants),
    )
    opsets = [onnx.helper.make_opsetid("", opset)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opsets, ir_version=8), file, **more)
    return file

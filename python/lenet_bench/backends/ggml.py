"""LeNet in ggml.

The tensor library of llama.cpp, through ggml-python: tensors and a graph in a context of fixed
size (`MEMORY`), computed by a plan. Its matrix products are made for large models in few bits; a
convolution is im2col and such a product, all in float32 here, as its weights are.
"""

import ctypes

import ggml
import numpy as np
from ggml.utils import from_numpy, to_numpy

from ..weights import Weights
from . import Array, Infer

MEMORY = 4 * 1024 * 1024
ONE_BY_ONE = (1, 1, 0, 0, 1, 1)  # stride, padding and dilation, in both directions
HALVES = (2, 2, 2, 2, 0, 0)  # kernel, stride and padding


def build(weights: Weights, threads: int) -> Infer:
    """A graph for one image."""
    ctx = ggml.ggml_init(ggml.ggml_init_params(mem_size=MEMORY))
    p = {name: from_numpy(array, ctx) for name, array in weights.parameters.items()}
    image = ggml.ggml_new_tensor_2d(ctx, ggml.GGML_TYPE_F32, 28, 28)

    conv1 = ggml.ggml_conv_2d(ctx, p["conv1.weight"], image, *ONE_BY_ONE)
    conv1 = ggml.ggml_add(ctx, conv1, ggml.ggml_reshape_3d(ctx, p["conv1.bias"], 1, 1, 20))
    pool1 = ggml.ggml_pool_2d(ctx, conv1, ggml.GGML_OP_POOL_MAX, *HALVES)
    conv2 = ggml.ggml_conv_2d(ctx, p["conv2.weight"], pool1, *ONE_BY_ONE)
    conv2 = ggml.ggml_add(ctx, conv2, ggml.ggml_reshape_3d(ctx, p["conv2.bias"], 1, 1, 50))
    pool2 = ggml.ggml_pool_2d(ctx, conv2, ggml.GGML_OP_POOL_MAX, *HALVES)
    fc1 = ggml.ggml_mul_mat(ctx, p["fc1.weight"], ggml.ggml_reshape_1d(ctx, pool2, 800))
    fc1 = ggml.ggml_relu(ctx, ggml.ggml_add(ctx, fc1, p["fc1.bias"]))
    fc2 = ggml.ggml_mul_mat(ctx, p["fc2.weight"], fc1)
    softmax = ggml.ggml_soft_max(ctx, ggml.ggml_add(ctx, fc2, p["fc2.bias"]))

    graph = ggml.ggml_new_graph(ctx)
    ggml.ggml_build_forward_expand(graph, softmax)
    plan = ggml.ggml_graph_plan(graph, threads)
    plan.work_data = (ctypes.c_uint8 * plan.work_size)()
    pixels, probabilities = to_numpy(image), to_numpy(softmax)

    def infer(images: Array) -> Array:
        pixels[:] = images[0]
        ggml.ggml_graph_compute(graph, plan)
        return probabilities[np.newaxis].copy()

    return infer

"""LeNet in ggml.

The tensor library of llama.cpp, through ggml-python: tensors and a graph in a context of fixed
size (`MEMORY`), computed by a plan. Its matrix products are made for large models in few bits; a
convolution is im2col and such a product, all in float32 here, as its weights are. `float16` and
`q8_0` store weights in fewer bits; q8_0 wants rows of whole blocks of 32, which fc1's are.
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
    """All in float32."""
    ctx = ggml.ggml_init(ggml.ggml_init_params(mem_size=MEMORY))
    # load
    return graph(ctx, {n: from_numpy(a, ctx) for n, a in weights.parameters.items()}, threads)


def float16(weights: Weights, threads: int) -> Infer:
    """All layers' weights in float16."""
    # load
    names = ("conv1.weight", "conv2.weight", "fc1.weight", "fc2.weight")
    return in_less(weights, threads, dict.fromkeys(names, ggml.GGML_TYPE_F16))


def q8_0(weights: Weights, threads: int) -> Infer:
    """The weights of fc1 in int8."""
    # load
    return in_less(weights, threads, {"fc1.weight": ggml.GGML_TYPE_Q8_0})


def in_less(weights: Weights, threads: int, kinds: dict[str, int]) -> Infer:
    """These weights in other types than float32."""
    ctx = ggml.ggml_init(ggml.ggml_init_params(mem_size=MEMORY))
    # load
    p = {
        name: quantized(array, kinds[name], ctx) if name in kinds else from_numpy(array, ctx)
        for name, array in weights.parameters.items()
    }
    return graph(ctx, p, threads)


# load
def quantized(array: Array, kind: int, ctx: ggml.ggml_context_p) -> ggml.ggml_tensor_p:
    """The array as a tensor of a type that NumPy may not have."""
    shape = array.shape[::-1]
    tensor = ggml.ggml_new_tensor(ctx, kind, array.ndim, (ctypes.c_int64 * array.ndim)(*shape))
    floats, memory = array.ctypes.data_as(ctypes.POINTER(ctypes.c_float)), tensor.contents.data
    ggml.ggml_quantize_chunk(kind, floats, memory, 0, array.size // shape[0], shape[0], None)
    return tensor


def graph(ctx: ggml.ggml_context_p, p: dict[str, ggml.ggml_tensor_p], threads: int) -> Infer:
    """A graph for one image."""
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
    softmax = ggml.ggml_soft_max(ctx, ggml.ggml_add(ctx, fc2, p["fc2.bias"]))  # fc2 and softmax

    steps = ggml.ggml_new_graph(ctx)
    # the rest
    ggml.ggml_build_forward_expand(steps, softmax)
    plan = ggml.ggml_graph_plan(steps, threads)
    plan.work_data = (ctypes.c_uint8 * plan.work_size)()
    # the rest
    pixels, probabilities = to_numpy(image), to_numpy(softmax)

    def infer(images: Array) -> Array:
        pixels[:] = images[0]
        ggml.ggml_graph_compute(steps, plan)
        return probabilities[np.newaxis].copy()

    return infer


def describe() -> dict[str, str]:
    """Ggml's own version, and the instruction set that it was compiled for."""
    known = {"ggml": ggml.ggml_version().decode()}
    if ggml.ggml_cpu_has_avx512():
        known["isa"] = "AVX-512"
    elif ggml.ggml_cpu_has_avx2():
        known["isa"] = "AVX2"
    return known

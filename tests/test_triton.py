"""The backend `triton` without a GPU: its kernels interpreted, and compiled for GPUs."""

import os
from importlib.util import find_spec
from pathlib import Path

import pytest
from processes import python

pytestmark = pytest.mark.skipif(
    not (find_spec("torch") and find_spec("triton")), reason="PyTorch or Triton is not installed"
)

HERE = str(Path(__file__).parent)

INTERPRETED = """
import numpy as np
from lenet_bench.backends import triton
from lenet_bench.backends.reference import build
from networks import random_images, random_weights
weights, images = random_weights(7), random_images(7, 3)
infer = triton.build(weights, "cpu")
answers = np.array([infer(images[i : i + 1])[0].copy() for i in range(3)])  # one memory on a CPU
expected = build(weights)(images)["probabilities"]
assert np.abs(answers - expected).max() < 1e-5
assert answers.dtype == np.float32
"""

#: A GPU is not asked for: Triton and NVIDIA's assembler run on the CPU.
COMPILED = """
import triton
from lenet_bench.backends.triton import connect, convolve
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
layers = [(convolve, (28, 25, 32)), (convolve, (12, 500, 512)),
          (connect, (500, 800, 4, 1024, False)), (connect, (10, 500, 16, 512, True))]
for kernel, constants in layers:
    pointers, others = kernel.arg_names[:4], kernel.arg_names[4:]
    types = dict.fromkeys(pointers, "*fp32") | dict.fromkeys(others, "constexpr")
    values = {(4 + n,): value for n, value in enumerate(constants)}
    gpu = GPUTarget("cuda", int(sys.argv[1]), 32)
    code = triton.compile(ASTSource(kernel, types, values), target=gpu).asm["ptx"]
    assert "mma" not in code  # tensor cores, which round to TF32
"""


@pytest.fixture
def run(tmp_path):
    """Python with this code, which keeps what Triton compiles in a folder that is removed."""

    def run(code, *arguments, **variables):
        own = {"TRITON_CACHE_DIR": str(tmp_path), "TRITON_DEFAULT_FP_FUSION": "1", **variables}
        text = f"import sys\nsys.path.append({HERE!r})\n{code}"
        return python(text, *arguments, env={**os.environ, **own})

    return run


def test_its_kernels_give_the_reference_probabilities(run):
    run(INTERPRETED, TRITON_INTERPRET="1")


@pytest.mark.parametrize("capability", [80, 90, 120])
def test_its_kernels_are_compiled_for_float32(run, capability):
    run(COMPILED, str(capability))

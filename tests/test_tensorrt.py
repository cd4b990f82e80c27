"""The backend `tensorrt` on a double of TensorRT and of CUDA's runtime: what is called, and when.

The double computes nothing but a sum: it shows that pointers, the graph and what keeps them alive
fit together. No TensorRT has run this.
"""

import os
from pathlib import Path

from processes import python

HERE = str(Path(__file__).parent)

DOUBLE = """
import ctypes, sys, types
from enum import IntEnum
from types import SimpleNamespace
import numpy as np

log, memory, captured = [], {}, None
Error = IntEnum("cudaError_t", {"cudaSuccess": 0, "cudaErrorInvalidValue": 1})

def allocate(size):
    block = ctypes.create_string_buffer(size)
    memory[ctypes.addressof(block)] = block
    return Error(0), ctypes.addressof(block)

def enqueue(work):
    if captured is not None:
        captured.append(work)
    else:
        work()

def copy(to, source, size, kind, stream):
    enqueue(lambda: ctypes.memmove(to, source, size))
    return (Error(0),)

def begin(stream, mode):
    global captured
    captured = []
    return (Error(0),)

def end(stream):
    global captured
    graph, captured = captured, None
    log.append(f"a graph of {len(graph)}")
    return Error(0), graph

def launch(graph, stream):
    for work in graph:
        work()
    return (Error(0),)

runtime = types.ModuleType("cuda.bindings.runtime")
vars(runtime).update(
    cudaMemcpyKind=SimpleNamespace(cudaMemcpyHostToDevice=1, cudaMemcpyDeviceToHost=2),
    cudaMemoryType=SimpleNamespace(cudaMemoryTypeDevice=2),
    cudaStreamCaptureMode=SimpleNamespace(cudaStreamCaptureModeThreadLocal=1),
    cudaMallocHost=allocate, cudaMalloc=allocate, cudaMemcpyAsync=copy,
    cudaStreamCreate=lambda: (Error(0), 7), cudaStreamSynchronize=lambda stream: (Error(0),),
    cudaStreamBeginCapture=begin, cudaStreamEndCapture=end,
    cudaGraphInstantiate=lambda graph, flags: (Error(0), graph), cudaGraphLaunch=launch,
    cudaPointerGetAttributes=lambda address: (
        (Error(0), SimpleNamespace(type=2, device=0)) if address in memory else (Error(1), None)
    ),
)

class Context:
    def __init__(self): self.addresses = {}
    def __del__(self): log.append("the context is gone")
    def set_tensor_address(self, name, address):
        self.addresses[name] = address
        return True
    def execute_async_v3(self, stream_handle):
        image, probabilities = self.addresses["image"], self.addresses["probabilities"]
        def work():
            given = np.frombuffer((ctypes.c_float * 784).from_address(image), np.float32)
            found = (ctypes.c_float * 10).from_address(probabilities)
            found[:] = [given.sum() + n for n in range(10)]
        enqueue(work)
        return True

class Builder:
    def __init__(self, logger): pass
    def create_network(self): return SimpleNamespace(get_input=[SimpleNamespace()].__getitem__)
    def create_builder_config(self): return SimpleNamespace(clear_flag=lambda f: log.append(f))
    def build_serialized_network(self, network, config):
        log.append(network.get_input(0).shape)
        return b"plan"

tensorrt = types.ModuleType("tensorrt")
tensorrt.__version__, tensorrt.Builder, tensorrt.ICudaEngine = "11.0", Builder, object
tensorrt.Logger = type("Logger", (), {"ERROR": 1, "__init__": lambda self, severity: None})
tensorrt.BuilderFlag = SimpleNamespace(TF32="without TF32")
tensorrt.OnnxParser = lambda network, logger: SimpleNamespace(
    parse=lambda model: model == b"a model", get_error=lambda n: SimpleNamespace(desc=lambda: "bad")
)
tensorrt.Runtime = lambda logger: SimpleNamespace(
    deserialize_cuda_engine=lambda plan: SimpleNamespace(create_execution_context=Context)
)
bindings = types.ModuleType("cuda.bindings")
bindings.runtime = runtime
sys.modules.update({
    "tensorrt": tensorrt, "cuda": types.ModuleType("cuda"), "cuda.bindings": bindings,
    "cuda.bindings.runtime": runtime,
})
import lenet_bench
from lenet_bench import export
from lenet_bench.registry import gpu
gpu.why_none = lambda: None  # there is none that it would have to run on
export.model = lambda name, weights: MODEL
"""


def answer(code, model, ends=0):
    """A child with this code, which ends so; its variable is set, so it needs no other process."""
    text = f"MODEL = {model!r}\n{DOUBLE}\nsys.path.append({HERE!r})\n{code}"
    return python(text, code=ends, env={**os.environ, "NVIDIA_TF32_OVERRIDE": "0"})


def test_a_call_replays_a_graph_of_the_engine_and_both_copies():
    answer(
        """
from networks import random_images, random_weights
images = random_images(7, 3)
net = lenet_bench.load("tensorrt", weights=random_weights(7))
assert log == ["without TF32", (1, 1, 28, 28), "a graph of 3"]
expected = images.sum((1, 2))[:, None] + np.arange(10)
assert np.allclose(net.infer(images), expected)
assert np.allclose([net.infer(image) for image in images], expected)
facts = net.describe()
assert (facts["device"], facts["library"]) == ("cuda:0", "TensorRT 11.0")
del net
assert log[3:] == ["the context is gone"]
""",
        b"a model",
    )


def test_a_model_that_it_does_not_read_is_said():
    done = answer("lenet_bench.load('tensorrt')", b"no model", ends=1)
    sentence = done.stderr.splitlines()[-1]
    assert "Unavailable: tensorrt cannot run on the GPU (RuntimeError: bad)" in sentence
    assert "pip install 'lenet-bench[tensorrt]'" in sentence

"""What ExecuTorch's pages name for the CPU."""

import numpy as np
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import to_edge_transform_and_lower
from executorch.extension.pybindings.portable_lib import _unsafe_reset_threadpool
from executorch.runtime import Runtime
from lenet_bench.backends import Array, Infer
from lenet_bench.backends.executorch import LeNet
from lenet_bench.weights import Weights


def _program(weights: Weights, threads: int, *, xnnpack: bool = True, last: bool = False) -> Infer:
    _unsafe_reset_threadpool(threads)
    module = LeNet()
    module.load_state_dict({name: torch.tensor(a) for name, a in weights.parameters.items()})
    example = torch.zeros(1, 1, 28, 28)
    if last:
        module = module.to(memory_format=torch.channels_last)
        example = example.to(memory_format=torch.channels_last)
    exported = torch.export.export(module.eval(), (example,))
    lowered = to_edge_transform_and_lower(
        exported, partitioner=[XnnpackPartitioner()] if xnnpack else []
    )
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    method = program.load_method("forward")
    method.program = program  # which it needs, and would not keep alive

    def infer(images: Array) -> Array:
        image = torch.from_numpy(images[:, np.newaxis])
        if last:
            image = image.to(memory_format=torch.channels_last)
        (probabilities,) = method.execute([image])
        return probabilities.numpy()

    return infer


def portable(weights: Weights, threads: int) -> Infer:
    """ExecuTorch's portable kernels."""
    return _program(weights, threads, xnnpack=False)


def channels_last(weights: Weights, threads: int) -> Infer:
    """Exported channels last, XNNPACK's own layout."""
    return _program(weights, threads, last=True)


def dynamic(weights: Weights, threads: int) -> Infer:
    """Exported for any number of images."""
    _unsafe_reset_threadpool(threads)
    module = LeNet()
    module.load_state_dict({name: torch.tensor(a) for name, a in weights.parameters.items()})
    images = torch.zeros(2, 1, 28, 28)
    shapes = {"x": {0: torch.export.Dim("n", min=1, max=64)}}
    exported = torch.export.export(module.eval(), (images,), dynamic_shapes=shapes)
    lowered = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    program = Runtime.get().load_program(lowered.to_executorch().buffer)
    method = program.load_method("forward")
    method.program = program  # which it needs, and would not keep alive

    def infer(images: Array) -> Array:
        (probabilities,) = method.execute([torch.from_numpy(images[:, np.newaxis])])
        return probabilities.numpy()

    return infer

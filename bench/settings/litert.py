"""What LiteRT's pages name."""

import numpy as np
from ai_edge_litert.compiled_model import CompiledModel
from ai_edge_litert.cpu_options import CpuOptions
from ai_edge_litert.interpreter import Interpreter, OpResolverType
from ai_edge_litert.options import Options
from lenet_bench.backends import Array, Infer


def _interpreted(model: Interpreter) -> Infer:
    model.allocate_tensors()
    image = model.get_input_details()[0]["index"]
    probabilities = model.get_output_details()[0]["index"]

    def infer(images: Array) -> Array:
        model.set_tensor(image, images[..., np.newaxis])
        model.invoke()
        return model.get_tensor(probabilities)

    return infer


def signature(tflite_model: bytes, threads: int) -> Infer:
    """The signature runner, which the guide shows first."""
    model = Interpreter(model_content=tflite_model, num_threads=threads)
    run = model.get_signature_runner()
    (image,) = run.get_input_details()
    (probabilities,) = run.get_output_details()
    return lambda images: run(**{image: images[..., np.newaxis]})[probabilities]


def no_xnnpack(tflite_model: bytes, threads: int) -> Infer:
    """LiteRT's own kernels."""
    resolver = OpResolverType.BUILTIN_WITHOUT_DEFAULT_DELEGATES
    return _interpreted(
        Interpreter(
            model_content=tflite_model,
            num_threads=threads,
            experimental_op_resolver_type=resolver,
        )
    )


def latest_delegate(tflite_model: bytes, threads: int) -> Infer:
    """XNNPACK's latest features."""
    return _interpreted(
        Interpreter(
            model_content=tflite_model,
            num_threads=threads,
            experimental_default_delegate_latest_features=True,
        )
    )


def tensors(tflite_model: bytes, threads: int) -> Infer:
    """The interpreter's own memory, as Interpreter.tensor gives it."""
    model = Interpreter(model_content=tflite_model, num_threads=threads)
    model.allocate_tensors()
    image = model.tensor(model.get_input_details()[0]["index"])
    probabilities = model.tensor(model.get_output_details()[0]["index"])

    def infer(images: Array) -> Array:
        image()[:] = images[..., np.newaxis]
        model.invoke()
        return probabilities().copy()

    return infer


def compiled_ynnpack(tflite_model: bytes, threads: int) -> Infer:
    """CompiledModel on YNNPACK."""
    options = Options(cpu_options=CpuOptions(num_threads=threads, enable_ynnpack=True))
    model = CompiledModel.from_buffer(tflite_model, options=options)
    inputs, outputs = model.create_input_buffers(0), model.create_output_buffers(0)

    def infer(images: Array) -> Array:
        inputs[0].write(images)
        model.run_by_index(0, inputs, outputs)
        return outputs[0].read(10, np.float32).reshape(1, 10)

    return infer

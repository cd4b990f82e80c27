"""What Paddle's pages on inference name."""

import tempfile
from pathlib import Path

import numpy as np
import paddle
from lenet_bench.backends import Array, Infer
from lenet_bench.backends.paddle import load, on_arrays, to_static
from lenet_bench.weights import Weights
from paddle import inference
from paddle.static import InputSpec

VARIABLES = {
    "eager_onednn": {"FLAGS_use_mkldnn": "1"},
    "static_onednn": {"FLAGS_use_mkldnn": "1"},
    "eager_parallel_executor": {"FLAGS_new_executor_serial_run": "0"},
}


def _predictor(weights: Weights, threads: int, *settings: str, one: bool = False) -> Infer:
    """The engine; each setting is a call of its Config."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = str(Path(folder) / "lenet")
        model = to_static(load(weights))
        if one:
            image = InputSpec([1, 1, 28, 28], "float32", "image")
            model = paddle.jit.to_static(load(weights), input_spec=[image], full_graph=True)
        paddle.jit.save(model, prefix)
        config = inference.Config(f"{prefix}.json", f"{prefix}.pdiparams")
        config.disable_gpu()
        config.set_cpu_math_library_num_threads(threads)
        for setting in settings:
            getattr(config, setting)()
        engine = inference.create_predictor(config)
    image = engine.get_input_handle("image")
    (output,) = engine.get_output_names()
    probabilities = engine.get_output_handle(output)

    def infer(images: Array) -> Array:
        image.copy_from_cpu(images[:, np.newaxis])
        engine.run()
        return probabilities.copy_to_cpu()

    return infer


def predictor_no_onednn(weights: Weights, threads: int) -> Infer:
    """Without oneDNN."""
    return _predictor(weights, threads, "disable_mkldnn")


def predictor_one_image(weights: Weights, threads: int) -> Infer:
    """For one image."""
    return _predictor(weights, threads, one=True)


def predictor_memory(weights: Weights, threads: int) -> Infer:
    """Memory reused."""
    return _predictor(weights, threads, "enable_memory_optim")


def predictor_run_list(weights: Weights, threads: int) -> Infer:
    """Predictor.run with tensors, as the quick start shows it."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = str(Path(folder) / "lenet")
        paddle.jit.save(to_static(load(weights)), prefix)
        config = inference.Config(f"{prefix}.json", f"{prefix}.pdiparams")
        config.disable_gpu()
        config.set_cpu_math_library_num_threads(threads)
        engine = inference.create_predictor(config)

    def infer(images: Array) -> Array:
        (answer,) = engine.run([paddle.to_tensor(images[:, np.newaxis])])
        return answer.numpy()

    return infer


def eager_onednn(weights: Weights) -> Infer:
    """Layer after layer, with oneDNN."""
    return on_arrays(load(weights))


def static_onednn(weights: Weights) -> Infer:
    """The graph, with oneDNN."""
    return on_arrays(to_static(load(weights)))


def eager_parallel_executor(weights: Weights) -> Infer:
    """The graph, without the serial executor."""
    return on_arrays(to_static(load(weights)))

"""What Keras has no word for and leaves to the framework under it: threads, device, precision.

Their lines are the frameworks' own, as in their exhibits, and not what Keras makes one write.
"""

from functools import partial
from typing import Any


def device_of(tensor: Any) -> str:
    """On which a framework's tensor lies, as that calls it: /.../device:GPU:0, cuda:0."""
    return str(getattr(tensor, "device", "cpu"))  # OpenVINO's tensors have no say


def tell_framework(framework: str, threads: int, device: str) -> None:
    """What Keras leaves to the framework: threads, device, and float32 where that is a question."""
    if framework == "tensorflow":
        import tensorflow

        tensorflow.config.threading.set_intra_op_parallelism_threads(threads)
        tensorflow.config.threading.set_inter_op_parallelism_threads(1)
        tensorflow.config.experimental.enable_tensor_float_32_execution(False)
        gpus = tensorflow.config.list_physical_devices("GPU")
        if device == "gpu" and not gpus:
            raise RuntimeError(f"TensorFlow {tensorflow.__version__} sees no GPU")
        tensorflow.config.set_visible_devices(gpus[:1] if device == "gpu" else [], "GPU")
    elif framework == "jax":
        import jax

        jax.config.update("jax_default_matmul_precision", "highest")
    elif framework == "torch":
        import torch

        torch.set_num_threads(threads)
        torch.backends.cudnn.allow_tf32 = False
    elif framework == "openvino":
        import openvino

        # Keras passes no configuration on, and by default this would compute in bfloat16.
        config = {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads}
        openvino.compile_model = partial(openvino.compile_model, config=config)

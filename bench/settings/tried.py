"""The settings by backend and name, each with a sentence on what it tries.

To try one more, add it to SETTINGS. Nothing here imports an API: changes are made in the process
that is timed.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from .changes import Change, Setting, passes, replaced, then


def ahead_of_time(program: Any) -> Any:
    """JAX's program, compiled for one image."""
    import jax

    return program.lower(jax.ShapeDtypeStruct((1, 28, 28), "float32")).compile()


def concrete(through_tensors: Any) -> Any:
    """TensorFlow's graph for one image, which no call has to find."""
    import tensorflow as tf

    image = tf.TensorSpec((1, 28, 28, 1), "float32")
    return lambda program: through_tensors(program.get_concrete_function(image))


def mnn(says: str, **config: str) -> Setting:
    """MNN's session with another configuration."""
    return Setting(says, "session", (then("config", lambda given: {**given, **config}),))


def without_arena(options: Any) -> None:
    options.enable_cpu_mem_arena = False


def engine(name: str, says: str) -> Setting:
    """An engine of OpenCV's."""

    def change(file: ModuleType) -> None:
        passes("cv2.dnn.readNetFromONNX", engine=getattr(file.cv2.dnn, name))(file)

    return Setting(says, changes=(change,))


def unpinned(core: Any) -> None:
    core.set_property("CPU", {"ENABLE_CPU_PINNING": False})


def without_a_hint(core: Any) -> None:
    """OpenVINO's model compiled without what the backend's file says of its speed."""
    compile_model = core.compile_model

    def changed(model: Any, device: str, given: Mapping[str, object]) -> Any:
        hints = ("PERFORMANCE_HINT", "NUM_STREAMS")
        kept = {name: value for name, value in given.items() if name not in hints}
        return compile_model(model, device, kept)

    core.compile_model = changed


def jax(says: str, change: Change) -> Setting:
    return Setting(says, "constants", (change,))


SETTINGS: dict[str, dict[str, Setting]] = {
    "halide": {
        "by_hand_no_checks": Setting(
            "Our schedule, without checks when it runs: no_asserts.",
            "by_hand",
            variables={"HL_JIT_TARGET": "host-no_asserts"},
        ),
    },
    "jax": {
        "compiled": jax(
            "Compiled ahead of time: lower and compile.", then("jax.jit", ahead_of_time)
        ),
        "async_dispatch": jax(  # JAX reads what the backend sets once, when it first computes
            "Asynchronous dispatch, the default.",
            replaced("jax.config.update", lambda _: lambda *_: None),
        ),
        "donated": jax("The image's memory donated.", passes("jax.jit", donate_argnums=0)),
    },
    "keras": {
        "function_concrete": Setting(
            "The concrete function of tf.function(jit_compile=True).",
            "function",
            (replaced("through_tensors", concrete),),
        ),
    },
    "litert": {
        "latest_delegate": Setting(
            "XNNPACK's latest features.",
            "interpreter",
            (passes("Interpreter", experimental_default_delegate_latest_features=True),),
        ),
    },
    "mlx": {
        "compile_shapeless": Setting(
            "Compiled once for any number of images.",
            "compile",
            (passes("mx.compile", shapeless=True),),
        ),
    },
    "mnn": {
        "memory_low": mnn("memory=low.", memory="low"),
        "memory_high": mnn("memory=high.", memory="high"),
        "power_high": mnn("power=high.", power="high"),
        "precision_normal": mnn("Precision normal, the default.", precision="normal"),
    },
    "ncnn": {
        "no_light_mode": Setting(
            "Intermediate results kept.",
            changes=(then("ncnn.Net", lambda net: setattr(net.opt, "lightmode", False)),),
        ),
    },
    "onnxruntime": {
        "no_arena": Setting("No memory arena.", "run", (then("ort.SessionOptions", without_arena),))
    },
    "opencv": {
        "classic": engine("ENGINE_CLASSIC", "ENGINE_CLASSIC requested, OpenCV 4's."),
        "new": engine("ENGINE_NEW", "ENGINE_NEW requested, OpenCV 5's."),
        "by_onnxruntime": engine("ENGINE_ORT", "ENGINE_ORT requested, ONNX Runtime."),
    },
    "openvino": {
        "tensors_no_hint": Setting(
            "Tensors that are set once, with no streams and no hint.",
            "tensors",
            (then("ov.Core", without_a_hint),),
        ),
        "tensors_unpinned": Setting(
            "Tensors that are set once, ENABLE_CPU_PINNING off.",
            "tensors",
            (then("ov.Core", unpinned),),
        ),
    },
    "pytensor": {
        "no_fastmath": Setting(
            "Numba without its fast-math.", variables={"PYTENSOR_FLAGS": "numba__fastmath=False"}
        ),
    },
    "torch": {
        "export_freezing": Setting(
            "Compiled ahead of time for one image, with frozen weights.",
            "export",
            (passes("packaged", settings={"freezing": True}),),
        ),
    },
}

#: No longer run, by backend and name: what was slower, failed, needed code of its own, or is of an
#: environment whose versions stay. The code is in the history.
MEASURED_ONCE: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("measured_once.json").read_text()
)

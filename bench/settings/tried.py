"""The settings by backend and name, each with a sentence on what it tries.

To try one more, add it to SETTINGS. Nothing here imports an API: changes are made in the process
that is timed.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from .changes import Change, Setting, as_is, calls, passes, replaced, sets, then

NO_CHECKS = {"HL_JIT_TARGET": "host-no_asserts"}


def flag(name: str) -> Change:
    """One more flag of IREE's."""
    return replaced("FOR_THIS_CPU", lambda given: [*given, name])


def asynchronous(_: Any) -> None:
    """JAX's dispatch by another thread."""
    import jax

    jax.config.update("jax_cpu_enable_async_dispatch", True)


def ahead_of_time(program: Any) -> Any:
    """JAX's program, compiled for one image."""
    import jax

    return program.lower(jax.ShapeDtypeStruct((1, 28, 28), "float32")).compile()


def mnn(says: str, **config: str) -> Setting:
    """MNN's session with another configuration."""
    return Setting(says, "session", (then("config", lambda given: {**given, **config}),))


def ncnn(option: str, says: str) -> Setting:
    """An option of ncnn's nets turned off."""
    return Setting(says, changes=(then("ncnn.Net", lambda net: setattr(net.opt, option, False)),))


def session_entry(name: str, value: str) -> Change:
    """An entry of ONNX Runtime's configuration."""
    return calls("ort.SessionOptions", "add_session_config_entry", name, value)


def engine(name: str) -> Change:
    """An engine of OpenCV's."""

    def change(file: ModuleType) -> None:
        passes("cv2.dnn.readNetFromONNX", engine=getattr(file.cv2.dnn, name))(file)

    return change


def configured(*left_out: str, **config: object) -> Change:
    """OpenVINO's model compiled with another configuration."""

    def change(core: Any) -> None:
        compile_model = core.compile_model

        def changed(model: Any, device: str, given: Mapping[str, object]) -> Any:
            kept = {name: value for name, value in given.items() if name not in left_out}
            return compile_model(model, device, {**kept, **config})

        core.compile_model = changed

    return then("ov.Core", change)


def no_mkldnn(file: ModuleType) -> None:
    file.torch.backends.mkldnn.set_flags(False)


def compiled(says: str, *changes: Change, **options: bool) -> Setting:
    """torch.compile with these options of Inductor."""
    return Setting(says, "compile", (*changes, passes("torch.compile", options=options)))


NO_HINT = configured("PERFORMANCE_HINT", "NUM_STREAMS")
SETTINGS: dict[str, dict[str, Setting]] = {
    "halide": {
        "by_hand_no_checks": Setting(
            "Our schedule, without checks when it runs: no_asserts.", "by_hand", (), NO_CHECKS
        ),
    },
    "iree": {
        "microkernels": Setting(
            "All microkernels.", changes=(flag("--iree-llvmcpu-enable-ukernels=all"),)
        ),
        "no_microkernels": Setting(
            "No microkernels.", changes=(flag("--iree-llvmcpu-enable-ukernels=none"),)
        ),
    },
    "jax": {
        "compiled": Setting(
            "Compiled ahead of time: lower and compile.",
            "constants",
            (then("jax.jit", ahead_of_time),),
        ),
        "asynchronous": Setting(
            "Asynchronous dispatch, the default.", "constants", (then("load", asynchronous),)
        ),
        "donated": Setting(
            "The image's memory donated.", "constants", (passes("jax.jit", donate_argnums=0),)
        ),
    },
    "keras": {
        "call_in_function": Setting(
            "The model in a tf.function.",
            "function",
            (passes("tensorflow.function", jit_compile=None),),
        ),
    },
    "litert": {
        "latest_delegate": Setting(
            "XNNPACK's latest features.",
            "interpreter",
            (passes("Interpreter", experimental_default_delegate_latest_features=True),),
        ),
        "compiled_ynnpack": Setting(
            "CompiledModel on YNNPACK.", "compiled", (passes("CpuOptions", enable_ynnpack=True),)
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
        "no_winograd": ncnn("use_winograd_convolution", "Convolutions not by Winograd's method."),
        "no_light_mode": ncnn("lightmode", "Intermediate results kept."),
    },
    "onnxruntime": {
        "any_number": Setting("For any number of images.", "any_number"),
        "no_arena": Setting(
            "No memory arena.", "run", (sets("ort.SessionOptions", "enable_cpu_mem_arena", False),)
        ),
        "no_memory_pattern": Setting(
            "No memory pattern.", "run", (sets("ort.SessionOptions", "enable_mem_pattern", False),)
        ),
        "no_spinning": Setting(
            "No spinning of threads.",
            "run",
            (session_entry("session.intra_op.allow_spinning", "0"),),
        ),
        "denormals_as_zero": Setting(
            "Denormal numbers as zero.",
            "run",
            (session_entry("session.set_denormal_as_zero", "1"),),
        ),
    },
    "openblas": {
        "cooperlake": Setting(
            "Kernels in AVX-512 of a later Xeon.", variables={"OPENBLAS_CORETYPE": "Cooperlake"}
        ),
    },
    "opencv": {
        "classic": Setting(
            "ENGINE_CLASSIC requested, OpenCV 4's.", changes=(engine("ENGINE_CLASSIC"),)
        ),
        "classic_no_winograd": Setting(
            "ENGINE_CLASSIC requested, without Winograd's method.",
            changes=(
                engine("ENGINE_CLASSIC"),
                calls("cv2.dnn.readNetFromONNX", "enableWinograd", False),
            ),
        ),
        "new": Setting("ENGINE_NEW requested, OpenCV 5's.", changes=(engine("ENGINE_NEW"),)),
        "by_onnxruntime": Setting(
            "ENGINE_ORT requested, ONNX Runtime.", changes=(engine("ENGINE_ORT"),)
        ),
    },
    "openvino": {
        "tensors_no_hint": Setting(
            "Tensors that are set once, with no streams and no hint.", "tensors", (NO_HINT,)
        ),
    },
    "pytensor": {
        "no_fastmath": Setting(
            "Numba without its fast-math.", variables={"PYTENSOR_FLAGS": "numba__fastmath=False"}
        ),
    },
    "tinygrad": {
        "llvm": Setting(
            "Kernels compiled by LLVM's library in place of clang.", "jit", (), {"DEV": "CPU:LLVM"}
        ),
    },
    "torch": {
        "eager_no_mkldnn": Setting("Without oneDNN.", "eager", (no_mkldnn,)),
        "export_freezing": Setting(
            "Compiled ahead of time for one image, with frozen weights.",
            "export",
            (passes("packaged", settings={"freezing": True}),),
        ),
    },
    "tvm": {
        "compiled_calls": Setting(
            "The virtual machine's code compiled too.",
            changes=(
                as_is("tvm.compile", "relax.build"),
                passes("tvm.compile", exec_mode="compiled"),
            ),
        ),
    },
}

#: No longer run, by backend and name: what was clearly slower, needed code of its own, or is of an
#: environment whose versions stay. The code is in the history.
MEASURED_ONCE: dict[str, dict[str, str]] = json.loads(
    Path(__file__).with_name("measured_once.json").read_text()
)

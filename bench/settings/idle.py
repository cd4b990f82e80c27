"""What a library's documentation offers against threads that spin between calls.

Measured with default threads, a call at an interval: `python -m bench.settings --every 20 NAME`.
"""

from typing import Any

from .changes import Setting, then


def _session(key: str, value: str) -> Setting:
    """An entry of the configuration of ONNX Runtime's session."""

    def entered(options: Any) -> None:
        options.add_session_config_entry(key, value)

    return Setting(f"{key}={value}.", "run", (then("ort.SessionOptions", entered),))


def _session_of_tensorflow(config: Any) -> None:
    config.experimental.disable_thread_spinning = True


def _openmp(function: str = "build") -> dict[str, Setting]:
    """OpenMP's own, and that of GNU's library."""
    return {
        "passive": Setting(
            "OMP_WAIT_POLICY=passive.", function, variables={"OMP_WAIT_POLICY": "passive"}
        ),
        "spincount": Setting("GOMP_SPINCOUNT=0.", function, variables={"GOMP_SPINCOUNT": "0"}),
    }


IDLE: dict[str, dict[str, Setting]] = {
    "onnxruntime": {
        "no_spinning": _session("session.intra_op.allow_spinning", "0"),
        "short_spinning": _session("session.intra_op.spin_duration_us", "100"),
        **_openmp("run"),
    },
    "torch": _openmp("eager"),
    "numpy": {
        "timeout": Setting(
            "OPENBLAS_THREAD_TIMEOUT=4, the least: 2 to the power of it, in cycles.",
            variables={"OPENBLAS_THREAD_TIMEOUT": "4"},
        ),
    },
    "openvino": _openmp("infer"),
    "tensorflow": {
        "no_spinning": Setting(
            "ConfigProto.experimental.disable_thread_spinning of a session.",
            "session",
            (then("tf.compat.v1.ConfigProto", _session_of_tensorflow),),
        ),
        **_openmp("function"),
    },
}

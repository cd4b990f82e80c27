"""What people call a backend, and who calls whom, from the registry."""

from collections.abc import Iterator
from typing import Any

from ...errors import LenetBenchError
from ...registry import BACKENDS, IN_CPP, Backend, find

#: Of backends whose API has no name of its own, or shares it with another backend.
_NAMES = {
    "fused": "our own C++ kernels",
    "onednn": "oneDNN",
    "openblas": "OpenBLAS",
    "cuda": "our own CUDA kernels",
    "cudnn": "cuDNN",
    "reference": "NumPy in float64",
    "caffe": "Caffe in OpenCV",
}


def called(name: str) -> dict[str, Any]:
    """The name that people use, the language, and what is called, each by the one before."""
    try:
        backend, variant = find(name)
    except LenetBenchError:  # of another version
        return {"human": name, "language": "", "chain": []}
    language = backend.summary.replace(",", " ").split()[0]
    below = [] if backend.calls.startswith("nothing") else list(_below(backend))
    return {"human": _human(backend, variant or ""), "language": language, "chain": below}


def _human(backend: Backend, variant: str) -> str:
    base = _NAMES.get(backend.name.partition(":")[0]) or backend.library or backend.name
    is_keras = backend.library == "Keras"
    if is_keras and backend.name != "keras":
        base += f" on {backend.calls}"
    variant = variant or backend.name.partition(":")[2]
    shown = variant if variant != backend.default else backend.default if is_keras else ""
    words = {IN_CPP: "from C++"}.get(shown, shown)
    return " ".join(filter(None, (base, words, "on a GPU" if backend.moved else "")))


def _below(backend: Backend) -> Iterator[str]:
    """What it calls, and what that calls, where that is an API with a row too."""
    yield backend.calls
    below = next((one for one in BACKENDS if one.library == backend.calls), None)
    if below:
        yield from _below(below)

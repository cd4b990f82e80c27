"""Times of oneDNN's kernels in any engine, from ONEDNN_VERBOSE, in a process of its own.

A matrix product that an engine calls through the C function (`gemm_api`, with plain arrays) is also
called directly, with the same shape, in the library of the backend `onednn`. The other primitives
are compared with those of `onednn`.
"""

import ctypes
import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from ..errors import Unavailable
from ..registry import find
from ..registry.backend import Backend
from ..registry.native import load
from . import Image, Infer
from .engines import calls_of, medians

#: Backends that hold a oneDNN of their own.
HOLD_IT = ("onednn", "openvino", "torch", "tensorflow", "paddle", "mxnet")
#: The library reads it at its first use; that of MXNet knows the old name only.
VARIABLES = {"ONEDNN_VERBOSE": "2", "DNNL_VERBOSE": "2"}

Key = tuple[str, str, str, str]  # stage, primitive, implementation, shapes

_EXECUTED = re.compile(r"^(?:onednn|dnnl)_verbose,.*?exec,cpu,(.+)$")
_VERSION = re.compile(r"oneDNN v?(\d[\d.]*)")
_CALLED = "called"
_STAGES = {
    "conv1": r"ic1oc20|20x1x5x5|:25x20\b",
    "pool1": r"ic20_ih24",
    "conv2": r"ic20oc50|50x20x5x5|1x20x12x12|:\d+x50\b",
    "pool2": r"ic50_ih8",
    "fc1": r"oc500|800x500|500x800|500x50x4x4|1x50x4x4|^1x500\b",
    "fc2": r"ic500oc10|500x10|10x500",
}
_PRODUCT = re.compile(r"^(\d+)x(\d+):\d+x(\d+)")


def onednn_kernels(row: Backend, infer: Infer, images: Sequence[Image]) -> list[dict[str, Any]]:
    """Its kernels by stage, as plain data, from calls in this process."""
    if row.native:
        _switch_on(row.native.library)
    found = medians(_each_call(lambda: calls_of(infer, images)))
    return [
        {
            "by": "oneDNN",
            "stage": stage,
            "name": primitive,
            "implementation": implementation,
            "shapes": shapes,
            **took,
            "by_hand_us": _by_hand_us(shapes, took["times"]) if primitive == "gemm_api" else None,
        }
        for (stage, primitive, implementation, shapes), took in found.items()
    ]


def version_in(text: str) -> str:
    """The version in oneDNN's output, else in the backend's description."""
    found = _VERSION.search(text)
    return f"oneDNN {found[1]}" if found else "oneDNN"


def _each_call(calls: Callable[[], Iterator[Any]]) -> Iterator[list[tuple[Key, float]]]:
    """The lines printed in each call; the iterator stops after each call."""
    with _printed() as file:
        for _ in calls():
            os.write(1, f"{_CALLED}\n".encode())
        lines = Path(f"/proc/self/fd/{file}").read_text(errors="replace").splitlines()
    call: list[tuple[Key, float]] = []
    for line in lines:
        if line == _CALLED:
            yield call
            call = []
        elif found := _EXECUTED.match(line):
            call.append(_kernel(found[1].split(",")))


def _kernel(fields: Sequence[str]) -> tuple[Key, float]:
    """The kernel and its microseconds, from the fields of a line after that of the engine."""
    primitive, implementation, *rest, shapes, ms = fields
    fused = next((field for field in rest if "post-ops" in field), "")
    added = re.sub(r".*post-ops:(\S*).*", r" \1", fused)
    return (_stage(primitive, shapes), primitive, implementation, shapes + added), float(ms) * 1000


def _stage(primitive: str, shapes: str) -> str:
    if primitive == "softmax":
        return primitive
    return next((stage for stage, known in _STAGES.items() if re.search(known, shapes)), "")


@contextmanager
def _printed() -> Iterator[int]:
    """A file in place of standard output, for output of C++ too."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield file.fileno()
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def _switch_on(library: str) -> Any:
    """The loaded library of the backend `onednn`, with its verbose mode turned on."""
    loaded = (Path(one.path) for one in psutil.Process().memory_maps())
    found = ctypes.CDLL(str(next(path for path in loaded if path.name.startswith(f"{library}."))))
    found.dnnl_set_verbose(1)
    return found


def _by_hand_us(shapes: str, times: int) -> float | None:
    """The time of the same product of row-major matrices; None without that library."""
    native = find("onednn")[0].native
    assert native is not None
    try:
        load(native)
    except (ImportError, Unavailable):
        return None
    library = _switch_on(native.library)
    product = _PRODUCT.match(shapes)
    assert product is not None
    m, k, n = map(int, product.groups())
    random = np.random.default_rng(0)
    a, b = random.random((m, k), np.float32), random.random((k, n), np.float32)
    c = np.zeros((m, n), np.float32)

    def multiply(_: Image) -> None:
        whole, real, letter = ctypes.c_int64, ctypes.c_float, ctypes.c_char(b"N")
        given = (whole(m), whole(n), whole(k), real(1))
        first, second = (a.ctypes, whole(k)), (b.ctypes, whole(n))
        adds = real("sum" in shapes)
        library.dnnl_sgemm(letter, letter, *given, *first, *second, adds, c.ctypes, whole(n))

    calls = medians(_each_call(lambda: calls_of(multiply, [c])))
    (found,) = calls.values()
    us: float = found["us"]
    return us * times

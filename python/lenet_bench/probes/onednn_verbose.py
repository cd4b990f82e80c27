"""What oneDNN says of its kernels, whoever calls them: ONEDNN_VERBOSE, in a process of its own.

A matrix product that an engine calls (`gemm_api`: of C, with plain arrays) is called by hand too,
with the same shape, in the library of the backend `onednn`. Its other primitives are beside those
of `onednn` as these are.
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
#: Read when the library is first asked for something; MXNet's knows the old name only.
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
    """Its kernels by stage, as JSON takes them, of calls by this process."""
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
    """As oneDNN heads what it prints, or as the backend describes itself."""
    found = _VERSION.search(text)
    return f"oneDNN {found[1]}" if found else "oneDNN"


def _each_call(calls: Callable[[], Iterator[Any]]) -> Iterator[list[tuple[Key, float]]]:
    """What is printed within each call, of which there are as many as the iterator has stops."""
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
    """Of a line's fields after the engine's: what it was, and its microseconds."""
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
    """A file in the place of standard output: what C++ prints too."""
    with tempfile.TemporaryFile() as file:
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        try:
            yield file.fileno()
        finally:
            os.dup2(kept, 1)
            os.close(kept)


def _switch_on(library: str) -> Any:
    """The library that our module has loaded, which it bade be silent."""
    loaded = (Path(one.path) for one in psutil.Process().memory_maps())
    found = ctypes.CDLL(str(next(path for path in loaded if path.name.startswith(f"{library}."))))
    found.dnnl_set_verbose(1)
    return found


def _by_hand_us(shapes: str, times: int) -> float | None:
    """The same product of matrices that lie in rows; None where there is no such library."""
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

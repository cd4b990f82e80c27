"""LeNet in C++ on a library installed for Python, compiled here against its headers.

csrc/api/NAME.cpp is the user's code; csrc/bindings/answer.cpp adds a C interface. The compiled
library is kept in the user's cache.
"""

import ctypes
import os
import signal
import subprocess
import weakref
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..cache import ELSEWHERE, made
from ..errors import Unavailable
from ..weights import Weights
from . import Array, Infer

_FLAGS = ("-std=c++20", "-O3", "-w", "-shared", "-fPIC")
_SECONDS = 300.0  # that the compiler may take
_ROOM = 1000  # of answer.cpp's, for why it failed


class _Weights(ctypes.Structure):
    """The struct of csrc/lenet.hpp, whose order is the parameters' own."""

    _fields_ = [(name, ctypes.c_void_p) for name in map(str, range(8))]


def sources() -> Path:
    """The folder of the C++: in the package where it was installed, else in the checkout."""
    package = Path(__file__).parent.parent
    installed = package / "csrc"
    return installed if installed.exists() else package.parents[1] / "csrc"


def build(
    api: str,
    version: str,
    includes: Sequence[Path],
    libraries: Sequence[Path],
    weights: Weights,
    threads: int,
    onnx_model: bytes = b"",
) -> Infer:
    """The network of csrc/api/`api`.cpp on the headers and libraries of this version."""
    options = [f"-I{folder}" for folder in includes]
    options += [f"-Wl,-rpath,{folder}" for folder in dict.fromkeys(lib.parent for lib in libraries)]
    path = _compiled(api, version, [*options, *map(str, libraries)])
    if os.statvfs(path).f_flag & getattr(os, "ST_NOEXEC", 0):  # which macOS does not tell
        raise Unavailable(f"{path.parent} is mounted noexec; {ELSEWHERE}")
    library = ctypes.CDLL(str(path))
    library.lenet_build.restype = ctypes.c_void_p
    library.lenet_answer.restype = ctypes.c_bool
    library.lenet_answer.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] + [ctypes.c_void_p] * 2
    why = ctypes.create_string_buffer(_ROOM)
    kept = [np.ascontiguousarray(array) for array in weights.parameters.values()]
    given = _Weights(*(array.ctypes.data for array in kept))
    size = ctypes.c_size_t(len(onnx_model))
    handle = library.lenet_build(ctypes.byref(given), onnx_model, size, threads, why)
    if not handle:
        raise RuntimeError(why.value.decode(errors="replace"))
    answer, reason = library.lenet_answer, ctypes.addressof(why)

    def infer(images: Array) -> Array:
        probabilities = np.empty((len(images), 10), np.float32)
        image, place = (array.__array_interface__["data"][0] for array in (images, probabilities))
        if not answer(handle, image, len(images), place, reason):
            raise RuntimeError(why.value.decode(errors="replace"))
        return probabilities

    # Not at Python's end, when the API's own threads may be gone.
    weakref.finalize(infer, library.lenet_end, ctypes.c_void_p(handle)).atexit = False
    return infer


def _compiled(api: str, version: str, options: Sequence[str]) -> Path:
    """The shared library, compiled if it is not in the cache."""
    root, compiler = sources(), os.environ.get("CXX") or "g++"
    files = [root / "api" / f"{api}.cpp", root / "bindings" / "answer.cpp"]
    headers = [*sorted(root.glob("api/*.hpp")), root / "lenet.hpp", root / "shapes.hpp"]
    made_of = [*_FLAGS, *options, compiler, version]
    made_of += [file.read_text() for file in (*files, *headers)]

    def compile_in(folder: Path) -> bytes:
        library = folder / "library.so"
        command = [compiler, *_FLAGS, f"-I{root}", *map(str, files), *options, "-o", str(library)]
        code, errors = _ended(command, folder)
        if code or not library.exists():
            lines = [line for line in errors.splitlines() if "error" in line]
            why = next(iter(lines), "without a message" if code else "it made no library")
            raise Unavailable(
                f"{compiler} cannot compile {api}.cpp: {why}; "
                "fix it with a compiler that knows C++20: export CXX=g++-12"
            )
        return library.read_bytes()

    return made("in-cpp", api, made_of, compile_in, ".so")


def _ended(command: Sequence[str], folder: Path) -> tuple[int, str]:
    """Run the compiler, whose temporary files go into the folder: its exit code and its errors."""
    another = "name another C++ compiler: export CXX=g++-12"
    try:
        process = subprocess.Popen(
            command,
            env={**os.environ, "TMPDIR": str(folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            start_new_session=True,  # it has children of its own, which end with it
        )
    except OSError as error:
        raise Unavailable(f"{command[0]} cannot be started: {error.strerror}; {another}") from None
    try:
        _, errors = process.communicate(timeout=_SECONDS)
    except subprocess.TimeoutExpired:
        raise Unavailable(
            f"{command[0]} did not compile within {_SECONDS:g} s; {another}"
        ) from None
    finally:
        if process.returncode is None:  # also after Ctrl-C
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    return process.returncode, errors

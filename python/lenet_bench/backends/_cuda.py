"""Bring in the native module of the GPU rungs, for the major of CUDA whose libraries are here.

A package may hold _cuda12 and _cuda13. One of them is chosen, once, and all its libraries are
loaded by path before it, since pip puts them where no loader looks.
"""

import ctypes
import os
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from ..errors import Unavailable

_LIBRARIES = {
    13: ("libcudart.so.13", "libnvrtc.so.13", "libcublas.so.13", "libcudnn.so.9"),
    12: ("libcudart.so.12", "libnvrtc.so.12", "libcublas.so.12", "libcudnn.so.9"),
}

#: A folder whose libraries go before all others: the tests' double of CUDA, a toolkit of one's own.
FOLDER_VARIABLE = "LENET_BENCH_CUDA_LIBRARIES"


@cache
def native() -> ModuleType:
    """The module _cuda13 or _cuda12; raises Unavailable, with the command that mends it."""
    built = [major for major in _LIBRARIES if find_spec(f"lenet_bench._cuda{major}")]
    if not built:
        raise Unavailable(
            "lenet-bench was built without CUDA; in its source tree, mend it with: "
            "LENET_CUDA=13 pip install '.[cuda13]'"
        )
    driver = _newest_major_of_the_driver()
    built.sort(key=lambda major: major > driver)  # what the driver supports goes first
    reasons = []
    for major in built:
        try:
            _load_libraries(major)
            return import_module(f"lenet_bench._cuda{major}")
        except OSError as error:
            reasons.append(
                f"CUDA {major}: {error}; mend it with: pip install 'lenet-bench[cuda{major}]'"
            )
        except ImportError as error:
            reasons.append(
                f"the libraries of CUDA {major} are too old ({error}); mend it with: "
                f"pip install --upgrade 'lenet-bench[cuda{major}]'"
            )
    raise Unavailable(reasons[0])


def _load_libraries(major: int) -> None:
    """Load each library, or raise OSError that names the one that is missing."""
    for library in _LIBRARIES[major]:
        for path in _places(library, major):
            if path.is_file():
                ctypes.CDLL(str(path))
                break
        else:
            try:
                ctypes.CDLL(library)  # where the system's loader looks
            except OSError:
                raise OSError(f"{library} is not installed") from None


def _places(library: str, major: int) -> list[Path]:
    """Where this library may lie, the first choice first."""
    chosen = os.environ.get(FOLDER_VARIABLE)
    wheels = find_spec("nvidia")
    roots = [Path(root) for root in (wheels and wheels.submodule_search_locations) or ()]
    return [
        *([Path(chosen) / library] if chosen else []),
        *(path for root in roots for path in sorted(root.glob(f"*/lib/{library}"))),
        Path(f"/usr/local/cuda-{major}/lib64/{library}"),
        Path(f"/usr/local/cuda/lib64/{library}"),
    ]


def _newest_major_of_the_driver() -> int:
    """The newest CUDA that the driver supports; where there is none, any will do."""
    try:
        driver = ctypes.CDLL("libcuda.so.1")
    except OSError:
        return max(_LIBRARIES)
    version = ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    return version.value // 1000

"""Import the native module of the GPU backends for the installed major version of CUDA.

A package may have _cuda12 and _cuda13. One of them is chosen, once, and all its libraries are
loaded by path before it, since the loader does not search the folders where pip installs them.
"""

import ctypes
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from ..errors import Unavailable
from .cuda_libraries import LIBRARIES, load, load_of_driver

#: What builds the GPU backends, in the source tree.
BUILD = "LENET_CUDA=13 pip install '.[cuda13]'"
NOT_BUILT = f"lenet-bench was built without CUDA; in its source tree, fix it with: {BUILD}"


@cache
def native() -> ModuleType:
    """The module _cuda13 or _cuda12; raises Unavailable, with the command that fixes it."""
    majors = built_majors()
    if not majors:
        raise Unavailable(NOT_BUILT)
    reasons = []
    for major in majors:
        try:
            if too_old := why_too_old(major):
                raise Unavailable(too_old)
            for library in LIBRARIES[major]:
                load(library, major)
            return import_module(f"lenet_bench._cuda{major}")
        except Unavailable as error:
            reasons.append(f"CUDA {major}: {error}")
        except ImportError as error:
            reasons.append(
                f"the libraries of CUDA {major} are too old ({error}); fix it with: "
                f"pip install --upgrade 'lenet-bench[cuda{major}]'"
            )
    raise Unavailable(reasons[0])


def built_majors() -> list[int]:
    """The major versions of CUDA that this package was built for; supported ones first."""
    driver = (driver_version() or 1000 * max(LIBRARIES)) // 1000
    built = [major for major in LIBRARIES if find_spec(f"lenet_bench._cuda{major}")]
    return sorted(built, key=lambda major: major > driver)


def why_too_old(major: int) -> str | None:
    """Why the driver cannot run this CUDA; None if it can, or if there is no driver."""
    driver = driver_version()
    if driver is None or driver // 1000 >= major:
        return None
    older = max((other for other in LIBRARIES if other <= driver // 1000), default=None)
    update = f"the driver supports CUDA {dotted(driver)} only: update it"
    if older is None:
        return f"{update}; fix it with: apt install --upgrade nvidia-driver"
    build = f"LENET_CUDA={older} pip install '.[cuda{older}]'"
    return f"{update}, or build for an older CUDA; fix it with: {build}"


def dotted(version: int) -> str:
    """13.2 of 13020."""
    return f"{version // 1000}.{version % 1000 // 10}"


def driver_version() -> int | None:
    """The newest CUDA that the driver supports, 13020 for 13.2; None where there is no driver."""
    driver = load_of_driver("libcuda.so.1")
    if driver is None:
        return None
    version = ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    return version.value or None

"""Bring in the native module of the GPU rungs, for the major of CUDA whose libraries are here.

A package may hold _cuda12 and _cuda13. One of them is chosen, once, and all its libraries are
loaded by path before it, since pip puts them where no loader looks.
"""

import ctypes
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

from ..errors import Unavailable
from ._cuda_libraries import LIBRARIES, load, load_of_driver


@cache
def native() -> ModuleType:
    """The module _cuda13 or _cuda12; raises Unavailable, with the command that mends it."""
    majors = built_majors()
    if not majors:
        raise Unavailable(
            "lenet-bench was built without CUDA; in its source tree, mend it with: "
            "LENET_CUDA=13 pip install '.[cuda13]'"
        )
    reasons = []
    for major in majors:
        try:
            for library in LIBRARIES[major]:
                load(library, major)
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


def built_majors() -> list[int]:
    """The majors of CUDA that this package was built for; what the driver supports goes first."""
    driver = (driver_version() or 1000 * max(LIBRARIES)) // 1000
    built = [major for major in LIBRARIES if find_spec(f"lenet_bench._cuda{major}")]
    return sorted(built, key=lambda major: major > driver)


def driver_version() -> int | None:
    """The newest CUDA that the driver supports, 13020 for 13.2; None where there is no driver."""
    driver = load_of_driver("libcuda.so.1")
    if driver is None:
        return None
    version = ctypes.c_int()
    driver.cuDriverGetVersion(ctypes.byref(version))
    return version.value or None

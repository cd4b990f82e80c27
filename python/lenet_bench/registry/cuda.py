"""Load CUDA's libraries, and the native module of the GPU backends that is bound to them.

A package may have the modules _cuda12 and _cuda13. One of them is chosen, once, and all its
libraries are loaded by path before it: from NVIDIA's wheels, where no loader searches, from a
toolkit or from the user's folder.

A library opens its parts by bare name while it works (cuDNN its engines, NVRTC its builtins,
cuBLAS its cublasLt), and then LD_LIBRARY_PATH goes before the library's own folder. But a name that
is in the process already is taken from there, so all parts are loaded by path first.
"""

import ctypes
import os
import sys
from contextlib import suppress
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

from ..cache import own_folder
from ..errors import Unavailable
from ..installed import installed_version

#: What builds the GPU backends, in the source tree.
BUILD = "LENET_CUDA=13 pip install '.[cuda13]'"
NOT_BUILT = f"lenet-bench was built without CUDA; in its source tree, fix it with: {BUILD}"

#: What the module for a major of CUDA needs, in the order in which they need each other.
LIBRARIES = {
    13: ("libcudart.so.13", "libnvrtc.so.13", "libcublas.so.13", "libcudnn.so.9"),
    12: ("libcudart.so.12", "libnvrtc.so.12", "libcublas.so.12", "libcudnn.so.9"),
}

_WHEELS = {
    "libcudart": "nvidia-cuda-runtime",
    "libnvrtc": "nvidia-cuda-nvrtc",
    "libcublas": "nvidia-cublas",
    "libcudnn": "nvidia-cudnn",
}

#: The parts beside a library, in the order in which they need each other.
_PARTS = {
    "libnvrtc": ("libnvrtc-builtins.so.*",),
    "libcublas": ("libcublasLt.so.{major}",),
    "libcudnn": tuple(f"libcudnn_{part}.so.{{major}}" for part in ("graph", "ops", "*")),
}

#: An empty library with the name of a part that cuDNN 9.20 looks for and does not have. Without it
#: cuDNN would load that part of a newer cuDNN in LD_LIBRARY_PATH, and fail.
NO_TENSOR_IR = Path(__file__).parents[1] / "_no_tensor_ir.so"

#: A folder searched before all others, for the tests' double of CUDA or the user's own toolkit.
FOLDER_VARIABLE = "LENET_BENCH_CUDA_LIBRARIES"

_RTLD_DI_LINKMAP = 2


class _LinkMap(ctypes.Structure):
    """The beginning of the loader's own record of a library."""

    _fields_ = (("address", ctypes.c_void_p), ("name", ctypes.c_char_p))


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
            module = import_module(f"lenet_bench._cuda{major}")
            with suppress(Unavailable):  # then kernels are compiled at each start
                module.keep_kernels_in(os.fsencode(own_folder("kernels")))
            return module
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


def load(library: str, major: int) -> ctypes.CDLL:
    """Load one library and its parts; Unavailable where it is nowhere, or one of them is damaged.

    By its path, else by the system's loader. If this process has the library already, the module
    would be bound to that one: then it stays, and its parts come from its folder.
    """
    path = loaded_from(library) or locate(library, major) or _found_by_the_system(library, major)
    path = _preferred_by_cudnn(path, major) or path
    missing = [part for part in opened_by(path) if not loaded_from(part.name)]
    for file in (*missing, path):
        try:
            loaded = ctypes.CDLL(str(file))
        except OSError as error:
            # cuDNN's run-time compiled engines are linked with the driver.
            if file != path and "libcuda.so.1" in str(error):
                continue
            raise Unavailable(
                f"{file.name} cannot be loaded ({error}); fix it with: "
                f"pip install --force-reinstall {wheel_of(library, major)}"
            ) from None
    return loaded


def wheel_of(library: str, major: int) -> str:
    """Its package's name for pip."""
    name = _WHEELS[library.partition(".")[0]]
    return f"{name}-cu{major}" if major == 12 or "cudnn" in name else name


def load_for_cupy() -> None:
    """Load CuPy's libraries before CuPy does; if they are not installed, CuPy says so."""
    for major, (_, nvrtc, cublas, _) in LIBRARIES.items():
        if installed_version(f"cupy-cuda{major}x"):
            for library in (nvrtc, cublas):
                with suppress(Unavailable):
                    load(library, major)


def load_for_tinygrad() -> None:
    """Load the driver and NVRTC, and say where they are: tinygrad searches the system's folders."""
    if driver := load_of_driver("libcuda.so.1"):
        folders = (str(_file_of(driver).parent), os.environ.get("LD_LIBRARY_PATH"))
        os.environ["LD_LIBRARY_PATH"] = os.pathsep.join(filter(None, folders))
    for major, (_, nvrtc, *_rest) in LIBRARIES.items():
        with suppress(Unavailable):
            load(nvrtc, major)
            os.environ.setdefault("NVRTC_PATH", str(loaded_from(nvrtc)))
            return


def load_of_driver(library: str) -> ctypes.CDLL | None:
    """A library of the driver, libcuda or libnvidia-ml; None where it is absent."""
    path = _chosen(library)
    try:
        return ctypes.CDLL(str(path or library))
    except OSError:
        return None


def locate(library: str, major: int) -> Path | None:
    """The file to load; None if only the system's loader may find one."""
    places = [
        *(path for root in wheels() for path in sorted(root.glob(f"*/lib/{library}"))),
        Path(f"/usr/local/cuda-{major}/lib64/{library}"),
        Path(f"/usr/local/cuda/lib64/{library}"),
    ]
    return _chosen(library) or next((path for path in places if path.is_file()), None)


def wheels() -> list[Path]:
    """Where NVIDIA's wheels may be: `import nvidia` would know one place, if that has a module."""
    return [Path(entry, "nvidia") for entry in sys.path]


def opened_by(library: Path) -> list[Path]:
    """The files beside a library that it opens by name while it works."""
    name, _, number = library.name.partition(".so.")
    patterns = [pattern.format(major=number.partition(".")[0]) for pattern in _PARTS.get(name, ())]
    found = [path for pattern in patterns for path in sorted(library.parent.glob(pattern))]
    if name == "libcudnn" and found and not any("tensor_ir" in path.name for path in found):
        found += [path for path in (NO_TENSOR_IR,) if path.is_file()]
    return list(dict.fromkeys(found))


def loaded_from(library: str) -> Path | None:
    """The file that this name stands for in this process; None where it is not loaded."""
    try:
        return _file_of(ctypes.CDLL(library, mode=os.RTLD_NOLOAD))
    except OSError:
        return None


def _file_of(library: ctypes.CDLL) -> Path:
    record = ctypes.POINTER(_LinkMap)()
    handle = ctypes.c_void_p(library._handle)
    ctypes.CDLL(None).dlinfo(handle, _RTLD_DI_LINKMAP, ctypes.byref(record))
    return Path(os.fsdecode(record.contents.name))


def _found_by_the_system(library: str, major: int) -> Path:
    try:
        ctypes.CDLL(library)
    except OSError:
        raise Unavailable(
            f"{library} is not installed; fix it with: pip install 'lenet-bench[cuda{major}]'"
        ) from None
    path = loaded_from(library)
    assert path is not None
    return path


def _preferred_by_cudnn(library: Path, major: int) -> Path | None:
    """The system's cuDNN of the very same version, its full number in the files' names.

    cuDNN asks for libcudnn_graph.so.9.28.0 before libcudnn_graph.so.9, which no wheel has: it takes
    the system's, whatever is loaded. So all of it has to come from there.
    """
    if not library.name.startswith("libcudnn.so."):
        return None
    graph = f"libcudnn_graph.so.{version_of(library, library.name, major)}"
    try:
        ctypes.CDLL(graph)
    except OSError:
        return None
    place = loaded_from(graph)
    twin = place.with_name(library.name) if place else library
    return twin if twin.is_file() else None


def version_of(file: Path, library: str, major: int) -> str:
    """9.28.0, of the file's name, else of the wheel beside it; "" where neither says it."""
    number = file.resolve().name.partition(".so.")[2]
    if number.count(".") == 2:
        return number
    beside = [str(folder) for folder in file.parents[3:4]]  # site-packages/nvidia/cudnn/lib
    from importlib.metadata import Distribution  # which takes a tenth of `infer` to import

    wheel = Distribution.discover(name=wheel_of(library, major), path=beside)
    return ".".join(next((one.version for one in wheel), "").split(".")[:3])


def _chosen(library: str) -> Path | None:
    folder = os.environ.get(FOLDER_VARIABLE)
    path = Path(folder, library) if folder else None
    return path if path and os.path.isfile(path) else None  # noqa: PTH113 - also where too long

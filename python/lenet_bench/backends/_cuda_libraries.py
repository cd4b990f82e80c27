"""Where CUDA's libraries lie: in NVIDIA's wheels, where no loader looks, in a toolkit, or where the
user says.
"""

import ctypes
import os
from importlib.util import find_spec
from pathlib import Path

#: What the module for a major of CUDA needs, in the order in which they need each other.
LIBRARIES = {
    13: ("libcudart.so.13", "libnvrtc.so.13", "libcublas.so.13", "libcudnn.so.9"),
    12: ("libcudart.so.12", "libnvrtc.so.12", "libcublas.so.12", "libcudnn.so.9"),
}

#: A folder whose libraries go before all others: the tests' double of CUDA, a toolkit of one's own.
FOLDER_VARIABLE = "LENET_BENCH_CUDA_LIBRARIES"


def load(library: str, major: int) -> ctypes.CDLL:
    """Load one library by its path, else by the system's loader; OSError where it is nowhere."""
    path = locate(library, major)
    try:
        return ctypes.CDLL(str(path or library))
    except OSError as error:
        if path is None:
            raise OSError(f"{library} is not installed") from None
        raise OSError(f"{library} cannot be loaded ({error})") from None


def load_of_driver(library: str) -> ctypes.CDLL | None:
    """A library that comes with the driver, libcuda or libnvidia-ml; None where there is none."""
    path = _chosen(library)
    try:
        return ctypes.CDLL(str(path or library))
    except OSError:
        return None


def locate(library: str, major: int) -> Path | None:
    """The file, the first choice; None where only the system's loader may know one."""
    wheels = find_spec("nvidia")
    roots = [Path(root) for root in (wheels and wheels.submodule_search_locations) or ()]
    places = [
        *(path for root in roots for path in sorted(root.glob(f"*/lib/{library}"))),
        Path(f"/usr/local/cuda-{major}/lib64/{library}"),
        Path(f"/usr/local/cuda/lib64/{library}"),
    ]
    return _chosen(library) or next((path for path in places if path.is_file()), None)


def _chosen(library: str) -> Path | None:
    folder = os.environ.get(FOLDER_VARIABLE)
    path = Path(folder, library) if folder else None
    return path if path and path.is_file() else None

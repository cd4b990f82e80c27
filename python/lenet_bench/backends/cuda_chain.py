"""Every link between the GPU rungs and a GPU: where it is and its version, or what mends it.

The links are looked at in a process of its own, since a library that does not fit may crash.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from ._cuda import built_majors, driver_version
from ._cuda_libraries import LIBRARIES, load, load_of_driver, locate

_SECONDS = 60
_OLDEST = {13: 75, 12: 50}  # compute capability times 10
_NO_DEVICE = 100  # CUDA_ERROR_NO_DEVICE
_COMPUTE_CAPABILITY = 75, 76  # CU_DEVICE_ATTRIBUTE_..._MAJOR, _MINOR
_MAJOR, _MINOR, _PATCH = range(3)  # of libraryPropertyType


@dataclass(frozen=True)
class Link:
    """One thing that has to be there, from the driver to the libraries."""

    name: str
    summary: str
    found: str | None  # its version, or what it is
    reason: str | None = None  # why it does not serve, and the command that mends it
    path: str | None = None  # of a library, where it was found by its path


class _Broken(Exception):
    """Why a link does not serve, and the command that mends it."""


def ask() -> list[Link]:
    """All links, the driver's first."""
    command = [sys.executable, "-m", __name__]
    try:
        child = subprocess.run(
            command, capture_output=True, text=True, timeout=_SECONDS, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        return [_unknown(f"did not end within {_SECONDS} seconds")]
    if child.returncode == 0:
        return [Link(**link) for link in json.loads(child.stdout.splitlines()[-1])]
    if child.returncode < 0:
        return [_unknown(f"was ended by {signal.Signals(-child.returncode).name}")]
    return [_unknown(f"failed: {(child.stderr.strip().splitlines() or ['no message'])[-1]}")]


def _unknown(what: str) -> Link:
    command = f"{Path(sys.executable).name} -m {__name__}"
    return Link("CUDA", "", None, f"looking at it {what}; see all that it says with: {command}")


def _look() -> Iterator[Link]:
    """In this process."""
    major = _major()
    yield _link("driver", "NVIDIA's kernel driver", _driver)
    yield _link("libcuda", "the driver's library", lambda: _libcuda(major))
    yield _link("device", "the GPU", lambda: _device(major))
    yield _link("module", "our C++, compiled", _module)
    versions = (_cudart, _nvrtc, _cublas, _cudnn)
    for library, version in zip(LIBRARIES[major], versions, strict=True):
        yield _library(library, major, version)


def _link(name: str, summary: str, look: Callable[[], str]) -> Link:
    try:
        return Link(name, summary, look())
    except _Broken as broken:
        return Link(name, summary, None, str(broken))


def _major() -> int:
    """The CUDA that the rungs will use: the first that is built and whose libraries are here."""
    driver = (driver_version() or 0) // 1000
    majors = built_majors() or [driver if driver in LIBRARIES else max(LIBRARIES)]
    whole = (
        major for major in majors if all(locate(library, major) for library in LIBRARIES[major])
    )
    return next(whole, majors[0])


def _driver() -> str:
    for version in (Path("/sys/module/nvidia/version"), Path("/proc/driver/nvidia/version")):
        if version.is_file():
            return version.read_text(errors="replace").splitlines()[0].strip()
    if any(Path("/dev", name).exists() for name in ("nvidiactl", "nvidia0", "dxg")):
        return "its device files are here"
    driver = load_of_driver("libcuda.so.1")
    if driver is not None and driver.cuInit(0) in (0, _NO_DEVICE):
        return "it answers"
    raise _Broken(
        "no NVIDIA driver is loaded (no /dev/nvidiactl; a container takes --gpus all), without "
        "which no GPU is seen; mend it with: apt install nvidia-driver"
    )


def _libcuda(major: int) -> str:
    version = driver_version()
    if version is None:
        raise _Broken(
            "libcuda.so.1 is not installed, which comes with the driver; "
            "mend it with: apt install nvidia-driver"
        )
    told = f"CUDA {_dotted(version)}"
    if version // 1000 < major:
        older = max((other for other in LIBRARIES if other <= version // 1000), default=None)
        mend = (
            f"LENET_CUDA={older} pip install '.[cuda{older}]'"
            if older
            else "apt install --upgrade nvidia-driver"
        )
        raise _Broken(
            f"the driver supports {told} and CUDA {major} needs {major}.0: update it, or build "
            f"for an older CUDA; mend it with: {mend}"
        )
    return f"supports {told}"


def _device(major: int) -> str:
    devices = _devices()
    if not devices:
        visible = os.environ.get("CUDA_VISIBLE_DEVICES")
        if visible is not None:
            raise _Broken(
                f'CUDA_VISIBLE_DEVICES="{visible}" leaves no GPU visible; mend it with: '
                "unset CUDA_VISIBLE_DEVICES"
            )
        raise _Broken("the driver finds no GPU; see what it says with: nvidia-smi")
    told = [f"{name}, compute capability {cc // 10}.{cc % 10}" for name, cc in devices]
    if max(cc for _, cc in devices) < _OLDEST[major]:
        mend = "; mend it with: LENET_CUDA=12 pip install '.[cuda12]'" if major > 12 else ""
        raise _Broken(f"{told[0]}, is too old for CUDA {major}{mend}")
    return "; ".join(told)


def _devices() -> list[tuple[str, int]]:
    """Each GPU's name and compute capability times 10."""
    driver = load_of_driver("libcuda.so.1")
    if driver is None:
        raise _Broken("without the driver's library nobody knows of one")
    count = ctypes.c_int()
    status = driver.cuInit(0) or driver.cuDeviceGetCount(ctypes.byref(count))
    if status == _NO_DEVICE:
        return []
    if status:
        raise _Broken(
            f"the driver cannot start (CUDA error {status}); see what it says with: nvidia-smi"
        )
    return [_described(driver, index) for index in range(count.value)]


def _described(driver: ctypes.CDLL, index: int) -> tuple[str, int]:
    name, parts = ctypes.create_string_buffer(128), (ctypes.c_int(), ctypes.c_int())
    driver.cuDeviceGetName(name, len(name), index)
    for part, attribute in zip(parts, _COMPUTE_CAPABILITY, strict=True):
        driver.cuDeviceGetAttribute(ctypes.byref(part), attribute, index)
    return name.value.decode(errors="replace"), 10 * parts[0].value + parts[1].value


def _module() -> str:
    majors = built_majors()
    if not majors:
        raise _Broken(
            "lenet-bench was built without CUDA; in its source tree, mend it with: "
            "LENET_CUDA=13 pip install '.[cuda13]'"
        )
    return ", ".join(f"_cuda{major}" for major in sorted(majors, reverse=True))


def _library(library: str, major: int, version: Callable[[ctypes.CDLL, int], str]) -> Link:
    name, summary = library.partition(".")[0], f"CUDA {major}'s {library}"
    mend = f"mend it with: pip install 'lenet-bench[cuda{major}]'"
    try:
        loaded = load(library, major)
    except OSError as error:
        return Link(name, summary, None, f"{error}; {mend}")
    path = locate(library, major)
    link = _link(name, summary, lambda: version(loaded, major))
    return replace(link, path=str(path) if path else None)


def _cudart(library: ctypes.CDLL, _: int) -> str:
    version = ctypes.c_int()
    library.cudaRuntimeGetVersion(ctypes.byref(version))
    return _dotted(version.value)


def _nvrtc(library: ctypes.CDLL, _: int) -> str:
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    return f"{major.value}.{minor.value}"


def _cublas(library: ctypes.CDLL, _: int) -> str:
    parts = []
    for part in (_MAJOR, _MINOR, _PATCH):
        value = ctypes.c_int()
        library.cublasGetProperty(part, ctypes.byref(value))
        parts.append(str(value.value))
    return ".".join(parts)


def _cudnn(library: ctypes.CDLL, major: int) -> str:
    """The two cuDNN have one file name and install into one folder."""
    library.cudnnGetVersion.restype = library.cudnnGetCudartVersion.restype = ctypes.c_size_t
    version, of = library.cudnnGetVersion(), library.cudnnGetCudartVersion() // 1000
    if of != major:
        raise _Broken(
            f"the cuDNN found here is built for CUDA {of}, not {major}; mend it with: "
            f"pip uninstall -y nvidia-cudnn-cu{of} && "
            f"pip install --force-reinstall nvidia-cudnn-cu{major}"
        )
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"


def _dotted(version: int) -> str:
    return f"{version // 1000}.{version % 1000 // 10}"


if __name__ == "__main__":
    print(json.dumps([asdict(link) for link in _look()]))

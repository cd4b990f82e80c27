"""Each link from the GPU backends to a GPU: its place and version, or how to fix it.

The links are checked in a process of its own, since a mismatched library may crash.
"""

import ctypes
import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from ..errors import Unavailable
from ..process import Child, Died, Parent
from .cuda import (
    LIBRARIES,
    NOT_BUILT,
    built_majors,
    dotted,
    driver_version,
    fix,
    load,
    load_of_driver,
    loaded_from,
    locate,
    version_of,
    why_too_old,
)
from .gpu import why_none

_SECONDS = 60
_OLDEST = {13: 75, 12: 50}  # compute capability times 10
_COMPUTE_CAPABILITY = 75, 76  # CU_DEVICE_ATTRIBUTE_..._MAJOR, _MINOR
_MAJOR, _MINOR, _PATCH = range(3)  # of libraryPropertyType


@dataclass(frozen=True)
class Link:
    """One requirement, from the driver to the libraries."""

    name: str
    summary: str
    found: str | None  # its version, or what it is
    reason: str | None = None  # why it does not work, and the command that fixes it
    path: str | None = None  # of a library, its file
    files: dict[str, str] = field(default_factory=dict)  # it and its parts, and their versions


class _Broken(Exception):
    """Why a link does not work, and the command that fixes it."""


def ask() -> list[Link]:
    try:
        with closing(Child(f"{__name__}:serve")) as child:
            return [Link(**link) for link in child.hear(_SECONDS)]
    except Died as death:
        return [Link("CUDA", "", None, f"the check failed: {death.sentence}")]


def serve(parent: Parent) -> None:
    parent.say([asdict(link) for link in _look()])


def _look() -> Iterator[Link]:
    major = _major()
    yield _link("driver", "NVIDIA's driver, and the CUDA that it supports", lambda: _driver(major))
    if driver_version():
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
    """The CUDA that the backends will use: the first that is built and has its libraries."""
    driver = (driver_version() or 0) // 1000
    majors = built_majors() or [driver if driver in LIBRARIES else max(LIBRARIES)]
    whole = (
        major for major in majors if all(locate(library, major) for library in LIBRARIES[major])
    )
    return next(whole, majors[0])


def _driver(major: int) -> str:
    version = driver_version()
    if version is None:
        none = why_none()
        raise _Broken(none.sentence if none else "the driver does not say what CUDA it supports")
    if too_old := why_too_old(major):
        raise _Broken(too_old)
    return f"{_kernel_module()}supports CUDA {dotted(version)}"


def _kernel_module() -> str:
    """Its version, where the system tells it."""
    version = Path("/sys/module/nvidia/version")
    return f"{version.read_text().strip()}, " if version.is_file() else ""


def _device(major: int) -> str:
    if none := why_none():
        raise _Broken(none.sentence)
    devices = _devices()
    named = [f"{name}, compute capability {cc // 10}.{cc % 10}" for name, cc in devices]
    if max(cc for _, cc in devices) < _OLDEST[major]:
        command = "; fix it with: LENET_CUDA=12 pip install '.[cuda12]'" if major > 12 else ""
        raise _Broken(f"{named[0]}, is too old for CUDA {major}{command}")
    return "; ".join(named)


def _devices() -> list[tuple[str, int]]:
    driver, count = load_of_driver("libcuda.so.1"), ctypes.c_int()
    assert driver is not None
    driver.cuDeviceGetCount(ctypes.byref(count))
    found = []
    for index in range(count.value):
        name, parts = ctypes.create_string_buffer(128), (ctypes.c_int(), ctypes.c_int())
        driver.cuDeviceGetName(name, len(name), index)
        for part, attribute in zip(parts, _COMPUTE_CAPABILITY, strict=True):
            driver.cuDeviceGetAttribute(ctypes.byref(part), attribute, index)
        found.append((name.value.decode(errors="replace"), 10 * parts[0].value + parts[1].value))
    return found


def _module() -> str:
    majors = built_majors()
    if not majors:
        raise _Broken(NOT_BUILT)
    return ", ".join(f"_cuda{major}" for major in sorted(majors, reverse=True))


def _library(library: str, major: int, version: Callable[[ctypes.CDLL, int], str]) -> Link:
    """The library's own version, and the files that it loads."""
    name, summary = library.partition(".")[0], f"CUDA {major}'s {library}"
    try:
        loaded = load(library, major)
    except Unavailable as error:
        return Link(name, summary, None, str(error))
    path = loaded_from(library)
    link = _link(name, summary, lambda: version(loaded, major))
    files = {str(file): version_of(file, name, major) for file in _in_this_process(name)}
    folders, versions = {Path(file).parent for file in files}, sorted({*files.values()} - {""})
    if not link.reason and len(folders) > 1 and len(versions) > 1:
        mixed = f"its parts are of different versions ({', '.join(versions)}), from several folders"
        link = replace(link, found=None, reason=f"{mixed}; {fix(library, major)}")
    return replace(link, path=str(path) if path else None, files=files)


def _in_this_process(name: str) -> list[Path]:
    """The files of a library and its parts that are mapped."""
    lines = Path("/proc/self/maps").read_text().splitlines()
    mapped = {Path(line.split(maxsplit=5)[-1]) for line in lines}
    return sorted(file for file in mapped if re.match(rf"{name}[^/]*\.so", file.name))


def _cudart(library: ctypes.CDLL, _: int) -> str:
    version = ctypes.c_int()
    library.cudaRuntimeGetVersion(ctypes.byref(version))
    return dotted(version.value)


def _nvrtc(library: ctypes.CDLL, of: int) -> str:
    major, minor = ctypes.c_int(), ctypes.c_int()
    library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    _compile_nothing(library, of)
    return f"{major.value}.{minor.value}"


def _compile_nothing(nvrtc: ctypes.CDLL, major: int) -> None:
    """Compile an empty kernel, which needs NVRTC's builtins, too."""
    program, length = ctypes.c_void_p(), ctypes.c_size_t()
    source = b'extern "C" __global__ void empty() {}'
    status = nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, b"empty.cu", 0, None, None)
    status = status or nvrtc.nvrtcCompileProgram(program, 0, None)
    if status:
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(length))
        log = ctypes.create_string_buffer(length.value + 1)
        nvrtc.nvrtcGetProgramLog(program, log)
        said = " ".join(log.value.decode(errors="replace").split()) or f"error {status}"
        raise _Broken(f"it cannot compile an empty kernel ({said}); {fix('libnvrtc.', major)}")
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


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
            f"the cuDNN found here is built for CUDA {of}, not {major}; {fix('libcudnn.', major)}"
        )
    for part in ("Graph", "Ops", "Cnn"):
        if status := getattr(library, f"cudnn{part}VersionCheck")():
            raise _Broken(
                f"its parts are of different versions (cudnn{part}VersionCheck says {status}); "
                f"{fix('libcudnn.', major)}"
            )
    return f"{version // 10000}.{version // 100 % 100}.{version % 100}"

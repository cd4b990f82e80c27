"""The links from the GPU backends to a GPU, up to the first that is broken.

They are the driver, the GPU, and our module with its libraries. They are checked in a process of
its own, since a mismatched library may crash.
"""

import ctypes
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass

from ..errors import Unavailable
from ..process import Child, Died, Parent
from .cuda import (
    LIBRARIES,
    dotted,
    driver_version,
    load_of_driver,
    loaded_from,
    native,
    version_of,
)
from .gpu import why_none

_SECONDS = 60


@dataclass(frozen=True)
class Link:
    """One requirement of the GPU backends."""

    name: str
    summary: str
    found: str | None  # its version, or what it is
    reason: str | None = None  # why it does not work, and the command that fixes it


def ask() -> list[Link]:
    try:
        with closing(Child(f"{__name__}:serve")) as child:
            return [Link(**link) for link in child.hear(_SECONDS)]
    except Died as death:
        return [Link("CUDA", "", None, f"the check failed: {death.sentence}")]


def serve(parent: Parent) -> None:
    parent.say([asdict(link) for link in _look()])


def _look() -> Iterator[Link]:
    for name, summary, look in (
        ("driver", "NVIDIA's driver, and the CUDA that it supports", _driver),
        ("device", "the GPU", _device),
        ("module", "our C++, compiled, and the libraries that it calls", _module),
    ):
        try:
            yield Link(name, summary, look())
        except Unavailable as error:
            yield Link(name, summary, None, str(error))
            return


def _driver() -> str:
    version = driver_version()
    if version is None:
        none = why_none()
        raise Unavailable(
            none.sentence if none else "the driver does not say what CUDA it supports"
        )
    return f"supports CUDA {dotted(version)}"


def _device() -> str:
    if none := why_none():
        raise Unavailable(none.sentence)
    driver, count = load_of_driver("libcuda.so.1"), ctypes.c_int()
    assert driver is not None
    driver.cuDeviceGetCount(ctypes.byref(count))
    names = [ctypes.create_string_buffer(128) for _ in range(count.value)]
    for number, name in enumerate(names):
        driver.cuDeviceGetName(name, len(name), number)
    return "; ".join(name.value.decode(errors="replace") for name in names)


def _module() -> str:
    name = native().__name__.rpartition(".")[2]
    major = int(name.removeprefix("_cuda"))
    libraries = []
    for library in LIBRARIES[major]:
        file = loaded_from(library)
        assert file is not None
        named = f"{library.partition('.')[0]} {version_of(file, library, major)}".rstrip()
        libraries.append(f"{named} in {file.parent}")
    return f"{name} on {', '.join(libraries)}"

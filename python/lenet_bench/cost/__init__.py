"""The cost of a variant in code: lines, API names, and packages to install.

Counted from the sources alone; no API is imported. A variant in Python is its function and all
definitions that this uses in its file, without imports of lenet-bench's modules. A line counts if
it holds code: blank lines, comments, docstrings and lines with only brackets and separators do not,
since the formatter places those. pygount counts in the same way, and tests/test_cost.py checks that
both give the same number; pygount is not used here because it needs 19 MB with its dependencies.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from ..errors import LenetBenchError
from ..installed import extra_requirements, installed_bytes, package_name
from ..registry import Backend, environments, find, names, with_variants
from .api import api_names
from .source import Source, sources
from .tokens import code_lines

_PACKAGE = Path(__file__).parent.parent
#: The packages that only write a model file, by the file here that calls them.
_WRITERS = {
    "onnx.py": ("onnx",),
    "tflite.py": ("keras", "tensorflow", "tensorflow-cpu"),
    "iree.py": ("iree-base-compiler",),
}


@dataclass(frozen=True)
class Cost:
    """The cost of one variant."""

    name: str
    files: tuple[str, ...]
    lines_of_code: int
    api_names: tuple[str, ...]  # the distinct names of its API that it uses
    installs: tuple[str, ...]  # pip's requirements, beyond the core's
    installed_mib: float | None  # of the packages that a call needs; None if not installed
    converter_mib: float | None  # of further ones, which only write its model file


def costs(asked: Sequence[str] = ()) -> list[Cost]:
    """The costs of these backends with their variants, or of all; in the registry's order."""
    return list(map(_cost, with_variants(asked) if asked else names()))


@cache
def lines_of_code(name: str) -> int | None:
    """The cost of a backend or variant; None for an unknown one."""
    try:
        return sum(len(code_lines(source)) for source in sources(name))
    except (LenetBenchError, OSError):
        return None


def _cost(name: str) -> Cost:
    files = sources(name)
    return Cost(
        name=name,
        files=tuple(source.name for source in files),
        lines_of_code=sum(len(code_lines(source)) for source in files),
        api_names=tuple(api_names(files)),
        installs=tuple(_requirements(find(name)[0])),
        **disk_mib(name),
    )


def _requirements(row: Backend) -> list[str]:
    """Its packages as pip spells them, beyond the core's."""
    environment = environments.of(row.environment)
    if environment and not row.version:
        return [line for line in environment.pins.splitlines() if line and not line.startswith("#")]
    extras = filter(None, (row.extra, row.converter))
    return list(dict.fromkeys(one for extra in extras for one in extra_requirements(extra)))


def disk_mib(name: str, *, converts: bool = True) -> dict[str, float | None]:
    """What a call needs on the disk, and what only its model file needs; as Cost names them.

    None where it is not installed, or where nothing only writes a model file, as where a file of
    the user's own is read as it is: a compiler never does. The same for all variants.
    """
    try:
        row, _ = find(name)
        converts = converts or row.family == "compilers"
        installed, converter = _disk_of(row.spell(row.default))
    except (LenetBenchError, OSError):
        installed = converter = None
    return {"installed_mib": installed, "converter_mib": converter if converts else None}


@cache
def _disk_of(bare: str) -> tuple[float | None, float | None]:
    row, _ = find(bare)
    every = _requirements(row)
    if row.environment and not row.version:
        return _size_mib(row, every), None
    writers = {one for source in sources(bare) for one in _WRITERS.get(source.path.name, ())}
    needed = [requirement for requirement in every if package_name(requirement) not in writers]
    mib, with_writers = _size_mib(row, needed), _size_mib(row, every)
    further = with_writers - mib if with_writers and mib and needed != every else None
    return mib, further


def _size_mib(row: Backend, requirements: Sequence[str]) -> float | None:
    """These packages, NumPy, their dependencies and, if native, its module (of CUDA's two one).

    A call takes an array of NumPy's, whether or not the packages need it too.
    """
    modules: list[Path] = []
    if row.native:
        pattern = "_cuda*" if row.native.module == "cuda" else row.native.module
        modules = sorted(_PACKAGE.glob(f"{pattern}.*so"))[:1]
    path = sys.path
    if environment := environments.of(row.environment):
        path = environment.path
    packages = installed_bytes([*requirements, "numpy"], path)
    if packages is None:
        return None
    return (packages + sum(module.stat().st_size for module in modules)) / 2**20

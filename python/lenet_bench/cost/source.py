"""Which files an exhibit is made of."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..backends import Rung
from ..errors import LenetBenchError

_PACKAGE = Path(__file__).parent.parent
_NATIVE = (".hpp", ".cpp", ".cuh", ".cu")


@dataclass(frozen=True)
class Source:
    """A file of an exhibit."""

    path: Path
    name: str  # in the package or in csrc: backends/keras.py, cpu/onednn.cpp

    @property
    def python(self) -> bool:
        """Whether it is Python; else it is C++ or CUDA."""
        return self.path.suffix == ".py"

    @property
    def text(self) -> str:
        """All of it."""
        return self.path.read_text(encoding="utf-8")


def sources(rung: Rung) -> list[Source]:
    """The exhibit's files: the Python one, and what it is made of.

    For a native rung that is its C++ with all that it includes of ours, for one that reads a
    model file what writes it; not the network's shapes and the boundary, which all share.
    """
    if rung.gone:
        raise LenetBenchError(f"{rung.name} has no exhibit: it {rung.gone}")
    module, _, name = rung.exhibit.partition(":")
    face = Source(_PACKAGE / "backends" / f"{module}.py", f"backends/{module}.py")
    return [face, *_exporters(face), *_native(name)]


def _exporters(face: Source) -> Iterator[Source]:
    for node in ast.walk(ast.parse(face.text)):
        if isinstance(node, ast.ImportFrom) and node.level == 2 and node.module:
            package, _, module = node.module.partition(".")
            modules = [module] if module else [alias.name for alias in node.names]
            if package == "export":
                for name in modules:
                    yield Source(_PACKAGE / "export" / f"{name}.py", f"export/{name}.py")


def _native(name: str) -> Iterator[Source]:
    """The header that has the class of that name and, include by include, what it is made of."""
    root, seen = _native_root(), set()
    declares = re.compile(rf"^class {name} ", re.MULTILINE)
    waiting = [
        header.relative_to(root).with_suffix("").as_posix()
        for header in sorted(root.glob("c*/*.hpp"))
        if declares.search(header.read_text(encoding="utf-8"))
    ]
    while waiting:
        stem = waiting.pop(0)
        if stem in seen:
            continue
        seen.add(stem)
        for path in sorted(root.glob(f"{stem}.*")):
            if path.suffix in _NATIVE:
                source = Source(path, path.relative_to(root).as_posix())
                yield source
                waiting += re.findall(r'#include "(\w+/\w+)\.\w+"', source.text)


def _native_root() -> Path:
    """The folder of the C++: in the package where it was installed, else in the checkout."""
    installed = _PACKAGE / "exhibits"
    return installed if installed.exists() else _PACKAGE.parents[1] / "csrc"

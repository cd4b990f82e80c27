"""The sources of a variant: its function with all that this uses, or its C++ files."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..backends.in_cpp import sources as csrc
from ..errors import LenetBenchError
from ..export import MAKERS
from ..registry import IN_CPP, find
from .reach import parameters, reached

_PACKAGE = Path(__file__).parent.parent
_NATIVE = (".hpp", ".cpp", ".cuh", ".cu")


@dataclass(frozen=True)
class Source:
    """A file, or those of its lines that a variant needs."""

    path: Path
    name: str  # in the package or in csrc: backends/keras.py, cpu/onednn.cpp
    lines: frozenset[int] | None = None  # None: all of them

    @property
    def python(self) -> bool:
        """Whether it is Python; else it is C++ or CUDA."""
        return self.path.suffix == ".py"

    @property
    def text(self) -> str:
        """The whole file."""
        return self.path.read_text(encoding="utf-8")

    @property
    def tree(self) -> ast.Module:
        """The statements of Python that are needed."""
        tree = ast.parse(self.text)
        if self.lines is not None:
            tree.body = [node for node in tree.body if node.lineno in self.lines]
        return tree


def sources(name: str) -> list[Source]:
    """The files of a backend or variant, each with the lines that it needs.

    In Python these are its function, the definitions that this uses in its file, and the code that
    writes its model file. In C++ they are its files with the files of this project they include,
    the same for every variant; without the network's shapes and the bindings, which all backends
    share.
    """
    row, variant = find(name)
    if row.gone:
        raise LenetBenchError(f"{row.name} has no code to count: it {row.gone}")
    if row.native:
        return list(_native(row.native.sources))
    roots = [root for root in (row.set_up, variant or "build") if root]
    source = _needed(f"backends/{row.module}.py", roots)
    makers = (MAKERS[parameter] for parameter in parameters(source.tree) if parameter in MAKERS)
    exports: dict[str, list[str]] = {}
    for module, _, function in (maker.partition(":") for maker in makers):
        exports.setdefault(f"export/{module}.py", []).append(function)
    written = _native((f"api/{row.module}",)) if variant == IN_CPP else [source]
    return [*written, *(_needed(name, functions) for name, functions in exports.items())]


def _needed(name: str, roots: list[str]) -> Source:
    path = _PACKAGE / name
    return Source(path, name, reached(path.read_text(encoding="utf-8"), roots))


def _native(stems: tuple[str, ...]) -> Iterator[Source]:
    """These files, and all files that they include."""
    root, seen, waiting = csrc(), set(), list(stems)
    while waiting:
        stem = waiting.pop(0)
        if stem in seen:
            continue
        seen.add(stem)
        for path in sorted(root.glob(f"{stem}.*")):
            if path.suffix in _NATIVE:
                source = Source(path, path.relative_to(root).as_posix())
                yield source
                waiting += re.findall(r'#include "(c\w+/\w+)\.\w+"', source.text)  # no bindings

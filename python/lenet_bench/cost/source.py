"""The sources of a variant: its function with all that this uses, or its C++ files."""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..backends.in_cpp import sources as csrc
from ..export import MAKERS
from ..registry import IN_CPP, find

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
    if row.native:
        return list(_native(row.native.sources))
    roots = [root for root in (row.set_up, variant or "build") if root]
    source = _needed(f"backends/{row.module}.py", roots)
    functions = (node for node in ast.walk(source.tree) if isinstance(node, ast.FunctionDef))
    parameters = dict.fromkeys(one.arg for function in functions for one in function.args.args)
    exports: dict[str, list[str]] = {}
    for maker in (MAKERS[parameter] for parameter in parameters if parameter in MAKERS):
        module, _, name = maker.partition(":")
        exports.setdefault(f"export/{module}.py", []).append(name)
    written = _native((f"api/{row.module}",)) if variant == IN_CPP else [source]
    return [*written, *(_needed(file, names) for file, names in exports.items())]


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


def reached(text: str, roots: Iterable[str]) -> frozenset[int]:
    """The lines of these names' definitions, and of all that these use in the same file.

    Of an import only the used names; imports of lenet-bench's modules do not count.
    """
    body = ast.parse(text).body
    lines: set[int] = set()
    waiting, seen = list(roots), set()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for node in body:
            if isinstance(node, (ast.Import, ast.ImportFrom)):
                lines |= _import_lines(node, name)
            elif name in _defined(node):
                lines |= _lines(node)
                used = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                waiting += used.difference(_stored(node))
    return frozenset(lines)


def _import_lines(node: ast.Import | ast.ImportFrom, name: str) -> set[int]:
    if isinstance(node, ast.ImportFrom) and node.level:
        return set()
    used = [a for a in node.names if (a.asname or a.name.partition(".")[0]) == name]
    return {line for alias in used for line in (node.lineno, alias.lineno)}


def _defined(node: ast.stmt) -> Iterator[str]:
    """The names that a statement defines or changes."""
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        yield node.name
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in filter(None, targets):
        yield from _stored(target)


def _stored(node: ast.AST) -> Iterator[str]:
    """The names that something inside a statement is assigned to."""
    names = (one for one in ast.walk(node) if isinstance(one, ast.Name))
    yield from (one.id for one in names if isinstance(one.ctx, ast.Store))


def _lines(node: ast.stmt) -> set[int]:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    return set(range(first, (node.end_lineno or first) + 1))

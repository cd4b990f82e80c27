"""The definitions and imports of a Python file that a function uses."""

import ast
from collections.abc import Iterable, Iterator


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
                waiting += [n.id for n in ast.walk(node) if isinstance(n, ast.Name)]
    return frozenset(lines)


def parameters(tree: ast.Module) -> list[str]:
    """The names of all functions' parameters, each once."""
    functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return list(dict.fromkeys(argument.arg for node in functions for argument in node.args.args))


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
    yield from (target.id for target in targets if isinstance(target, ast.Name))


def _lines(node: ast.stmt) -> set[int]:
    first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
    return set(range(first, (node.end_lineno or first) + 1))

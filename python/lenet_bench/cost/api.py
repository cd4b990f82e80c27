"""The API names that a variant uses."""

import ast
import io
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from ..weights import Weights
from .source import Source
from .tokens import tokens

#: What the native backends' APIs call their names; `dnnl` is oneDNN's namespace.
_NATIVE_API = re.compile(
    r"(?:dnnl(?:::|_)|DNNL_|omp_|cblas_|Cblas|openblas_|_mm\d*_|__builtin_"
    r"|scipy_|(?:torch|at|ov|tf|ops|absl)::|Ort[A-Z]|ORT_|ONNX_|cuda[A-Z]|cudnn[A-Z]|CUDNN_|cublas[A-Z]|CUBLAS_|nvrtc[A-Z]|NVRTC_|cu[A-Z][a-z])\w"
)
#: Members that C++'s own containers, smart pointers and locks have.
_STANDARD_MEMBERS = re.compile(
    r"assign|at|back|begin|c_str|clear|count|data|emplace|emplace_back|empty|end|erase|find|front"
    r"|get|insert|join|load|lock|notify_(all|one)|pop_back|push_back|reserve|reset|resize|size"
    r"|store|str|substr|swap|try_lock|unlock"
)
_PYTHON_MEMBERS = frozenset(
    name
    for kind in (str, bytes, dict, list, tuple, set, int, float, type, Path, io.BytesIO)
    for name in dir(kind)
)


def api_names(files: Iterable[Source]) -> list[str]:
    """The distinct names of the API: functions, types, constants, members.

    In Python, names from imports of other packages, and members that neither the file nor Python's
    own types have. In C++, names with the API's prefix or namespace, and members of the API's
    classes.
    """
    files = list(files)
    native = [source for source in files if not source.python]
    names = {name for source in files if source.python for name in _python_names(source)}
    return sorted(names | set(_native_names(native)))


def _python_names(source: Source) -> Iterator[str]:
    tree = source.tree
    theirs, ours = _imports(tree)
    known = {*_PYTHON_MEMBERS, *Weights.__dataclass_fields__, *_defined(tree)}
    inner = {node.value for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node not in inner and node.id in theirs:
            yield theirs[node.id]
        if isinstance(node, ast.Attribute) and node not in inner:
            root, members = _chain(node)
            if root in theirs:
                yield ".".join([theirs[root], *members])
            elif _called_first(node) not in ours:
                yield from (f".{name}" for name in members if name not in known)


def _imports(tree: ast.AST) -> tuple[dict[str, str], set[str]]:
    """The file's names for modules of others, and for those of Python and lenet-bench."""
    theirs, ours = {}, set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found = {
                a.asname or a.name.partition(".")[0]: a.name if a.asname else a.name.split(".")[0]
                for a in node.names
            }
        elif isinstance(node, ast.ImportFrom):
            found = {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
        else:
            continue
        for name, whole in found.items():
            relative = isinstance(node, ast.ImportFrom) and node.level
            if relative or whole.split(".")[0] in sys.stdlib_module_names:
                ours.add(name)
            else:
                theirs[name] = whole
    return theirs, ours


def _defined(tree: ast.AST) -> Iterator[str]:
    """Functions, classes and attributes that the file itself makes."""
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            yield node.name
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.ctx, ast.Store)
            and isinstance(node.value, ast.Name)
            and node.value.id == "self"
        ):
            yield node.attr


def _chain(node: ast.expr) -> tuple[str, list[str]]:
    """`a.b.c` as "a" and [b, c]; "" where it begins with something else than a name."""
    members: list[str] = []
    while isinstance(node, ast.Attribute):
        members.insert(0, node.attr)
        node = node.value
    return (node.id if isinstance(node, ast.Name) else ""), members


def _called_first(node: ast.expr) -> str:
    """`f` of `f(x)[0].member`."""
    while isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _native_names(files: Iterable[Source]) -> Iterator[str]:
    code = "\n".join(" ".join(_without_strings(source)) for source in files)
    code = re.sub(r" ?(::|->|\.) ?", r"\1", code)
    aliases = {whole.split("::")[-1]: whole for whole in re.findall(r"using (dnnl::\w+)", code)}
    for alias, whole in re.findall(r"using (\w+) = ([\w:]+)", code):
        head, _, rest = whole.partition("::")
        if head in aliases or head == "dnnl":
            aliases[alias] = f"{aliases.get(head, head)}::{rest}"
    objects = False
    for name in re.findall(r"(?<![\w:.>])[A-Za-z_][\w:]*", code):
        head, _, rest = name.partition("::")
        whole = (f"{aliases[head]}::{rest}" if rest else aliases[head]) if head in aliases else name
        if _NATIVE_API.match(whole):
            objects = objects or "::" in whole or whole == "OrtApi"  # a struct of functions
            yield whole
    if objects:
        members = set(re.findall(r"(?:\.|->)([A-Za-z_]\w*)(?= ?\()", code))
        own = set(re.findall(r"(?<![.>])\b([A-Za-z_]\w*)", code))
        theirs = (name for name in members - own if not _STANDARD_MEMBERS.fullmatch(name))
        yield from (f".{name}" for name in theirs)


def _without_strings(source: Source) -> Iterator[str]:
    return (text for _, text in tokens(source) if text[-1] not in "\"'")

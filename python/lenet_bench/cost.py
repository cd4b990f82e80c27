"""What an exhibit costs whoever writes it: lines, API names, decisions, and what it installs.

Counted from the sources alone; nothing of a rung is imported. A line counts if it holds code: not
if it is blank, comment or docstring, nor if it holds only brackets and separators, since where
those go is the formatter's choice. pygount counts so too, and tests/test_cost.py holds that both
give the same number; it is not used here since with what it needs it is 19 MB, for every install.
"""

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from . import environments
from .backends import LADDER, Rung, find
from .errors import LenetBenchError
from .installed import extra_requirements, installed_bytes
from .weights import Weights

_PACKAGE = Path(__file__).parent
_NATIVE = (".hpp", ".cpp", ".cuh", ".cu")
_PUNCTUATION = frozenset("()[]{},;:")

#: What the native rungs' APIs call their names; `dnnl` is oneDNN's namespace.
_NATIVE_API = re.compile(
    r"(?:dnnl(?:::|_)|DNNL_|omp_|cblas_|Cblas|openblas_|_mm\d*_|__builtin_"
    r"|scipy_|cuda[A-Z]|cudnn[A-Z]|CUDNN_|cublas[A-Z]|CUBLAS_|nvrtc[A-Z]|NVRTC_|cu[A-Z][a-z])\w"
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

_CPP_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*')
      | (?P<word>[A-Za-z_]\w*) | (?P<number>\d[\w.']*)
      | (?P<sign>&& | \|\| | :: | -> | \S)""",
    re.VERBOSE | re.DOTALL,
)
_CPP_DECISIONS = frozenset(["if", "for", "while", "case", "catch", "&&", "||", "?"])


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


@dataclass(frozen=True)
class Cost:
    """What one rung's exhibit costs."""

    name: str
    files: tuple[str, ...]
    lines_of_code: int
    api_names: tuple[str, ...]  # distinct ones of others' APIs that it uses
    complexity: int  # decisions: if, for, while, case, catch, and, or, ?:
    nesting: int  # how deep: ifs, loops, switches and tries within each other
    installs: tuple[str, ...]  # pip's requirements, beyond the core's
    installed_mib: float | None  # what its API takes of the disk; None where it is not here


def costs(names: Sequence[str] = ()) -> list[Cost]:
    """Of the rungs so named, else of all that have an exhibit, in the ladder's order."""
    asked = {find(name)[0].name for name in names}
    return [_cost(rung) for rung in LADDER if (rung.name in asked if names else not rung.gone)]


@cache
def lines_of_code(name: str) -> int | None:
    """Of the exhibit of a rung or variant; None for what has no exhibit at hand."""
    try:
        return sum(map(_count, sources(find(name)[0])))
    except (LenetBenchError, OSError):
        return None


@cache
def installed_mib(name: str) -> float | None:
    """What the API of a rung or variant takes of the disk where it runs; None where it is not."""
    try:
        return _installed_mib(find(name)[0])
    except (LenetBenchError, OSError):
        return None


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


def code_lines(source: Source, *, brackets: bool = False) -> set[int]:
    """The numbers of the lines that count; with `brackets`, also of those that hold only such."""
    lines: set[int] = set()
    for number, text in _tokens(source):
        if "\n" in text:  # a string, whose lines count whatever is in them
            lines.update(number + n for n, part in enumerate(text.split("\n")) if part.strip())
        elif brackets or text not in _PUNCTUATION:
            lines.add(number)
    return lines


def complexity(source: Source) -> int:
    """The places where the code goes one of two ways."""
    if not source.python:
        return sum(text in _CPP_DECISIONS for _, text in _tokens(source))
    return sum(map(_decisions, ast.walk(ast.parse(source.text))))


def nesting(source: Source) -> int:
    """The deepest nesting of ifs, loops, switches and tries; `else if` is no deeper than `if`."""
    if source.python:
        return _python_nesting(ast.parse(source.text))
    return _CppNesting([text for _, text in _tokens(source)]).deepest


def api_names(files: Iterable[Source]) -> list[str]:
    """The distinct names of others' APIs: functions, types, constants, members.

    In Python, what is reached from an import that is neither Python's nor ours, and the members
    that neither the file nor Python's own types have. In C++, what has an API's prefix or
    namespace, and the members of an exhibit whose API has classes.
    """
    files = list(files)
    native = [source for source in files if not source.python]
    names = {name for source in files if source.python for name in _python_names(source)}
    return sorted(names | set(_native_names(native)))


@cache
def _count(source: Source) -> int:
    return len(code_lines(source))


def _cost(rung: Rung) -> Cost:
    files = sources(rung)
    return Cost(
        name=rung.name,
        files=tuple(source.name for source in files),
        lines_of_code=sum(map(_count, files)),
        api_names=tuple(api_names(files)),
        complexity=sum(map(complexity, files)),
        nesting=max(map(nesting, files)),
        installs=tuple(_installs(rung)),
        installed_mib=_installed_mib(rung),
    )


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


def _tokens(source: Source) -> Iterator[tuple[int, str]]:
    return _python_tokens(source.text) if source.python else _cpp_tokens(source.text)


def _python_tokens(text: str) -> Iterator[tuple[int, str]]:
    passed_over = (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER)
    marks = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    docstrings = _docstrings(text)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in (*passed_over, *marks) or token.start in docstrings:
            continue
        yield token.start[0], token.string


def _docstrings(text: str) -> set[tuple[int, int]]:
    """Where strings begin that are statements of their own."""
    return {
        (node.lineno, node.col_offset)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


def _cpp_tokens(text: str) -> Iterator[tuple[int, str]]:
    line, end = 1, 0
    for found in _CPP_TOKEN.finditer(text):
        line += text.count("\n", end, found.start())
        end = found.start()
        if found.lastgroup != "comment":
            yield line, found[0]


def _decisions(node: ast.AST) -> int:
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.comprehension):
        return 1 + len(node.ifs)
    deciding = (ast.If, ast.IfExp, ast.For, ast.While, ast.ExceptHandler, ast.match_case)
    return int(isinstance(node, deciding))


def _python_nesting(node: ast.AST) -> int:
    deepest = 0
    for child in ast.iter_child_nodes(node):
        elif_ = isinstance(node, ast.If) and node.orelse == [child] and isinstance(child, ast.If)
        nests = isinstance(child, (ast.If, ast.For, ast.While, ast.Try, ast.Match)) and not elif_
        deepest = max(deepest, nests + _python_nesting(child))
    return deepest


class _CppNesting:
    """Reads C++ statement by statement, as far as is needed to see what lies within what."""

    _CONTROLS = ("if", "for", "while", "switch", "do", "try", "else", "catch")

    def __init__(self, tokens: Sequence[str]) -> None:
        self.deepest = 0
        self._tokens = tokens
        self._at = 0
        while self._at < len(tokens):
            self._statement(0)

    def _statement(self, depth: int) -> None:
        self.deepest = max(self.deepest, depth)
        word = self._take()
        if word == "{":
            while self._next() not in ("}", ""):
                self._statement(depth)
            self._take()
        elif word in self._CONTROLS:
            if word == "else" and self._next() == "if":
                return self._statement(depth)
            while self._next() in ("constexpr", "("):
                if self._take() == "(":
                    self._parenthesis(depth)
            self._statement(depth + 1)
        else:
            self._rest(word, depth)
        return None

    def _rest(self, word: str, depth: int) -> None:
        """To the end of a declaration or an expression; the bodies in it are statements."""
        while word not in (";", ""):
            if word == "(":
                self._parenthesis(depth)
            if self._next() == "}":
                return
            if self._next() == "{":
                self._statement(depth)
                if self._next() not in (";", ",", ")", "(", "."):
                    return
            word = self._take()

    def _parenthesis(self, depth: int) -> None:
        """What is in it, a lambda's body perhaps, and its end."""
        while self._next() not in (")", ""):
            if self._next() == "{":
                self._statement(depth)
            elif self._take() == "(":
                self._parenthesis(depth)
        self._take()

    def _next(self) -> str:
        return self._tokens[self._at] if self._at < len(self._tokens) else ""

    def _take(self) -> str:
        word = self._next()
        self._at += 1
        return word


def _python_names(source: Source) -> Iterator[str]:
    tree = ast.parse(source.text)
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
    """What the file calls others' modules and names, and what it calls Python's and ours."""
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
            objects = objects or "::" in whole
            yield whole
    if objects:
        members = set(re.findall(r"(?:\.|->)([A-Za-z_]\w*)(?= ?\()", code))
        own = set(re.findall(r"(?<![.>])\b([A-Za-z_]\w*)", code))
        theirs = (name for name in members - own if not _STANDARD_MEMBERS.fullmatch(name))
        yield from (f".{name}" for name in theirs)


def _without_strings(source: Source) -> Iterator[str]:
    return (text for _, text in _tokens(source) if text[-1] not in "\"'")


def _installs(rung: Rung) -> list[str]:
    if rung.environment:
        pins = environments.environments()[rung.environment].pins.read_text()
        return [line for line in pins.splitlines() if line and not line.startswith("#")]
    return list(dict.fromkeys(extra_requirements(rung.extra))) if rung.extra else []


def _installed_mib(rung: Rung) -> float | None:
    """Its packages, what they need and, where it is native, its module."""
    files = sources(rung)
    modules = list(_modules(rung, files[0])) if len(files) > 1 else []
    requirements = _installs(rung) or ([] if modules else ["numpy"])
    path = sys.path
    if rung.environment:
        folder = environments.environments()[rung.environment].folder
        path = list(map(str, folder.glob("lib/python*/site-packages")))
    packages = installed_bytes(requirements, path)
    if packages is None:
        return None
    return (packages + sum(module.stat().st_size for module in modules)) / 2**20


def _modules(rung: Rung, face: Source) -> Iterator[Path]:
    """The compiled modules that its Python face brings in."""
    names = re.findall(r"from \.\.(_\w+) import", face.text) or [f"_{rung.extra}"]
    for name in set(names):
        yield from (path for path in _PACKAGE.glob(f"{name}.*") if path.suffix in (".so", ".pyd"))

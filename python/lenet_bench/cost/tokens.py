"""A source's tokens without comments and docstrings: the lines that hold them, and the branches."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from functools import cache

from .source import Source

_PUNCTUATION = frozenset("()[]{},;:")
_CPP_DECISIONS = frozenset(["if", "for", "while", "case", "catch", "&&", "||", "?"])

_CPP_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*')
      | (?P<word>[A-Za-z_]\w*) | (?P<number>\d[\w.']*)
      | (?P<sign>&& | \|\| | :: | -> | \S)""",
    re.VERBOSE | re.DOTALL,
)


def code_lines(source: Source, *, brackets: bool = False) -> set[int]:
    """The numbers of the lines that count; with `brackets`, also of those that hold only such."""
    lines: set[int] = set()
    for number, text in tokens(source):
        if "\n" in text:  # a string, whose lines count whatever is in them
            lines.update(number + n for n, part in enumerate(text.split("\n")) if part.strip())
        elif brackets or text not in _PUNCTUATION:
            lines.add(number)
    return lines


def tokens(source: Source) -> Iterator[tuple[int, str]]:
    """The tokens that count, each with its line number."""
    every = _python_tokens(source.text) if source.python else _cpp_tokens(source.text)
    return (token for token in every if source.lines is None or token[0] in source.lines)


@cache  # variants share a file
def _python_tokens(text: str) -> list[tuple[int, str]]:
    passed_over = (tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER)
    marks = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
    docstrings = _docstrings(text)
    return [
        (token.start[0], token.string)
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in (*passed_over, *marks) and token.start not in docstrings
    ]


def _docstrings(text: str) -> set[tuple[int, int]]:
    """Where strings begin that are statements of their own."""
    return {
        (node.lineno, node.col_offset)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    }


@cache
def _cpp_tokens(text: str) -> list[tuple[int, str]]:
    found_tokens, line, end = [], 1, 0
    for found in _CPP_TOKEN.finditer(text):
        line += text.count("\n", end, found.start())
        end = found.start()
        if found.lastgroup != "comment":
            found_tokens.append((line, found[0]))
    return found_tokens


def complexity(source: Source) -> int:
    """The number of branches."""
    if not source.python:
        return sum(text in _CPP_DECISIONS for _, text in tokens(source))
    return sum(map(_decisions, ast.walk(source.tree)))


def nesting(source: Source) -> int:
    """The deepest nesting of ifs, loops, switches and tries; `else if` is no deeper than `if`."""
    if source.python:
        return _python_nesting(source.tree)
    return _CppNesting([text for _, text in tokens(source)]).deepest


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
    """Reads C++ statement by statement, as far as nesting needs it."""

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
        """Its content, such as a lambda's body, and its end."""
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

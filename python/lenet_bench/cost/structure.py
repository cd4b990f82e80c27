"""How a variant's code branches: its decisions and their nesting."""

import ast
from collections.abc import Sequence

from .source import Source
from .tokens import tokens

_CPP_DECISIONS = frozenset(["if", "for", "while", "case", "catch", "&&", "||", "?"])


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

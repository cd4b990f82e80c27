"""A source's tokens without comments and docstrings, and the lines that hold them."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from functools import cache

from .source import Source

_PUNCTUATION = frozenset("()[]{},;:")

_CPP_TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*|/\*.*?\*/)
      | (?P<string>R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)" | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*')
      | (?P<word>[A-Za-z_]\w*) | (?P<number>\d[\w.']*)
      | (?P<sign>&& | \|\| | :: | -> | \S)""",
    re.VERBOSE | re.DOTALL,
)


def code_lines(source: Source, *, brackets: bool = False) -> set[int]:
    """The numbers of the lines that count; with `brackets`, lines of only brackets count too."""
    lines: set[int] = set()
    for number, text in tokens(source):
        if "\n" in text:  # all lines of a string count
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
    """The places of docstrings: strings that are statements."""
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

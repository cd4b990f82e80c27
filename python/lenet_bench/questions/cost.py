"""A backend's code by stage: the stage of the network that each line belongs to.

Backends name their layers (conv1, fc2), their API's operations (max_pool2d, Softmax), or both. This
is only a reading aid: no figure depends on it.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ..cost import Source, code_lines

STAGES = ("load", "conv1", "pool1", "conv2", "pool2", "fc1", "fc2", "softmax", "the rest")
_REST = STAGES[-1]

_KINDS = {
    "softmax": re.compile(r"softmax", re.IGNORECASE),
    "pool": re.compile(r"pool", re.IGNORECASE),
    "conv": re.compile(r"conv(?!ert)", re.IGNORECASE),
    "fc": re.compile(r"fc[12]|dense|linear\b|inner_?product|fully_?connect|gem[mv]\b|relu", re.I),
}
_LAYER = re.compile(r"(conv|pool|fc)_?([12])(?!d)", re.IGNORECASE)
_FROM_WEIGHTS = re.compile(
    r"\bweights *\[|\bweights\.(?:parameters|conv|fc)|\.transpose\(|^ *for .*1.*2"
)
_LOADING = re.compile(r"\bweights\b|state_dict|set_weights|load_param|load_model", re.IGNORECASE)
_IMPORT = re.compile(r"\s*(import|from|using|#include|namespace)\b|\s*#include")


@dataclass(frozen=True)
class StagedLine:
    """A line of code and its place."""

    file: str
    number: int
    text: str
    stage: str


def staged(files: Iterable[Source]) -> list[StagedLine]:
    """The code of a backend, without blank lines and comments, each line with its stage."""
    return [line for source in files for line in _staged(source)]


def _staged(source: Source) -> Iterator[StagedLine]:
    """A line that names no stage has the stage of its statement, list or block."""
    text = source.text.splitlines()
    numbers = sorted(code_lines(source, brackets=True))
    heads = set(_heads(source, text, numbers))
    stage, indent, last, depth = _REST, 0, "1", 0
    for number in numbers:
        line = text[number - 1].rstrip().expandtabs()
        here = len(line) - len(line.lstrip())
        inside = here > indent or line.strip()[:1] in ("}", ")", "]")
        named, last = _named(line, last)
        if number in heads:
            stage, indent, depth = _REST, here, 0
        elif not inside and depth:
            stage = named or stage
        elif not inside:
            stage, indent = named or _REST, here
        elif named and (
            stage in ("load", _REST) or (_LAYER.search(line) and not _FROM_WEIGHTS.search(line))
        ):
            stage, indent = (named, here) if named != "load" or stage == _REST else (stage, indent)
        depth = max(0, depth + sum(map(line.count, "([")) - sum(map(line.count, ")]")))
        yield StagedLine(source.name, number, line, stage)


def _heads(source: Source, text: Sequence[str], numbers: Sequence[int]) -> Iterator[int]:
    """The lines of functions' names and parameters, which belong to no stage."""
    if source.python:
        for node in ast.walk(ast.parse(source.text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                yield from range(node.lineno, max(node.lineno + 1, node.body[0].lineno))
        return
    within = False
    for number in numbers:
        line = text[number - 1].rstrip()
        within = within or bool(re.match(r"[A-Za-z]", line))
        if within:
            yield number
        within = within and line[-1:] not in "{;}"


def _named(text: str, last: str) -> tuple[str | None, str]:
    """The stage that is named first, and the last layer's number: a pool is its convolution's."""
    layers = dict(_LAYER.findall(text.lower())[::-1])  # kind -> number, the first one of a kind
    if _IMPORT.match(text):
        return None, last
    if _FROM_WEIGHTS.search(text):
        return "load", last
    kinds = {kind: found.start() for kind, word in _KINDS.items() if (found := word.search(text))}
    if not kinds:
        return ("load" if _LOADING.search(text) else None), last
    kind = min(kinds, key=kinds.__getitem__)
    if kind == "softmax":
        return kind, last
    number = layers.get(kind) or next(iter(layers.values()), last if kind == "pool" else "1")
    return f"{kind}{number}", number

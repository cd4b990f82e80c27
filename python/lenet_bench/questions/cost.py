"""A backend's code by stage: the stages of the network that each line belongs to.

A statement belongs to what a comment beside or above it names (`# conv1 and pool1`), else to the
first layer in its own words (`self.conv1(x)`), else to what the statement around it belongs to.
This is only a reading aid: no figure depends on it.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from .. import network
from ..cost import Source, code_lines

STAGES = ("load", *network.STAGES, "the rest")
_REST = STAGES[-1:]

_NAME = "|".join(STAGES)
_MARK = re.compile(rf"(?:#|//) ((?:{_NAME})(?:(?:, | and )(?:{_NAME}))*)(?::.*)?$")
_LAYER = re.compile(r"(?:conv|pool|fc)[12](?![0-9D])|softmax", re.IGNORECASE)
_CONSTANT = re.compile(r"k[A-Z]")  # a size, in C++: kConv1Side


@dataclass(frozen=True)
class StagedLine:
    """A line of code and its place."""

    file: str
    number: int
    text: str
    stages: tuple[str, ...]


@dataclass(frozen=True)
class _Statement:
    """A line, and the lines below it that are further right."""

    indent: int
    stages: tuple[str, ...]
    marked: bool  # by a comment, so the words inside do not count


def staged(files: Iterable[Source]) -> list[StagedLine]:
    """The code of a backend, without blank lines and comments, each line with its stages."""
    return [line for source in files for line in _staged(source)]


def _staged(source: Source) -> Iterator[StagedLine]:
    text = source.text.splitlines()
    numbers = set(code_lines(source, brackets=True))
    whole_file = _Statement(-1, _marked(text[0]) or _REST, False)
    around = [whole_file]
    above: tuple[str, ...] = ()
    for number, line in enumerate(text, 1):
        mark = _marked(line)
        if number not in numbers:
            above = mark
            continue
        line = line.rstrip().expandtabs()
        indent = len(line) - len(line.lstrip())
        ends = line.lstrip()[0] in ")]}"
        while around[-1].indent > indent or (around[-1].indent == indent and not ends):
            around.pop()
        outer, own = around[-1], mark or above
        stages = own or (outer.stages if outer.marked else _named(line) or outer.stages)
        around.append(_Statement(indent, stages, bool(own) or outer.marked))
        above = ()
        yield StagedLine(source.name, number, line, stages)


def _marked(line: str) -> tuple[str, ...]:
    """The stages that a comment names, alone or before a colon."""
    mark = _MARK.search(line)
    return tuple(re.split(", | and ", mark[1])) if mark else ()


def _named(line: str) -> tuple[str, ...]:
    """The layers of the first name that has any: conv1 of self.conv1, two of conv1_pool1."""
    for word in re.findall(r"\w+", line):
        if not _CONSTANT.match(word) and (layers := _LAYER.findall(word)):
            return tuple(dict.fromkeys(layer.lower() for layer in layers))
    return ()

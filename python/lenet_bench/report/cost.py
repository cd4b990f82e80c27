"""What exhibits cost, in a terminal: a table of all, or two of them side by side."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from ..cost import Cost, lines_of_code
from ..terminal import Screen, Text, table_width
from .numbers import spell_size
from .stages import STAGES, StagedLine

_WIDE = 64  # columns from which there is room for what is installed
_BESIDE = 72  # columns from which two sources stand side by side
_LEAST = 16  # columns of a list of packages that is worth printing
_NUMBER = 5  # columns of a line's number
_BETWEEN = " | "
_WORDS = re.compile(r"(\w*(?:conv|pool|fc[12]|softmax)\w*)", re.IGNORECASE)


def table(costs: Sequence[Cost], screen: Screen) -> Iterator[str]:
    """One line a rung, in the ladder's order."""
    titles = ("rung", "lines", "API names", "disk", "decisions", "nesting")
    rows = [[Text(title, "dim") for title in titles]]
    rows += [
        [
            Text(cost.name, "bold"),
            Text(str(cost.lines_of_code)),
            Text(str(len(cost.api_names))),
            Text("-" if cost.installed_mib is None else spell_size(cost.installed_mib)),
            Text(str(cost.complexity)),
            Text(str(cost.nesting)),
        ]
        for cost in costs
    ]
    while table_width(rows) > screen.columns:
        rows = [row[:-1] for row in rows]
    taken = table_width(rows) + 2
    left = screen.columns - taken
    if screen.columns >= _WIDE and left >= _LEAST:
        installs = ["installs", *(_packages(cost.installs) for cost in costs)]
        for row, text in zip(rows, installs, strict=True):
            row.append(Text(_cut(text, left, screen), "dim"))
    yield from screen.table(rows, "lrrrrrl")


def side_by_side(
    left: tuple[str, Sequence[StagedLine]], right: tuple[str, Sequence[StagedLine]], screen: Screen
) -> Iterator[str]:
    """Two rungs' lines, stage by stage; one above the other where the terminal is narrow."""
    beside = screen.columns >= _BESIDE
    width = (screen.columns - len(_BETWEEN)) // 2 if beside else screen.columns
    titles = [f"{name}: {lines_of_code(name)} lines" for name, _ in (left, right)]
    between = screen.paint(screen.choose(" │ ", _BETWEEN), "dim")
    if beside:
        heads = (Text(_cut(title, width, screen), "bold") for title in titles)
        yield between.join(_pad(head, width, screen) for head in heads).rstrip()
    for stage in STAGES:
        halves = [
            _half([line for line in lines if line.stage == stage], width)
            for _, lines in (left, right)
        ]
        if not any(halves):
            continue
        yield screen.paint(f"{screen.choose('──', '--')} {stage}", "bold cyan")
        if beside:
            for one, other in zip_longest(*halves, fillvalue=(Text(""), Text(""))):
                yield (_paint(one, width, screen) + between + _paint(other, width, screen)).rstrip()
            continue
        for title, half in zip(titles, halves, strict=True):
            yield screen.paint(title, "dim")
            yield from (_paint(line, width, screen).rstrip() for line in half)


def _half(lines: Sequence[StagedLine], width: int) -> list[tuple[Text, Text]]:
    """Numbers and code of one column; what is too long goes on in the next line."""
    room = width - _NUMBER
    indent = min((_indent(line.text) for line in lines), default=0)
    half, file = [], ""
    for line in lines:
        if line.file != file:
            file = line.file
            half.append((Text(""), Text(file[-width:], "dim")))
        code = line.text[indent:]
        hang = " " * min(_indent(code) + 4, room // 2)
        half.append((Text(f"{line.number:>{_NUMBER - 1}} ", "dim"), Text(code[:room])))
        rest = code[room:]
        while rest:
            piece, rest = rest[: room - len(hang)], rest[room - len(hang) :]
            half.append((Text(" " * _NUMBER), Text(hang + piece)))
    return half


def _paint(line: tuple[Text, Text], width: int, screen: Screen) -> str:
    number, code = line
    missing = " " * (width - len(number.text) - len(code.text))
    if code.style or not screen.colour:
        return screen.paint(*number) + screen.paint(*code) + missing
    words = _WORDS.split(code.text)  # every second piece is a stage's word
    painted = (screen.paint(word, "cyan") if n % 2 else word for n, word in enumerate(words))
    return screen.paint(*number) + "".join(painted) + missing


def _pad(text: Text, width: int, screen: Screen) -> str:
    return screen.paint(*text) + " " * (width - len(text.text))


def _packages(requirements: Sequence[str]) -> str:
    """Their names: the versions are in --json."""
    names = [re.split(r"[^\w.-]", requirement, maxsplit=1)[0] for requirement in requirements]
    return f"{len(names)}: {', '.join(names)}" if names else "nothing more"


def _cut(text: str, columns: int, screen: Screen) -> str:
    ellipsis = screen.choose("…", "...")
    return text if len(text) <= columns else text[: columns - len(ellipsis)] + ellipsis


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())

"""The source of each backend that was timed, coloured by Pygments, and what really ran."""

import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from html import escape
from itertools import groupby
from operator import itemgetter
from pathlib import PurePath
from typing import Any

from ... import units
from ...cost import Source, api_names, code_lines, sources
from ...errors import LenetBenchError
from ...models.programs import program, suffix_of
from ...registry import find
from ..figures.pictures import absent
from ..figures.records import Record, Run

try:
    from markupsafe import Markup
    from pygments.lexers import get_lexer_for_filename
    from pygments.token import Comment, Keyword, Name, String, _TokenType
except ImportError as error:
    raise absent(error.name or "pygments") from None

#: An element each, a letter long: with a class, seven thousand of them would be 100 KB.
_ELEMENTS = ((Comment.Preproc, "u"), (Comment, "i"), (String, "q"), (Keyword, "u"))


@dataclass(frozen=True)
class File:
    """A source file: its lines' numbers where they count, and its text in colours."""

    key: str
    name: str
    gutter: str
    code: Markup


@dataclass(frozen=True)
class Implementation:
    """The code of a backend; backends that share it, as Keras' do, are one entry."""

    key: str
    names: tuple[str, ...]  # as they were measured, variants included
    about: tuple[str, ...]
    cost: str
    files: tuple[File, ...]
    ran: tuple[tuple[str, str], ...]  # of each name what it said that ran


def implementations(run: Run) -> list[Implementation]:
    """The code of all timed backends that still exist, the fastest first."""
    groups: dict[tuple[Source, ...], list[Record]] = {}
    for row in run.rows:
        with suppress(LenetBenchError, OSError):
            groups.setdefault(tuple(sources(row["name"])), []).append(row)
    used = dict.fromkeys(source for group in groups for source in group)
    files = {source: _file(source, f"file-{n}") for n, source in enumerate(used)}
    found = []
    for n, (group, rows) in enumerate(groups.items()):
        known = (find(row["name"])[0] for row in rows)
        about = tuple(dict.fromkeys(f"{one.summary}. Calls {one.calls}." for one in known))
        names = tuple(dict.fromkeys(row["name"] for row in rows))
        shown, ran = tuple(files[source] for source in group), tuple(_ran(names, run))
        found.append(Implementation(f"code-{n}", names, about, _cost(group, rows), shown, ran))
    return found


def programs(run: Run) -> list[Implementation]:
    """The lines to copy of each backend that was timed on a model of the user's own."""
    placed = run.result.rules.placed
    forms = {}
    for name, form in placed.inputs.items():
        kind, shape, *_ = form.split(" ")  # and what the file has in place of sizes
        sides = shape.split("x") if shape != "scalar" else []
        forms[name] = kind, tuple(map(int, sides))
    file = re.sub(r" \([0-9a-f]{8}\)$", "", placed.network)
    # Which of them a model.py takes by place is not in the result.
    are_named = str(placed.format).endswith("model.py") and len(forms) > 1
    are_named &= not any(name.startswith("arg") for name in forms)
    told = {
        "taken": ((), {name: name for name in forms}) if are_named else None,
        "signature": placed.signature,
        "below": placed.below,
    }
    known = {name: fact for name, fact in told.items() if fact}
    found = []
    for n, row in enumerate(run.rows if placed.format else []):
        name = row["name"]
        suffix = "" if row["conversion_s"] is None else suffix_of(name)
        text = program(name, str(placed.format), file, forms, row["threads"], suffix, known)
        if text:
            shown = File(f"file-{n}", "program.py", "", coloured("program.py", text, ()))
            about = (find(name)[0].summary,)
            ran = tuple(_ran([name], run))
            found.append(Implementation(f"code-{n}", (name,), about, "", (shown,), ran))
    return found


def _cost(written: Sequence[Source], rows: Sequence[Record]) -> str:
    lines = sum(len(code_lines(source)) for source in written)
    cost = f"{units.counted(lines, 'line')}, {units.counted(len(api_names(written)), 'API name')}"
    if others := {row["lines_of_code"] for row in rows} - {None, lines}:
        cost += f" ({', '.join(map(str, sorted(others)))} lines when it was measured)"
    return cost


def _ran(names: Sequence[str], run: Run) -> Iterator[tuple[str, str]]:
    for one in run.result.backends:
        if one.name in names and one.runs:
            yield one.name, ", ".join(f"{name} {value}" for name, value in one.runs.items())


def _file(source: Source, key: str) -> File:
    """The needed lines, with a gap in place of others between them."""
    every, counting = source.text.splitlines(), code_lines(source)
    shown: list[tuple[str, str]] = []  # a line's number, where it counts, and its text
    count = last = 0
    for number in sorted(source.lines or range(1, len(every) + 1)):
        if shown and number > last + 1:
            shown.append(("", ""))
        count, last = count + (number in counting), number
        shown.append((str(count) if number in counting else "", every[number - 1]))
    gutter = "\n".join(number for number, _ in shown)
    text = "".join(f"{line}\n" for _, line in shown)
    return File(key, source.name, gutter, coloured(source.name, text, api_names([source])))


def coloured(name: str, text: str, api: Collection[str]) -> Markup:
    """The text as HTML: comments, strings and the language's words, and the API's names marked."""
    words = {word for one in api for word in re.split(r"\W+", one) if word}
    tokens = _lexer(PurePath(name).suffix).get_tokens_unprocessed(text)
    tagged = ((_element(kind, value, words), value) for _, kind, value in tokens)
    parts = []
    for tag, group in groupby(tagged, key=itemgetter(0)):
        run = escape("".join(value for _, value in group))
        parts.append(f"<{tag}>{run}</{tag}>" if tag else run)
    return Markup("".join(parts))


@cache  # Pygments searches five hundred lexers
def _lexer(suffix: str) -> Any:
    return get_lexer_for_filename(suffix)


def _element(kind: _TokenType, text: str, api: Collection[str]) -> str | None:
    if kind in Name:
        return "b" if text in api else None
    return next((tag for parent, tag in _ELEMENTS if kind in parent), None)

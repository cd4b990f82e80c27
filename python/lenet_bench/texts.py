"""Texts from others: a file, a library's message or a name may come from anybody."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any
from unicodedata import category

PROGRAM = "lenet-bench"  # as its own name is shown
_UNUSUAL = re.compile("[^ -~]")
# Letters and marks that show nothing, beside the control and format characters.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def printable(text: str, keep: str = "\n\t") -> str:
    """The text with an escape for each character that is not seen or turns the text around."""
    return _UNUSUAL.sub(lambda found: found[0] if found[0] in keep else _shown(found[0]), text)


def all_printable(value: Any) -> Any:
    """Plain data with each text in it made printable."""
    return with_texts(printable, value)


def with_texts(change: Callable[[str], str], value: Any) -> Any:
    """Plain data with each text in it changed, keys too."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, dict):
        return {with_texts(change, key): with_texts(change, one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [with_texts(change, one) for one in value]
    return value


def json_text(value: Any, indent: int | None = 2) -> str:
    """Plain data or dataclasses as JSON, which has no infinity and no NaN: they are null."""
    plain = json.loads(json.dumps(value, default=asdict), parse_constant=lambda _: None)
    return json.dumps(plain, indent=indent)


def listed(names: Sequence[str], most: int | None = None) -> str:
    """a, b and c; of many more than `most` the first ones, and how many more."""
    shown = list(names)
    if most is not None and len(shown) > most + 1:  # one more takes as much room as "1 more"
        shown = [*shown[:most], f"{len(shown) - most} more"]
    return " and ".join([", ".join(shown[:-1]), shown[-1]] if len(shown) > 1 else shown)


def cell(text: str) -> str:
    """A cell of CSV that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def is_seen(character: str) -> bool:
    """Whether the character shows something, or is a space of any width."""
    shows = character.isprintable() or category(character) == "Zs"
    return shows and not _BLANK.match(character)


def _shown(character: str) -> str:
    return character if is_seen(character) else character.encode("unicode_escape").decode()

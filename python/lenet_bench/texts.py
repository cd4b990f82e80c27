"""Texts from others: a file, a library's message or a name may come from anybody."""

import re
from typing import Any
from unicodedata import category

# Letters and marks that show nothing, beside the control and format characters.
_BLANK = re.compile(
    "[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef]"
)


def printable(text: str, keep: str = "\n\t") -> str:
    """The text with an escape for each character that is not seen or turns the text around."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(one if one in keep else _shown(one) for one in text)


def all_printable(value: Any) -> Any:
    """Plain data with each text in it made printable."""
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, dict):
        return {all_printable(key): all_printable(one) for key, one in value.items()}
    return [all_printable(one) for one in value] if isinstance(value, (list, tuple)) else value


def is_seen(character: str) -> bool:
    """Whether the character shows something, or is a space of any width."""
    shows = character.isprintable() or category(character) == "Zs"
    return shows and not _BLANK.match(character)


def _shown(character: str) -> str:
    return character if is_seen(character) else character.encode("unicode_escape").decode()

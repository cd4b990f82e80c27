"""Text for a result file: with file names, but without folders."""

import re
from pathlib import Path, PurePath

from ..texts import printable

_LONGEST = 2**14  # characters, half of what a file may have
_INSIDE = r"(?:[^\s/:;,'\"()<>|]+/)"
_FOLDERS = re.compile(rf"(?<![\w.:/-])/(?:{_INSIDE}*site-packages/|{_INSIDE}+)")


def portable(text: str) -> str:
    """Each absolute path reduced to the file, or to its part in site-packages."""
    text = printable(text[:_LONGEST])
    if len(home := _home()) > 1:
        text = re.sub(rf"{re.escape(home)}(?![\w.-])", "/home", text)
    return _FOLDERS.sub("", text)[: 2 * _LONGEST]


def argument(text: str) -> str:
    """A command-line argument without folders."""
    option, equals, value = text.rpartition("=")
    return option + equals + (PurePath(value).name if PurePath(value).is_absolute() else value)


def _home() -> str:
    try:
        return str(Path.home())
    except RuntimeError:  # a user without a home
        return ""

"""Text for a result file: with the names of what paths lead to, but without folders."""

import re
from pathlib import Path, PurePath

from ..texts import printable

_LONGEST = 2**14  # characters, half of what a file may have
_NAME = r"[^\s/:;,'\"()<>|]"
_PATH = re.compile(rf"(?<![\w.:/-])/(?:(?:{_NAME}+/)*(site-packages)/|(?:{_NAME}+/)+)({_NAME}*)")
_FILE = re.compile(r".*\.(?:(?:so|py|dylib|dll)(?:\.\d+)*|c|cc|cpp|cu|cuh|h|hpp|js|rs)")


def portable(text: str) -> str:
    """Each absolute path reduced to its part in site-packages, or to its last name.

    Before it stands …/ unless it is of a library or of source code: it may be a folder, or private.
    """
    text = printable(text[:_LONGEST])
    if len(home := _home()) > 1:
        text = re.sub(rf"{re.escape(home)}(?![\w.-])", "/home", text)
    return _PATH.sub(_last, text)[: 2 * _LONGEST]


def _last(path: re.Match[str]) -> str:
    return path[2] if path[1] or _FILE.fullmatch(path[2]) else f"…/{path[2]}"


def argument(text: str) -> str:
    """A command-line argument without folders."""
    option, equals, value = text.rpartition("=")
    return option + equals + (PurePath(value).name if PurePath(value).is_absolute() else value)


def _home() -> str:
    try:
        return str(Path.home())
    except RuntimeError:  # a user without a home
        return ""

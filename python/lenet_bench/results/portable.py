"""Text that may leave the machine: with file names, but without folders."""

import re
from pathlib import Path, PurePath

from .read import printable

_INSIDE = r"(?:[^\s/:;,'\"()<>|]+/)"
_FOLDERS = re.compile(rf"(?<![\w.:/-])/(?:{_INSIDE}*site-packages/|{_INSIDE}+)")


def portable(text: str) -> str:
    """Each absolute path reduced to the file, or to its part in site-packages."""
    return _FOLDERS.sub("", printable(text).replace(str(Path.home()), "/home"))


def argument(text: str) -> str:
    """A command-line argument without folders."""
    option, equals, value = text.rpartition("=")
    return option + equals + (PurePath(value).name if PurePath(value).is_absolute() else value)

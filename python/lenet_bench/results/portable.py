"""Text that may leave the machine: it names files, and no folders of theirs."""

import re
from pathlib import Path, PurePath

from .read import printable

_INSIDE = r"(?:[^\s/:;,'\"()<>|]+/)"
_FOLDERS = re.compile(rf"(?<![\w.:/-])/(?:{_INSIDE}*site-packages/|{_INSIDE}+)")


def portable(text: str) -> str:
    """Of each absolute path only the file, or what lies in site-packages."""
    return _FOLDERS.sub("", printable(text).replace(str(Path.home()), "/home"))


def argument(text: str) -> str:
    """One of a command line, without a path's folders."""
    option, equals, value = text.rpartition("=")
    return option + equals + (PurePath(value).name if PurePath(value).is_absolute() else value)

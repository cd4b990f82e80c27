"""What a shared text must not tell: folders, and the users of this machine."""

import os
import pwd
import re
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import PurePath
from typing import get_args

from ..registry import names
from ..texts import is_seen
from .model import Ended, Status

LONGEST = 400  # characters of a shared text
PROGRAM = "lenet-bench"
#: The name of any weights but the package's.
OTHER_WEIGHTS = "other.safetensors"
_OPTION = re.compile(r"--[a-z][a-z-]*(?==|$)|-[a-zA-Z](?!-)")
_HINT = re.compile(r"[~/\\]|\.\.")
_WITH_HINT = re.compile(r"\S*[~/\\]\S*")
_LIBRARY = re.compile(r"[\w.+-]+\.(?:so|py|dylib|dll)(?![\w~])(?:\.\d+)*")
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w+-]*")
#: Names of users that many machines have, or that results have in another meaning.
_COMMON = """
root user users home admin administrator nobody guest test tester dev work app build runner
ci linux gnu compare ubuntu debian fedora centos rocky alpine arch amazon azureuser opc
cloud docker vagrant jovyan vscode conda python intel amd arm nvidia apple google cpu gpu ok
comparison shared empty lenet bench library version isa device
"""


def private(text: str) -> str | None:
    """The part of the text that names a folder or a user; None if there is none."""
    found = _HINT.search(text) or _own_names().search(text)
    return found[0] if found else None


def is_option(word: str) -> bool:
    """Whether a word is the name of an option and no more."""
    return bool(_OPTION.fullmatch(word))


def options(argv: Sequence[str]) -> tuple[str, ...]:
    """The options of a command line by name only."""
    return tuple(found[0] for word in argv if (found := _OPTION.match(word)))


def public(text: str) -> str:
    """The text on one line without what is private: it ends at its first path.

    Of the path of a library its file stays, and of a version with slashes its beginning.
    """
    seen = "".join(one if is_seen(one) else " " if one.isspace() else "" for one in text)
    line = " ".join(seen.replace("GNU/Linux", "GNU Linux").split()).replace("://", ": ")
    line = _own_names().sub("(user)", line.translate(str.maketrans("<>", "()")))
    while path := _WITH_HINT.search(line):
        before, after = line[: path.start()], line[path.end() :]
        file = re.split(r"[/\\]", path[0])[-1]
        if not _LIBRARY.match(file) or "~" in file:
            version = _VERSION.match(path[0])
            line = f"{before}{version[0] if version else ''}…"
            break
        line = before + file + after
    return re.sub(r"\.{2,}", "…", line)[:LONGEST]


def _own_names() -> re.Pattern[str]:
    variables = ("HOME", "USER", "LOGNAME", "SUDO_USER")
    return _pattern(tuple(os.environ.get(name, "") for name in variables))


@lru_cache
def _pattern(values: tuple[str, ...]) -> re.Pattern[str]:
    """Any name of this machine's user, of whom these variables of the environment tell."""
    found = {PurePath(one).name for one in values}
    with suppress(KeyError):
        entry = pwd.getpwuid(os.getuid())
        found |= {entry.pw_name, PurePath(entry.pw_dir).name}
    results = {word for name in names() for word in re.split(r"[:@_]", name)}
    results |= {*get_args(Status), *get_args(Ended), *_COMMON.split()}
    own = [one for one in found if len(one) > 1 and one.lower() not in results]
    words = "|".join(map(re.escape, sorted(own, key=len, reverse=True)))
    return re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])" if own else r"(?!)", re.IGNORECASE)

"""What a shared text must not tell: folders, hosts, and the users of this machine."""

import os
import pwd
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import PurePath
from typing import get_args
from urllib.parse import unquote

from ..registry import names
from ..texts import is_seen
from .model import Ended, Status

LONGEST = 400  # characters of a shared text
_SEARCHED = 5 * LONGEST  # characters of a text that are looked at
#: Those of `compare` and `why`, also of earlier versions.
_OPTIONS = """
--baseline --batch --beside --budget --callers --callers-in --code --cold --cores --csv
--deadline --device --fail-over --floor --input --interval --json --keep-warm --markdown --model
--network --output --quick --quota --range --rounds --shape --threads --timeout --tree --until
--verbose --weights -o -v
"""
_OPTION = re.compile(r"--[a-z][a-z-]*(?==|$)|-[a-zA-Z](?!-)")
_IN_PATHS = re.compile(r"[~/\\]")
_SPELLINGS = str.maketrans(
    "\u2044\u2215\u29f8\uff0f\u2216\u29f5\ufe68\uff3c\uff5e", "////\\\\\\\\~"
)
#: A host and its port, but no line of a source file; or a host, or a mail address, that is said to
#: be one. A number such as 10.3.2.106 alone may be a version.
_LINE_OF = "".join(
    rf"(?<!\.{one})" for one in ["c", "cc", "cpp", "cu", "cuh", "h", "hpp", "js", "py", "rs"]
)
_ADDRESS = re.compile(
    rf"(?<![\w.:-])(?:[a-zA-Z][\w.-]*{_LINE_OF}|\[[\da-fA-F:]+\]):\d{{4,5}}(?!\w|[.:]\w)"
    r"|(?<![\w.])\d+(?:\.\d+){3}:\d{2,5}(?!\w|[.:]\w)"
    r"|(?:(?<=\bconnect to )|(?<=\broute to ))\d+(?:\.\d+){3}(?!\w|\.\w)"
    r"|(?<=\b[Hh]ost: )(?:[\w-]+\.)+[\w-]+|(?<=\b[Hh]ost=['\"])[\w.-]+"
    r"|(?:[\w.+-]+|\(user\))@(?:[\w-]+\.)+[a-zA-Z]{2,}(?!\w|[.-]\w)"
)
_LIBRARY = re.compile(r"[\w.+-]+\.(?:so|py|dylib|dll)(?![\w~])(?:\.\d+)*")
_VERSION = re.compile(r"\d+(?:\.\d+)+[\w+-]*")
#: Names of users that many machines have, or that results have in another meaning.
_COMMON = """
root user users home admin administrator nobody guest test tester dev work app build runner
ci linux gnu compare ubuntu debian fedora centos rocky alpine arch amazon azureuser opc host
cloud docker vagrant jovyan vscode conda python intel amd arm nvidia apple google cpu gpu ok
comparison shared empty lenet bench thread threads default library version
isa device localhost epyc xeon ryzen core
"""


def options(argv: Sequence[str]) -> tuple[str, ...]:
    """The options of a command line by name only; a file's name may look like one."""
    found = [match[0] for word in argv if (match := _OPTION.match(word))]
    return tuple(one for one in found if one in _OPTIONS.split())


def public(text: str) -> str:
    """The text on one line without what is private: it ends at its first path.

    Of the path of a library its file stays, and of a version with slashes its beginning. A text
    that is public stays as it is.
    """
    while (found := _public(text)) != text:
        text = found
    return text


def _public(text: str) -> str:
    plain = _decoded(text[:_SEARCHED])
    seen = "".join(one if is_seen(one) else " " if one.isspace() else "" for one in plain)
    line = " ".join(seen.replace("GNU/Linux", "GNU Linux").split()).replace("://", ": ")
    if len(text) > _SEARCHED:  # its last word is cut
        line = f"{line.rpartition(' ')[0]} …".lstrip()
    line = _own_names().sub("(user)", line.translate(str.maketrans("<>", "()")))
    line = _ADDRESS.sub("(host)", _own_hosts().sub("(host)", line))
    return re.sub(r"\.{2,}", "…", " ".join(_to_first_path(line.split(" "))))[:LONGEST]


def _to_first_path(words: Sequence[str]) -> Iterator[str]:
    for word in words:
        file = re.split(r"[/\\]", word)[-1]
        if not _IN_PATHS.search(word):
            yield word
        elif _LIBRARY.match(file) and "~" not in file:
            yield file
        else:
            version = _VERSION.match(word)
            yield f"{version[0] if version else ''}…"
            return


def _decoded(text: str) -> str:
    """With each character as it is, however it was spelled: %2F, a slash of another alphabet."""
    while (plain := unquote(text)) != text:
        text = plain
    return text.translate(_SPELLINGS)


def _own_names() -> re.Pattern[str]:
    variables = ("HOME", "USER", "LOGNAME", "SUDO_USER")
    return _users(tuple(os.environ.get(name, "") for name in variables))


def _own_hosts() -> re.Pattern[str]:
    return _hosts(os.uname().nodename)


@lru_cache
def _hosts(name: str) -> re.Pattern[str]:
    """The name of this machine, with and without its domain."""
    return _any_of({one for one in (name, name.partition(".")[0]) if not one.isdigit()})


@lru_cache
def _users(values: tuple[str, ...]) -> re.Pattern[str]:
    """Any name of this machine's user, of whom these variables of the environment tell."""
    found = {PurePath(one).name for one in values}
    with suppress(KeyError):
        entry = pwd.getpwuid(os.getuid())
        found |= {entry.pw_name, PurePath(entry.pw_dir).name}
    return _any_of(found)


def _any_of(found: set[str]) -> re.Pattern[str]:
    """Any of these names, but for those that results have in another meaning."""
    results = {word for name in names() for word in re.split(r"[:@_]", name)}
    results |= {*get_args(Status), *get_args(Ended), *_COMMON.split()}
    own = [one for one in found if len(one) > 1 and one.lower() not in results]
    words = "|".join(map(re.escape, sorted(own, key=len, reverse=True)))
    return re.compile(rf"(?<![^\W_])(?:{words})(?![^\W_])" if own else r"(?!)", re.IGNORECASE)

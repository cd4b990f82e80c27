"""Output and exit codes of commands: answers to stdout, all else to stderr."""

import json
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ..show.terminal.screen import Screen, encodable, plain

PROGRAM = "lenet-bench"
SUCCESS, WRONG, INTERRUPTED = 0, 1, 130  # 2, misuse, is click's


def screen() -> Screen:
    """The screen for answers."""
    return Screen.of(sys.stdout)


def say(lines: Iterable[str]) -> None:
    """Print answers at once, so that earlier answers are shown even if a later one fails."""
    for line in lines:
        sys.stdout.write(f"{encodable(line, sys.stdout.encoding)}\n")
    sys.stdout.flush()


def say_json(value: Any) -> None:
    """Print plain data or dataclasses as JSON."""
    say([json.dumps(value, indent=2, default=asdict)])


def answer(as_json: bool, value: Any, lines: Iterable[str]) -> None:
    """Print the value for programs, or the lines for people."""
    if as_json:
        say_json(value)
    else:
        say(lines)


def give_page(path: Path, html: str, *, show: bool) -> None:
    """Write a page, and open it where that is asked for."""
    from ..show.page.frame import write_html

    write_html(path, html)
    note(f"the page is {path}")
    if show:
        click.launch(path.resolve().as_uri())


def note(text: str | None) -> None:
    """Print a note to stderr."""
    if text:
        _to_stderr(plain(text))


def complain(sentence: str) -> None:
    """Print an error to stderr."""
    if sys.stderr:
        _to_stderr(Screen.of(sys.stderr).paint(plain(sentence, keep=""), "red"))


def abandon_output() -> None:
    """Point stdout at /dev/null, so that the interpreter's last flush cannot fail again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _to_stderr(text: str) -> None:
    if sys.stderr:
        print(f"{PROGRAM}: {text}", file=sys.stderr, flush=True)

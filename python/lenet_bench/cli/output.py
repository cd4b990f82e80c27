"""What a command says and how it ends: answers to stdout, all else to stderr."""

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Event

import click

from ..terminal import Screen, printable

PROGRAM = "lenet-bench"
SUCCESS, WRONG, INTERRUPTED = 0, 1, 130  # 2, misuse, is click's


def say(lines: Iterable[str]) -> None:
    """Print answers, at once: what has been answered stays so if the next one fails."""
    for line in lines:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def note(text: str | None) -> None:
    """Tell something beside the answers."""
    if text and sys.stderr:
        print(f"{PROGRAM}: {text}", file=sys.stderr, flush=True)


def complain(sentence: str) -> None:
    """Tell what went wrong."""
    screen = Screen.of(sys.stderr)
    note(screen.paint(printable(sentence), "red"))


def abandon_output() -> None:
    """Point stdout at nothing, so that the interpreter's last flush cannot fail once more."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def interruptible() -> Iterator[Event]:
    """Ctrl-C ends what is within, and sets the event: what was found until then is told."""
    interrupted = Event()
    try:
        yield interrupted
    except KeyboardInterrupt:
        interrupted.set()


@contextmanager
def progress(length: int) -> Iterator[Callable[[str, int], None]]:
    """A bar on stderr, where that is a terminal."""
    screen = Screen.of(sys.stderr)
    with click.progressbar(
        length=length,
        file=sys.stderr,
        hidden=not sys.stderr.isatty(),
        item_show_func=lambda name: name,
        bar_template="  %(bar)s  %(info)s",
        fill_char=screen.paint(screen.choose("━", "#"), "green"),
        empty_char=screen.paint(screen.choose("━", "-"), "dim"),
    ) as bar:
        yield lambda name, images: bar.update(images, name)

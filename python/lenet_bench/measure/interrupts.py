"""Signals that end a run early: Ctrl-C, SIGTERM, a closed terminal."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts() -> Iterator[None]:
    """SIGTERM and a closed terminal end a run as Ctrl-C does, in the main thread: no other may."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in polite_kills()}
    try:
        yield
    finally:
        for number, earlier in before.items():
            signal.signal(number, earlier)


def polite_kills() -> list[signal.Signals]:
    """The signals that ask a run to end, besides Ctrl-C's."""
    return [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # nohup's wish
    ]

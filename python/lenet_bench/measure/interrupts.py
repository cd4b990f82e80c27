"""What ends a run early and politely: Ctrl-C, a polite kill, a terminal that closes."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def interrupts() -> Iterator[None]:
    """A polite kill and a closed terminal end a run as Ctrl-C does."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in polite_kills()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def polite_kills() -> list[signal.Signals]:
    """The signals that ask a run to end, beside Ctrl-C's."""
    return [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # nohup's wish
    ]

"""Other processes, as a test looks at them: whether they run, and waiting for what they do."""

import time
from collections.abc import Callable
from contextlib import suppress

import psutil


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def children(pid: int, words: str = "") -> list[int]:
    """Its child processes that run, with these words in their command lines."""
    found = []
    for child in psutil.Process(pid).children():
        with suppress(psutil.NoSuchProcess):
            if alive(child.pid) and words in " ".join(child.cmdline()):
                found.append(child.pid)
    return found


def wait_for(condition: Callable[[], object]) -> None:
    """Until it holds; on a busy machine that may take a while."""
    end = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.005)

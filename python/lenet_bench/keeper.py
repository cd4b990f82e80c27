"""The process between us and a child: it starts the child, and ends all that the child started.

As a subreaper it becomes the parent of whatever the child leaves behind, daemons included. It ends
everything when the child ends, when it gets SIGTERM, and when our end of its standard input closes:
so nothing is left even where we are killed. Systems without `prctl` (macOS) have no subreaper;
there it ends the child's process group.

It imports little: it forks before any library has threads.
"""

import ctypes
import faulthandler
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36
_US = 0  # standard input: the socket to us
_PAUSE_S = 0.001
_NAMED = 8  # most processes that are named


def keep() -> None:
    """Start the child that the command line names, and end all of it."""
    with suppress(AttributeError):
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(_PR_SET_PDEATHSIG, signal.SIGCONT, 0, 0, 0)  # if we end while this one is stopped
    signals, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, lambda *_: None)
    child = os.fork()
    if not child:
        _become_the_child()
        return
    faulthandler.disable()
    os.close(int(sys.argv[1]))  # the child's end of the connection
    os.write(_US, f"{child}\n".encode())
    code = _wait_for_the_end(child, signals)
    if code is None:
        os.kill(child, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    left = _end_the_rest(child)
    with suppress(OSError):  # we may be gone
        os.write(_US, json.dumps({"code": code, "left": left}).encode())
    os._exit(0)


def _become_the_child() -> None:
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGCHLD, signal.SIGTERM):
        signal.signal(number, signal.SIG_DFL)
    os.setsid()
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, _US)
    os.close(nothing)


def _wait_for_the_end(child: int, signals: int) -> int | None:
    """The child's exit code; None where it is to end now."""
    while True:
        ready, _, _ = select.select([_US, signals], [], [])
        if _US in ready or signal.SIGTERM in os.read(signals, 1024):
            return None
        ended = -1
        while ended:  # the child, or what it left behind
            ended, status = os.waitpid(-1, os.WNOHANG)
            if ended == child:
                return os.waitstatus_to_exitcode(status)


def _end_the_rest(session: int) -> list[str]:
    """Kill what the child left, until nothing is; the names of those that had left its session."""
    left = {}
    while True:
        _kill(os.killpg, session)
        for pid, name, its_session in _children():
            if its_session != session:
                left[pid] = name
            _kill(os.kill, pid)
        try:
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        except ChildProcessError:  # there is none
            return list(left.values())[:_NAMED]
        time.sleep(_PAUSE_S)


def _kill(how: Callable[[int, int], None], number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        how(number, signal.SIGKILL)


def _children() -> list[tuple[int, str, int]]:
    """Children of this process that run: number, name and session."""
    found = []
    for file in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            before, _, after = file.read_text(errors="replace").rpartition(") ")
            state, parent, _, session = after.split()[:4]
            if int(parent) == os.getpid() and state != "Z":
                found.append((int(file.parent.name), before.partition("(")[2], int(session)))
    return found


def main() -> None:
    """Be the keeper, and in the child what it runs."""
    keep()
    from .process import serve

    serve()

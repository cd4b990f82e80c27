"""No process outlives the one that started it, whatever ends that one, kill -9 included."""

import ctypes
import os
import signal
import subprocess
import sys
from contextlib import suppress

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def die_with(parent: int) -> None:
    """Said by a child of itself: it ends with the thread that started it, whatever it does then.

    Linux does it; elsewhere a child ends when it next listens to its parent.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)


class Guard:
    """Ends a process and its session: when it is told to, and once this process is gone.

    A child may die with its parent by itself; what it started, and other systems, do not know.
    """

    _SCRIPT = 'read -r _; kill -s KILL -- "-$0"'  # reading ends when nobody can write any more

    def __init__(self, leader: "subprocess.Popen[bytes]") -> None:
        self._leader = leader
        self._watcher = subprocess.Popen(
            ["/bin/sh", "-c", self._SCRIPT, str(leader.pid)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # no terminal's signal is meant for it
        )

    def kill(self) -> None:
        """Kill all of the session; who waits for one of them will notice."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._leader.pid, signal.SIGKILL)

    def end(self) -> None:
        """Kill all of it, and guard nothing any more."""
        self.kill()
        self._leader.wait()
        self._watcher.kill()
        self._watcher.communicate()

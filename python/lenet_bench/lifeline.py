"""No process outlives the one that started it, whatever ends that one, kill -9 included."""

import ctypes
import os
import signal
import subprocess
import sys

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
    """Ends a session's processes, by their group, once this process is gone.

    A child may die with its parent by itself; what it started, and other systems, do not know.
    """

    _SCRIPT = 'read -r _; kill -s KILL -- "-$0"'  # reading ends when nobody can write any more

    def __init__(self, group: int) -> None:
        self._process = subprocess.Popen(
            ["/bin/sh", "-c", self._SCRIPT, str(group)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # no terminal's signal is meant for it
        )

    def close(self) -> None:
        """There is nobody left to end."""
        self._process.kill()
        self._process.communicate()

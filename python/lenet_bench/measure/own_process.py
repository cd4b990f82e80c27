"""What a child process asks of the system for itself: to die with its parent, and its memory."""

import ctypes
import os
import signal
import sys
from pathlib import Path

_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG


def die_with(parent: int) -> None:
    """No worker outlives its parent, whatever kills the parent and whatever the rung does then.

    Linux does it; elsewhere the worker ends when it next listens to the parent.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
    if os.getppid() != parent:  # it died before we asked
        os._exit(1)


def peak_rss_mib() -> float | None:
    """The kernel's high-water mark; getrusage's would include the parent's size at the fork."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return None

"""Other processes, as a test starts and looks at them, and waits for what they do."""

import ctypes
import subprocess
import sys
import time
from contextlib import suppress
from typing import Any

import psutil
import pytest

linux = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")


def ran(*command, code=0, **options):
    """A program that has ended, with this code or, for None, with any."""
    words = list(map(str, command))
    done = subprocess.run(words, capture_output=True, text=True, **options)
    assert code in (None, done.returncode), done.stdout[-8000:] + done.stderr[-8000:]
    return done


def python(text, *arguments, **options):
    """The same of a program in Python."""
    return ran(sys.executable, "-c", text, *arguments, **options)


def under_way(*command, **options) -> Any:
    """A program that runs; what it prints is text."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen(list(map(str, command)), **{**pipes, **options})


def as_no_root():
    """For preexec_fn: a closed folder is closed to the program, also where root runs the tests."""
    for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
        ctypes.CDLL(None).prctl(24, capability)  # PR_CAPBSET_DROP


def alive(pid):
    """Whether the process runs; a zombie does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def children(pid, words=""):
    """What its keepers have started and still runs, with these words in its command line."""
    found = []
    for keeper in psutil.Process(pid).children():
        with suppress(psutil.NoSuchProcess):
            for child in keeper.children():
                if alive(child.pid) and words in " ".join(child.cmdline()):
                    found.append(child.pid)
    return found


def wait_for(condition):
    """Until it holds; on a busy machine that may take a while."""
    end = time.monotonic() + 180
    while not condition():
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.005)

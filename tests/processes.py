"""Other processes, as a test looks at them: whether they run, and waiting for what they do."""

import time
from collections.abc import Callable
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether the process runs; a zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition: Callable[[], object]) -> None:
    """Until it holds, a minute at most."""
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "it never came to pass"
        time.sleep(0.005)

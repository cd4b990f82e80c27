"""Facts that a process reads about itself: its peak memory, its threads."""

from pathlib import Path

_RUNNING = 0.01  # a thread that used less of the span is not running


def peak_rss_mib() -> float | None:
    """The peak memory from the kernel; getrusage's includes the parent's size at the fork."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return None


def thread_cpu_ns() -> dict[str, int]:
    """Each thread's CPU time, as far as this system gives it."""
    found = {}
    for thread in Path("/proc/self/task").glob("*/schedstat"):
        try:
            found[thread.parent.name] = int(thread.read_text().split()[0])
        except OSError:
            continue  # it ended just now
    return found


def running_threads(before: dict[str, int], after: dict[str, int], wall_ns: int) -> int | None:
    """How many threads used CPU time in that span; None where unknown."""
    busy = (name for name in after if after[name] - before.get(name, 0) > _RUNNING * wall_ns)
    return sum(1 for _ in busy) or None

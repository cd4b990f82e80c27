"""What a process asks of the system about itself: the most memory that it had."""

from pathlib import Path


def peak_rss_mib() -> float | None:
    """The kernel's high-water mark; getrusage's would include the parent's size at the fork."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return None

"""How much memory is left for one more worker: what the system, a container and the user allow."""

from collections.abc import Iterable, Iterator
from pathlib import Path

_CGROUPS = Path("/sys/fs/cgroup")
_LIMIT, _USED = ("memory.max", "memory.limit_in_bytes"), ("memory.current", "memory.usage_in_bytes")
_FILES = ("inactive_file", "active_file")  # what the kernel drops to make room


class Memory:
    """What the workers may use; `most_bytes` is the user's limit for all of them together."""

    def __init__(self, most_bytes: int | None = None) -> None:
        self._most_bytes = most_bytes

    def left_bytes(self, workers: Iterable[int]) -> int | None:
        """Beyond what these processes have; None where nobody tells."""
        left = [*_left_in_the_system(), *left_in_cgroups(_CGROUPS, _text("/proc/self/cgroup"))]
        if self._most_bytes is not None:
            left.append(self._most_bytes - sum(map(process_bytes, workers)))
        return min(left, default=None)


def process_bytes(pid: int) -> int:
    """A process's memory, its share of what it has in common with others; 0 where it is gone."""
    for file, line in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        for found in _text(f"/proc/{pid}/{file}").splitlines():
            if found.startswith(line):
                return int(found.split()[1]) << 10
    return 0


def left_in_cgroups(root: Path, membership: str) -> Iterator[int]:
    """In each control group around this process; `membership` is what /proc/self/cgroup says."""
    for line in membership.splitlines():
        _, controllers, path = line.split(":", 2)
        if controllers in ("", "memory"):  # version 2, version 1
            top = root / controllers
            here = top / path.strip("/")
            for folder in (here, *here.parents):
                yield from _left_in(folder)
                if folder == top:
                    break


def _left_in(folder: Path) -> Iterator[int]:
    for limit, used in zip(_LIMIT, _USED, strict=True):
        most, taken = _text(folder / limit).strip(), _text(folder / used).strip()
        if most.isdigit() and taken.isdigit():
            stat = dict(line.split() for line in _text(folder / "memory.stat").splitlines())
            # Version 1 tells a group's own and, with total_ in front, its children's with them.
            kept = (
                sum(int(stat.get(total + name, 0)) for name in _FILES) for total in ("", "total_")
            )
            yield max(0, int(most) - int(taken) + max(kept))


def _left_in_the_system() -> Iterator[int]:
    for line in _text("/proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            yield int(line.split()[1]) << 10


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""

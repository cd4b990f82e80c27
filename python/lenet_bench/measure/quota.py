"""A CPU quota, as a container has: a control group of the system, version 1 or 2."""

import errno
import os
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from ..errors import LenetBenchError
from ..results import Throttled

_ROOT = Path("/sys/fs/cgroup")
_PREFIX = "lenet-bench-"
_PERIOD_US = 100_000  # containers' default
_TO_END_S = 2.0
_OLD_NS = 60_000_000_000
_REFUSED = "--quota needs a control group with the CPU controller, which could not be made here"
_HELP = {
    errno.EINVAL: "a group above, as a container's, may have less; ask for less, or set it there",
    errno.EROFS: "in a container, limit that instead, as docker run --cpus does, without --quota",
}
_OTHER_HELP = (
    "run it as root, or by: systemd-run --user --scope -p Delegate=yes lenet-bench compare ..."
)


class Quota:
    """A control group with a share of the CPUs' time: 1.5 is one and a half cores."""

    def __init__(self, cores: float) -> None:
        failures: dict[Path, OSError] = {}
        for parent in _parents():
            _remove_orphans(parent)
            self._group = parent / f"{_PREFIX}{os.getpid()}-{time.monotonic_ns()}"
            try:
                self._group.mkdir()
            except OSError as error:
                failures[parent] = error
                continue
            try:
                _limit(self._group, cores)
                return
            except OSError as error:
                failures[parent] = error
                self._group.rmdir()
        if not failures:
            raise LenetBenchError(f"{_REFUSED}: only Linux has them, and not each container")
        why = "; ".join(f"{parent}: {error.strerror}" for parent, error in failures.items())
        known = (_HELP.get(error.errno or 0) for error in failures.values())
        raise LenetBenchError(f"{_REFUSED} ({why}); {next(filter(None, known), _OTHER_HELP)}")

    def take(self, pid: int) -> None:
        """Put a process under it, with all threads and processes that it starts from now on."""
        with suppress(ProcessLookupError):  # whoever asks it next hears how it died
            (self._group / "cgroup.procs").write_text(str(pid))

    def throttled(self) -> Throttled:
        lines = (self._group / "cpu.stat").read_text().splitlines()
        found = dict(line.split() for line in lines)
        waited_us = int(found.get("throttled_usec", 0)) or int(found.get("throttled_time", 0)) / 1e3
        periods, throttled = int(found["nr_periods"]), int(found["nr_throttled"])
        return Throttled(periods, throttled, waited_us / 1e6)

    def filled(self) -> Throttled:
        """The same, once what was used up before is there again."""
        time.sleep(2 * _PERIOD_US / 1e6)
        return self.throttled()

    def close(self) -> None:
        """Remove the group; its processes have been killed, and may take a moment to go."""
        until = time.monotonic() + _TO_END_S
        while self._group.exists():
            try:
                self._group.rmdir()
            except OSError:
                if time.monotonic() > until:
                    return
                time.sleep(0.01)


def _remove_orphans(parent: Path) -> None:
    """Remove the groups of runs that were killed; one that begins elsewhere may look so."""
    for group in parent.glob(f"{_PREFIX}*"):
        pid, _, made_ns = group.name.removeprefix(_PREFIX).partition("-")
        with suppress(OSError, ValueError):
            if not Path("/proc", pid).exists() and time.monotonic_ns() - int(made_ns) > _OLD_NS:
                group.rmdir()


def _limit(group: Path, cores: float) -> None:
    quota_us = round(cores * _PERIOD_US)
    if (group / "cpu.cfs_quota_us").exists():
        (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    else:  # a group without the controller has no such file
        (group / "cpu.max").write_text(f"{quota_us} {_PERIOD_US}")


def limit() -> float | None:
    """The least share of the CPUs' time of the groups that this process is in; None: all."""
    ours, root = _own() or (_ROOT, _ROOT)
    found = list[float]()
    for group in (ours, *ours.parents):
        with suppress(OSError, ValueError):
            if (group / "cpu.cfs_quota_us").exists():
                files = ("cpu.cfs_quota_us", "cpu.cfs_period_us")
                quota, period = (float((group / file).read_text()) for file in files)
            else:  # "max" is no number
                quota, period = map(float, (group / "cpu.max").read_text().split())
            if quota > 0:
                found.append(quota / period)
        if group == root:
            break
    return min(found, default=None)


@cache
def _parents() -> tuple[Path, ...]:
    """Where a group may be made: below our own, then below the root.

    Found once, since in version 2 this process leaves its group for one below it.
    """
    found = _own()
    if found and (_ROOT / "cgroup.controllers").exists():
        with suppress(OSError):
            _delegate(found[0])
    return found


def _own() -> tuple[Path, ...]:
    """Our group with the CPU controller, and the root; none where this system has none."""
    own: dict[str, str] = {}
    with suppress(OSError):
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        for line in lines:
            _, controllers, path = line.split(":", 2)
            own |= dict.fromkeys(controllers.split(","), path.strip("/"))
    for folder in ("cpu,cpuacct", "cpu"):
        if "cpu" in own and (_ROOT / folder / "cpu.shares").exists():
            return _ROOT / folder / own["cpu"], _ROOT / folder
    if (_ROOT / "cgroup.controllers").exists():
        return _ROOT / own.get("", ""), _ROOT
    return ()


def _delegate(ours: Path) -> None:
    """Give the groups below ours the controller; then ours may hold no process itself."""
    if "cpu" in (ours / "cgroup.subtree_control").read_text().split():
        return
    inside = ours / "lenet-bench"
    inside.mkdir(exist_ok=True)
    (inside / "cgroup.procs").write_text(str(os.getpid()))
    (ours / "cgroup.subtree_control").write_text("+cpu")

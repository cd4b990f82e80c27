"""A CPU quota, as a container has: a control group of the system, version 1 or 2."""

import os
import time
from contextlib import suppress
from functools import cache
from pathlib import Path

from ..errors import LenetBenchError
from ..results import Throttled

_ROOT = Path("/sys/fs/cgroup")
_PERIOD_US = 100_000  # containers' default
_TO_END_S = 2.0
_REFUSED = (
    "--quota needs a control group with the CPU controller, which could not be made here ({why}); "
    "run it as root, or by: systemd-run --user --scope -p Delegate=yes lenet-bench compare ..."
)


class Quota:
    """A control group with a share of the CPUs' time: 1.5 is one and a half cores."""

    def __init__(self, cores: float) -> None:
        why = "this system has none"
        for parent in _parents():
            self._group = parent / f"lenet-bench-{os.getpid()}-{time.monotonic_ns()}"
            try:
                self._group.mkdir()
            except OSError as error:
                why = f"{parent}: {error.strerror}"
                continue
            try:
                _limit(self._group, cores)
                return
            except OSError as error:
                why = f"{parent}: {error.strerror}"
                self._group.rmdir()
        raise LenetBenchError(_REFUSED.format(why=why))

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


def _limit(group: Path, cores: float) -> None:
    quota_us = round(cores * _PERIOD_US)
    if (group / "cpu.cfs_quota_us").exists():
        (group / "cpu.cfs_period_us").write_text(str(_PERIOD_US))
        (group / "cpu.cfs_quota_us").write_text(str(quota_us))
    else:  # a group without the controller has no such file
        (group / "cpu.max").write_text(f"{quota_us} {_PERIOD_US}")


@cache
def _parents() -> tuple[Path, ...]:
    """Where a group may be made: below our own, then below the root.

    Found once, since in version 2 this process leaves its group for one below it.
    """
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
        ours = _ROOT / own.get("", "")
        with suppress(OSError):
            _delegate(ours)
        return ours, _ROOT
    return ()


def _delegate(ours: Path) -> None:
    """Give the groups below ours the controller; then ours may hold no process itself."""
    if "cpu" in (ours / "cgroup.subtree_control").read_text().split():
        return
    inside = ours / "lenet-bench"
    inside.mkdir(exist_ok=True)
    (inside / "cgroup.procs").write_text(str(os.getpid()))
    (ours / "cgroup.subtree_control").write_text("+cpu")

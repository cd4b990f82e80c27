"""The cores of a worker, and the thread counts that are set for every library beforehand."""

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Cores:
    """Logical CPUs for all workers, and for the parent; () means not pinned."""

    worker: tuple[int, ...]
    parent: tuple[int, ...]

    @property
    def one_more(self) -> tuple[int, ...]:
        """The worker's core plus the parent's last core; empty if there is no spare."""
        beside = [cpu for cpu in self.parent if cpu not in self.worker]
        return (*self.worker, beside[-1]) if len(self.worker) == 1 and beside else ()


def choose_cores(threads: int, near: Collection[int] = ()) -> Cores:
    """The last cores for the workers, since interrupts go to the first; the rest for the parent.

    Cores with one of the logical CPUs `near` go before all others.
    """
    if not hasattr(os, "sched_setaffinity"):
        return Cores((), ())
    allowed = sorted(os.sched_getaffinity(0))
    by_core: dict[str, list[int]] = {}
    for cpu in allowed:
        by_core.setdefault(_siblings(cpu), []).append(cpu)
    groups = sorted(by_core.values(), key=lambda group: any(cpu in near for cpu in group))
    # One thread a physical core; the second thread of a core only where there are no more cores.
    firsts, seconds = [group[0] for group in groups], [c for group in groups for c in group[1:]]
    worker = [*reversed(firsts), *reversed(seconds)][:threads]
    taken = {_siblings(cpu) for cpu in worker}
    elsewhere = [cpu for cpu in allowed if _siblings(cpu) not in taken]
    beside = [cpu for cpu in allowed if cpu not in worker]
    return Cores(tuple(sorted(worker)), tuple(elsewhere or beside or allowed))


def cpus_near_gpu(devices: Iterable[str]) -> set[int]:
    """The logical CPUs on the chosen GPU's side of the machine, if a backend computes there.

    From the other socket each trip to it takes some tenths of a microsecond more.
    """
    if "gpu" not in devices:
        return set()
    from ..registry.gpu import bus_of_chosen  # imports NumPy, so after `tell_threads`

    return cpus_near(bus_of_chosen())


def cpus_near(bus: str | None, sysfs: Path = Path("/sys")) -> set[int]:
    """The CPUs of the PCI device's memory node; none where unknown."""
    try:
        listed = (sysfs / "bus/pci/devices" / (bus or "none") / "local_cpulist").read_text()
        return set(cpus_in(listed))
    except (OSError, ValueError):
        return set()


def cpus_in(listed: str) -> list[int]:
    """The logical CPUs of a list like "0-3,8"."""
    ranges = [part.partition("-") for part in listed.strip().split(",") if part]
    return [cpu for low, _, high in ranges for cpu in range(int(low), int(high or low) + 1)]


@contextmanager
def on_cores(cores: Iterable[int]) -> Iterator[None]:
    """Run on these cores; processes started here inherit them."""
    cores = set(cores)
    if not cores:
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, cores)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


@contextmanager
def with_threads_on(cores: Iterable[int]) -> Iterator[None]:
    """Let all threads of this process run on these cores, then give each its own cores back.

    A thread that was started meanwhile gets the cores of this one.
    """
    here, before = os.sched_getaffinity(0), threads_cores()
    _pin({thread: set(cores) for thread in before})
    try:
        yield
    finally:
        _pin({thread: before.get(thread, here) for thread in threads_cores()})


def threads_cores() -> dict[int, set[int]]:
    """The cores that each thread of this process may run on, as the system says."""
    found = {}
    for thread in Path("/proc/self/task").glob("*"):
        with suppress(OSError):  # it ended just now
            found[int(thread.name)] = os.sched_getaffinity(int(thread.name))
    return found


def _pin(cores: Mapping[int, set[int]]) -> None:
    for thread, its_own in cores.items():
        with suppress(OSError):
            os.sched_setaffinity(thread, its_own)


def thread_variables(threads: int) -> dict[str, str]:
    """The variables that set the libraries' thread counts; libraries read them at their import.

    With 0 threads there are none.
    """
    if not threads:
        return {}
    many = (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
        "TF_NUM_INTRAOP_THREADS",
    )
    variables = {name: str(threads) for name in many}
    return {
        **variables,
        "TF_NUM_INTEROP_THREADS": "1",
        "OMP_DYNAMIC": "FALSE",
        "MKL_DYNAMIC": "FALSE",
    }


def tell_threads(threads: int) -> None:
    """Set them in this process before libraries are imported; the user's own settings remain.

    Otherwise NumPy's BLAS uses every core, and its threads wait for each other if one is busy: on a
    busy machine a call of 0.2 ms took 24 ms.
    """
    for name, value in thread_variables(threads).items():
        os.environ.setdefault(name, value)


def _siblings(cpu: int) -> str:
    """The logical CPUs of the same physical core, as the system spells them."""
    try:
        path = Path(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list")
        return path.read_text().strip()
    except OSError:
        return str(cpu)

"""What services meet: several callers, a container's quota, threads that are idle between calls."""

import json
from collections.abc import Iterator
from pathlib import Path

from lenet_bench.questions.share import SUFFIX
from lenet_bench.results import BackendResult, Result, read_result
from lenet_bench.show.callers import callers as by_way
from lenet_bench.show.figures.records import Record
from lenet_bench.show.markdown import table as markdown
from lenet_bench.show.sentences import conditions as measured_how
from lenet_bench.show.sentences import processor, timed
from lenet_bench.units import NONE, count, counted, interval, percent, ratio, time
from settings.idle import IDLE

QUOTAS = {"all of both cores": "quota-none", "1.5 cores": "quota-1.5", "half a core": "quota-0.5"}
EVERY_MS = (5, 10, 20, 50)


def run(folder: Path, name: str) -> Result:
    return read_result(folder / f"{name}{SUFFIX}")


def callers(folder: Path) -> Iterator[str]:
    """A backend a row: calls a second of threads, each backend in its faster way; of processes."""
    threads, processes = run(folder, "callers"), run(folder, "processes")
    best = faster_way(threads)
    apart = {row.name: row.together for row in processes.backends}
    numbers = threads.rules.callers
    yield measured_how(threads)
    yield ""
    titles = (
        "backend",
        "GIL held",
        *(counted(number, "thread") for number in numbers),
        f"{numbers[-1]} over 1",
        "networks",
        *(f"{number} processes over 1" for number in numbers[1:]),
    )
    rows = []
    for name, row in best.items():
        rates = (count(row["rates"].get(number)) for number in numbers)
        each = {one.number: gained(vars(one)) for one in apart.get(name, ())}
        of_processes = (each.get(number, NONE) for number in numbers[1:])
        held = percent(row["gil_share"], places=0)
        rows.append((name, held, *rates, gained(row), row["networks"], *of_processes))
    yield from markdown(titles, rows, ("backend", "networks"))


def faster_way(result: Result) -> dict[str, Record]:
    """Each backend by its way with the most calls a second."""
    best: dict[str, Record] = {}
    for row in by_way(result):
        best.setdefault(row["name"], row)
    return best


def withoutgil(folder: Path) -> Iterator[str]:
    """A backend a row: calls a second of threads of one interpreter with the GIL and without.

    Both in the way that is faster without it.
    """
    first, other = run(folder, "gil"), run(folder, "no-gil")
    least, *_, most = first.rules.callers
    with_gil = {(row["name"], row["networks"]): row for row in by_way(first)}
    yield (
        f"{first.machine.software.python}, on two cores of {processor(first.machine)}, in "
        f"{counted(first.rounds, 'round')}:"
    )
    yield ""
    rows = []
    for name, row in faster_way(other).items():
        both = with_gil[name, row["networks"]], row
        cells = (f"{count(one['rates'].get(least))}, {gained(one)}" for one in both)
        rows.append((name, *cells))
    kinds = (f"{kind}: {least}, {most} over {least}" for kind in ("with the GIL", "without"))
    yield from markdown(("backend", *kinds), rows, ("backend",))


def gained(row: Record) -> str:
    """1.50 (1.44-1.61)."""
    if row.get("gain") is None:
        return NONE
    return f"{ratio(row['gain'])} ({interval(row['gain_low'], row['gain_high'])})"


def quota(folder: Path) -> Iterator[str]:
    """A backend a row: its threads, and its times under each quota that was measured."""
    there = {title: name for title, name in QUOTAS.items() if (folder / f"{name}{SUFFIX}").exists()}
    results = {title: run(folder, name) for title, name in there.items()}
    each = {title: {one.name: one for one in timed(result)} for title, result in results.items()}
    first = next(iter(each.values()))
    rows = []
    for name, row in first.items():
        cells = (under(of.get(name)) for of in each.values())
        rows.append((name, count(row.threads_running), *cells))
    yield from markdown(("backend", "threads", *each), rows, ("backend",))


def under(row: BackendResult | None) -> str:
    """Its mean, p50 and p99.9, and the share of periods in which it was stopped."""
    if row is None or row.summary is None:
        return NONE
    found = row.summary
    times = " / ".join(map(time, (found.mean_us, found.p50_us, found.p999_us)))
    share = row.throttled_share
    return times if share is None else f"{times}, {percent(share, places=0)}"


def idle(folder: Path) -> Iterator[str]:
    """A way a row: the median call at each interval, and the CPU time between calls."""
    each = []
    for ms in EVERY_MS:  # in a file, and in others of single libraries
        files = sorted(folder.glob(f"every-{ms}[-.]*"), reverse=True)
        each.append({one.name: one for file in files for one in read_result(file).backends})
    titles = ("way", *(f"every {ms} ms" for ms in EVERY_MS))
    rows = [(said_of(name), *(paced(of.get(name)) for of in each)) for name in each[0]]
    yield from markdown(titles, rows, titles[:1])


def freethreaded(path: Path) -> Iterator[str]:
    """The APIs with a wheel for free-threaded Python, those without, and those that need none."""
    found = json.loads(path.read_text())
    kinds: dict[str, list[str]] = {}
    for library, one in found["apis"].items():
        kinds.setdefault(one["wheels"], []).append(f"{library} {one['version']}".strip())
    yield f"By {found['index'].removeprefix('https://').partition('/')[0]} on {found['date']}:"
    yield ""
    yield from (f"- {wheels}: {', '.join(names)}" for wheels, names in sorted(kinds.items()))


def said_of(name: str) -> str:
    backend, is_set, setting = name.partition("/")
    return f"{backend}: {IDLE[backend][setting].says}" if is_set else name


def paced(row: BackendResult | None) -> str:
    """160 us (100 %): its median, and the CPU time of all threads as a share of one core."""
    if row is None or row.summary is None:
        return NONE
    used, passed = (sum(getattr(block, ns) for block in row.blocks) for ns in ("cpu_ns", "wall_ns"))
    return f"{time(row.p50_us)} ({percent(used / passed, places=0)})"

"""The tables of docs/fused.md: finished studies of our own kernels, and what later runs say."""

import json
from collections.abc import Iterator
from pathlib import Path

from lenet_bench.registry import precision
from lenet_bench.results import read_result, start_medians_us
from lenet_bench.show.markdown import table
from lenet_bench.show.sentences import backend_of, timed
from lenet_bench.units import count, ratio, time

#: What the page calls the machines of the studies' files.
MACHINES = {
    "epyc": "Zen 3",
    "epyc-avx2": "Zen 3",
    "epyc-avx512": "Zen 4",
    "epyc-zen5": "Zen 5",
    "xeon": "Xeon 2.5",
    "xeon-avx512": "Xeon 2.5",
}
OWN = ("fused", "fused:int16", "limit")
FASTEST = 3  # others that are named
BATCHES = (64, 512)


def seriallimit(path: Path) -> Iterator[str]:
    """One image: the limit, our kernels and each step on the way to them, by instruction set."""
    found = {title: study["median"] for title, study in json.loads(path.read_text()).items()}
    rows = []
    for key in next(iter(found.values())):
        name, _, unit = key.rpartition(" ")
        spell = time if unit == "us" else ratio
        cells = (spell(medians[key]) for medians in found.values())
        rows.append((name if unit == "us" else key, *cells))
    yield from table(("", *found), rows, ("",))


def batchlimit(path: Path) -> Iterator[str]:
    """Images a second of our kernels, of their limit and of the others, by machine and batch."""
    rows = []
    for machine, study in json.loads(path.read_text()).items():
        for batch, found in study["images a second"].items():
            # A pair of numbers: of the best round and of the median one.
            medians = {name: median for name, (_, median) in found.items()}
            others = {name: rate for name, rate in medians.items() if name not in OWN}
            fastest = max(others, key=others.__getitem__)
            less = ", ".join(sorted(others.keys() - {fastest}))
            rows.append(
                (
                    MACHINES[machine],
                    batch,
                    *(count(medians[name]) for name in OWN),
                    ratio(medians["limit"] / medians["fused"]),
                    f"{fastest} {count(others[fastest])}; then {less}",
                )
            )
    titles = ("machine", "batch", *OWN, "limit / fused", "the fastest of the others measured")
    yield from table(titles, rows, (titles[0], titles[-1]))


def batchothers(path: Path) -> Iterator[str]:
    """The same of every backend of a result: ours and the fastest others."""
    result = read_result(path)
    for batch in BATCHES:
        rates: dict[str, float] = {}
        for one in timed(result):
            measured = (b.images_per_s for b in one.batches if b.size == batch and b.samples_ns)
            if precision(one.name) == "float32" and (rate := max(measured, default=0.0)):
                api = backend_of(one.name)
                rates[api] = max(rates.get(api, 0.0), rate)
        own = rates.pop("fused")
        fastest = sorted(rates, key=lambda name: -rates[name])[:FASTEST]
        said = ", ".join(f"`{name}` {count(rates[name])}" for name in fastest)
        yield f"- {batch} a call: `fused` {count(own)}, then {said} images a second"


def twothreads(folder: Path) -> Iterator[str]:
    """One image on two threads: the best and the median round, a machine a column."""
    found = {
        MACHINES[path.stem]: json.loads(path.read_text())["summary"]
        for path in sorted(folder.glob("*.json"))
        if path.stem in MACHINES
    }
    names = [name.removesuffix(", us") for name in next(iter(found.values())) if ", us" in name]
    rows = []
    for name in sorted(names, key=lambda name: ("fused" not in name, name)):
        api, _, threads = name.partition(" on ")
        rounds = [summary[f"{name}, us"] for summary in found.values()]
        cells = (f"{time(one['0 %'])}, {time(one['50 %'])}" for one in rounds)
        rows.append((api, threads, *cells))
    yield from table(("backend", "threads", *found), rows, ("backend",))


def eachstart(path: Path) -> Iterator[str]:
    """The median of each start of our own kernels, the fastest first."""
    starts = sorted(start_medians_us(read_result(path).row("fused").blocks).values())
    yield f"Its {len(starts)} starts take {', '.join(f'{us:.1f}' for us in starts)} µs."

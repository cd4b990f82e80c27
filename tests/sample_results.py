"""Made-up runs, for what is computed from one and drawn of it."""

import dataclasses
import re
from zlib import crc32

from lenet_bench.experiment_names import AS_BUILT, COUNTS
from lenet_bench.network import STAGES
from lenet_bench.registry import find, names
from lenet_bench.results import (
    Batch,
    Block,
    CacheProbe,
    ColdStart,
    End,
    Experiment,
    Gpu,
    Header,
    Listed,
    Log,
    Rules,
    as_result,
)
from lenet_bench.results.log import as_lines
from lenet_bench.results.machine import Machine, Processor
from lenet_bench.results.statistics import FEWEST_STARTS
from msgspec.structs import replace

ROUNDS = 12
QUIET_SLICES, SLOW_SLICES = ((50, 30_000),), ((50, 40_000),)
FLOOR = "empty"


def blocks(name, us, rounds=ROUNDS, **changes):
    """A block a round, each of fifty calls of about that many microseconds."""
    return tuple(
        Block(
            backend=name,
            round=number,
            **{
                "at_s": 0.1 * number,
                "took_s": 0.1,
                "cold_start": ColdStart(0.1, 0.2, 0.3, 0.4, 0.5),
                "wall_ns": round(60 * us * 1000),
                "cpu_ns": round(50 * us * 1000),
                "samples_ns": (round(us * 1000) + number, round(us * 1000)) * 25,
                **changes,
            },
        )
        for number in range(rounds)
    )


def timed_starts(name, *times_us, **changes):
    """A block a round, all calls of which take that long."""
    rows = zip(blocks(name, 1, len(times_us), **changes), times_us, strict=True)
    return tuple(replace(row, samples_ns=(round(1000 * us),) * 50) for row, us in rows)


def quiet_in(name, rounds):
    """Starts of 20 us in these rounds; in the others, disturbed ones of 26 us."""
    quiet, slow = blocks(name, 20, slices=QUIET_SLICES), blocks(name, 26, slices=SLOW_SLICES)
    return tuple((quiet if n in rounds else slow)[n] for n in range(ROUNDS))


def failed(name, status, reason, **changes):
    facts = {"at_s": 0.0, "status": status, "reason": reason, **changes}
    return (Block(backend=name, round=0, **facts),)


def experiments(*, python=5, enter=10, each=2, stage=7, after=0, with_network=0):
    """Of an API whose stages, of one operation each, all take the same."""
    nothing = enter + each  # an operation takes ten floats of what there is
    ways = [("Python", nothing + python), ("entering", nothing)]
    found = [Experiment("way", name, us, 9, 1, "so") for name, us in ways]
    found += [Experiment("after itself", "Python", nothing + python - after, 9)]
    found += [Experiment("after itself", "entering", nothing, 9)]
    found += [Experiment("operations", str(n), nothing + n * each, 9, 1 + n) for n in COUNTS]
    for number, name in enumerate(STAGES, 1):
        us = enter + (each + stage) * number
        found.append(Experiment("stage", name, us, 9, number))
    return (*found, Experiment("call", AS_BUILT, us + python + with_network, 9))


def sample_apart(machine="another processor"):
    """Calls taken apart, of two backends of Keras; the slowest one's parts are more than it."""
    python = {"onednn": 5, "torch": 100, "tensorflow": 200, "keras:predict_on_batch": 300}
    rows = [
        blocks(name, us + 100, FEWEST_STARTS, experiments=experiments(python=us))
        for name, us in python.items()
    ]
    slow = blocks("keras", 40_000, FEWEST_STARTS, experiments=experiments(python=41_000))
    return result(*rows, slow, machine=Machine(Processor(model=machine)))


def log(*rows, ended="rounds", machine=None, version="0.1.0", **rules):
    """A run of these rows, each the blocks of one backend, and of the empty backend."""
    floor = blocks(FLOOR, 1)
    header = Header(
        version=version,
        argv=("lenet-bench", "compare"),
        started="2026-01-01T00:00:00+00:00",
        machine=machine or Machine(Processor(model="µ-processor")),
        rules=replace(_RULES, **rules),
        backends=tuple(_listed(row[0].backend) for row in rows),
        floor=FLOOR,
    )
    every = sorted((block for row in (floor, *rows) for block in row), key=lambda b: b.round)
    return Log(header, tuple(every), End(ended, 3.5) if ended else None)


def log_in_halves(by):
    """The baseline is back twice; the backend, half as slow again, starts in the slower half."""
    timed = {
        "base": (0.0, 20.0),
        "row": (3.0, 30.0 * by),
        "base #2": (2.0, 20.0 * by),
        "base #3": (4.0, 20.0 * by),
    }
    rows = [
        tuple(replace(one, at_s=10 * one.round + at) for one in blocks(name, us, rounds=8))
        for name, (at, us) in timed.items()
    ]
    made = log(*rows, baseline="base")
    listed = tuple(one for one in made.header.backends if "#" not in one.name)
    header = replace(made.header, backends=listed, again=("base #2", "base #3"))
    return dataclasses.replace(made, header=header)


def possible_log(*rows, **rest):
    """A run of backends that there are, so that it may be shared."""
    rows = rows or (blocks("fused", 20, difference=1e-7), blocks("numpy", 90))
    return log(*rows, **{"machine": _MACHINE, **rest})


def write_log(path, content):
    path.write_bytes(as_lines(content))
    return path


def with_checksums(content):
    """The lines of a changed file with the checksums of what is now in them."""
    last = b""

    def with_checksum(line):
        nonlocal last
        fields = line[1] + (b',"after":"%s"' % last if last else b"")
        last = b"%08x" % crc32(fields)
        return b'%s,"crc32":"%s"}\n' % (fields, last)

    ends = rb'(?m)^(.*?)(?:,"after":"\w+")?(?:,"crc32":"\w+")?}\n'
    return re.sub(ends, with_checksum, content)


def result(*rows, **rest):
    return as_result(log(*rows, **rest))


def sample_log(hostile="killed"):
    """A run of two backends, one twice as slow, and of one that crashed."""
    crashed = failed("third", "crashed", f"in round 1: {hostile}", traceback="at\n  µ")
    return log(blocks("first", 20), blocks("second", 40), crashed)


def sample_result(hostile="killed"):
    return as_result(sample_log(hostile))


def sample_of_all():
    """A run of all backends, from 18 us to 60 ms, frameworks on a GPU too, with all figures."""
    listed = names()
    times = {name: 18 * 3300 ** (n / len(listed)) for n, name in enumerate(listed)}
    rows = [_full(name, us, find(name)[0].device) for name, us in times.items()]
    moved = [name for name in names(device="gpu") if name.startswith(("torch", "keras:", "keras@"))]
    rows += [_full(name, times.get(name.removesuffix("@gpu"), 300) / 3, "gpu") for name in moved]
    rows.append(failed("mxnet@gpu", "unavailable", "no module"))
    return result(*rows, batches=(8, 64, 512))


_MACHINE = Machine(Processor(model="AMD EPYC", logical=2, cores=2, allowed=2), memory_bytes=2**34)
_RULES = Rules(
    seed=7,
    baseline=None,
    margin=0.02,
    confidence=0.95,
    budget_s=None,
    rounds=ROUNDS,
    timeout_s=60.0,
    images=10,
    threads=1,
    worker_cores=(1,),
    parent_cores=(0,),
    variables={"OMP_NUM_THREADS": "1"},
    weights="weights/lenet.safetensors",
    weights_sha256="0" * 64,
)


def _listed(name):
    on_gpu = name.endswith("@gpu") or (name in names() and find(name)[0].device == "gpu")
    return Listed(name, "gpu" if on_gpu else "cpu", 1e-5)


def _full(name, us, device):
    profile = {"h2d_us": 4.0, "kernels_us": us / 2, "d2h_us": 3.0, "enqueue_us": 6.0}
    gpu = Gpu("A GPU", 300.0 + us / 30, 80.0, 3.0, profile_us={**profile, "total_us": 10.0 + us})
    return blocks(
        name,
        us,
        threads_alive=3,
        threads_running=1,
        idle_share=0.0,
        peak_rss_mib=40.0 + us / 50,
        lines_of_code=40 + len(name) * 13,
        installed_mib=1.0 + us / 20,
        gpu=gpu if device == "gpu" else None,
        batches=tuple(Batch(n, (round(us * 700 * n**0.8),) * 20) for n in (8, 64, 512)),
        runs={"library": "its library 1.2", "isa": "avx2"},
        cache_probe=CacheProbe(us, us, us),
    )

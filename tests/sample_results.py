"""A made-up result, for what is drawn from one."""

from dataclasses import replace

from lenet_bench.backends import find, names
from lenet_bench.results import (
    SCHEMA,
    Batch,
    ColdStart,
    Disturbance,
    Gpu,
    Resources,
    Result,
    Rules,
    RungResult,
    Turn,
)

ROUNDS = 12


def turns(us):
    """Twelve rounds of fifty calls of about that many microseconds."""
    return tuple(
        Turn(n, 0.1 * n, 60 * us * 1000, 50 * us * 1000, 0, 0, (us * 1000 + n, us * 1000) * 25)
        for n in range(ROUNDS)
    )


def rung(name, us):
    """A rung that is ok."""
    starts = (ColdStart(0.1, 0.2, 0.3, 0.4, 0.5),) * ROUNDS
    return RungResult(name, "ok", cold_starts=starts, turns=turns(us))


def sample_result(hostile="killed"):
    """A run of two rungs, one twice as slow, and of one that crashed."""
    rules = Rules(
        seed=7,
        baseline=None,
        margin=0.02,
        confidence=0.95,
        budget_s=None,
        precision=None,
        rounds=ROUNDS,
        timeout_s=60.0,
        warm_s=0.01,
        timed_s=0.05,
        rounds_a_start=1,
        images=10,
        threads=1,
        worker_cores=(1,),
        parent_cores=(0,),
        variables={"OMP_NUM_THREADS": "1"},
        weights="weights/lenet.safetensors",
        weights_sha256="0" * 64,
    )
    crashed = RungResult("third", "crashed", reason=f"in round 1: {hostile}", traceback="at\n  µ")
    return Result(
        schema=SCHEMA,
        version="0.1.0",
        argv=("lenet-bench", "compare"),
        started="2026-01-01T00:00:00+00:00",
        ended="rounds",
        elapsed_s=3.5,
        machine={"processor": {"model": "µ-processor"}},
        rules=rules,
        order=(("first", "second"),) * ROUNDS,
        floor=RungResult("empty", "ok", turns=turns(1)),
        rungs=(rung("first", 20), rung("second", 40), crashed),
        disturbance=Disturbance(0.0, 0.0, 0.1, 2700.0, 2700.0),
        warnings=(),
    )


def sample_ladder():
    """A run of the whole ladder, from 18 us to 60 ms, frameworks on a GPU too, with all figures."""
    listed = names(gone=False)
    times = [18 * 3300 ** (n / len(listed)) for n in range(len(listed))]
    rungs = [
        _full(name, round(us), find(name)[0].device) for name, us in zip(listed, times, strict=True)
    ]
    frameworks = [n for n, name in enumerate(listed) if find(name)[0].name in ("torch", "keras")]
    on_gpu = [_full(listed[n], round(times[n] / 3), "gpu") for n in frameworks]
    missing = RungResult("mxnet@gpu", "unavailable", reason="no module")
    return replace(sample_result(), rungs=(*rungs, *on_gpu, missing))


def _full(name, us, device):
    """A rung with every figure that there is."""
    sizes = (8, 64, 512)
    return replace(
        rung(name if device == find(name)[0].device else f"{name}@{device}", us),
        resources=Resources(3, 1, 0.0, 40.0 + us / 50),
        lines_of_code=40 + len(name) * 13,
        installed_mib=1.0 + us / 20,
        device=device,
        gpu=_gpu(us) if device == "gpu" else None,
        batches=tuple(Batch(n, (round(us * 700 * n**0.8),) * 20) for n in sizes),
        runs={"library": "its library 1.2", "isa": "avx2"},
    )


def _gpu(us):
    profile = {"h2d_us": 4.0, "kernels_us": us / 2, "d2h_us": 3.0, "enqueue_us": 6.0}
    profile["total_us"] = 10.0 + us
    return Gpu("A GPU", memory_mib=300.0 + us / 30, energy_mj=3.0, profile_us=profile)

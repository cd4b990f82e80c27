"""A made-up result, for what is drawn from one."""

from lenet_bench.results import (
    SCHEMA,
    ColdStart,
    Disturbance,
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


def sample_result():
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
    crashed = RungResult("third", "crashed", reason="in round 1: killed", traceback="at\n  µ")
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

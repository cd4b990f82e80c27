"""A call taken apart: from the experiments of its blocks to parts that add up. Arithmetic only.

Of one start, with T(network, way) as in why/__init__.py; way 1 is the call as users make it, way n
enters the API only, and nothing is a network that does nothing:

    part of way i     = T(nothing, i) - T(nothing, i+1)
    entering          = T(nothing, n) - hand-over - slope * its operations
    dispatch          = slope over the networks of trivial layers * the network's operations
    stage             = its cut - the cut before, or nothing - slope * its own operations
    GPU kernel        = its time by the GPU's clock, where one kernel is the whole network
    unexplained       = the call - the sum of all other parts; it may be below zero

So the sum is T(nothing, 1) - T(nothing, n) + T(whole, n): dispatch and each stage cancel. Beside
the parts stand differences that the sum does not show, or has already:

    after a network   = [T(nothing, 1) - T(nothing, n)] - the same, each called after itself
    with this network = [T(whole, 1) - T(whole, n)] - [T(nothing, 1) - T(nothing, n)]
    as built          = the call - T(whole, 1), where whole was built for the experiments; each
                        follows an untimed call of itself
    among experiments = the call - the timed calls before the experiments

The second and third are `unexplained`. The first is in the parts already.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from ..errors import ResultError
from ..experiment_names import (
    AS_BUILT,
    DISPATCH,
    HAND_OVER,
    MATHEMATICS,
    NETWORK,
    PARTS,
    TWO_CORES,
    Kind,
)
from .model import Anatomy, BackendResult, Block, Experiment, Result, Status
from .statistics import with_bounds

UNEXPLAINED = "unexplained"
AFTER, WITH, BUILT = "after a network", "with this network", "as built"
AMONG = "among experiments"
#: The groups that all backends' parts belong to.
_LAYERS = ("convolutions", "full layers")
GROUPS = ("the API", DISPATCH, *_LAYERS, NETWORK, UNEXPLAINED)
_CONVOLUTIONS = ("conv", "pool", "concat")  # kinds of layers; of all others full layers are most
_OTHERS = ("fc", "softmax", "embedding", "gru", "attention", "norm", "mean", "add", "relu")
_BESIDE = {
    AFTER: "these parts of the API, less the same where each call follows one of itself",
    WITH: "calling the whole network less entering it, less the same of one that does nothing",
    BUILT: "the call less that of the same network as it was built for the experiments",
    AMONG: "the call less the timed calls before the experiments",
}


@dataclass(frozen=True)
class Part:
    """A part of a backend's median call; without bounds where there are too few starts."""

    name: str
    us: float
    low_us: float | None
    high_us: float | None
    evidence: str  # what was measured for it


@dataclass(frozen=True)
class Breakdown:
    """A backend's call, its parts in the order of the call, and their sum as a share of it."""

    name: str
    status: Status
    reason: str | None = None  # why it did not run, or why it is not taken apart
    median_us: float | None = None
    starts: int = 0
    parts: tuple[Part, ...] = ()
    beside: tuple[Part, ...] = ()  # in no sum
    explained: float | None = None  # the sum of all parts but `unexplained`, as a share of the call
    explained_low: float | None = None
    explained_high: float | None = None
    operations: int = 0  # of its network
    operation_us: Part | None = None  # the dispatch of one operation
    waits: float = 0.0  # how often a call gives up its core
    waiting_share: float | None = None  # of a call: wall time less all its threads' processor time
    two_cores_us: float | None = None  # the call on two cores; in no sum
    gil_share: float | None = None  # of a call
    anatomy: Anatomy | None = None

    @property
    def is_sure(self) -> bool:
        """Whether there are starts enough for intervals, and so for the name of a cause."""
        return self.explained_low is not None


def group(part: str) -> str:
    """The group of a part; a part of several stages, "conv1 to pool2", is in that of the first."""
    layer = part.partition(" ")[0].rstrip("0123456789")
    if part in GROUPS:
        return part
    if layer in _CONVOLUTIONS:
        return "convolutions"
    return "full layers" if layer in _OTHERS else "the API"


def kind(part: str) -> str:
    """What the part is in a lesson; `unexplained` is of no kind."""
    if part == UNEXPLAINED:
        return UNEXPLAINED
    if group(part) in (*_LAYERS, NETWORK):
        return MATHEMATICS
    if part not in PARTS:
        raise ResultError(f"the result has a part that this version does not know: {part}")
    return PARTS[part]


def grouped(parts: Sequence[Part]) -> dict[str, float]:
    """The time of each group."""
    sums = dict.fromkeys(GROUPS, 0.0)
    for part in parts:
        sums[group(part.name)] += part.us
    return sums


def has_experiments(result: Result) -> bool:
    """Whether it is a run of `why`."""
    return any(block.experiments for row in result.backends for block in row.blocks)


def breakdowns(result: Result) -> list[Breakdown]:
    """Each backend of a run of `why`."""
    return [_breakdown(row, result.rules.seed) for row in result.backends]


def _breakdown(row: BackendResult, seed: int) -> Breakdown:
    blocks = [block for block in row.blocks if block.experiments]
    if row.status != "ok" or not row.blocks:
        return Breakdown(row.name, row.status, row.reason)
    median_us = float(np.median([_call_us(block) for block in blocks or row.blocks]))
    waits = sum(b.waited for b in row.blocks) / sum(b.made or b.calls for b in row.blocks)
    starts = len(blocks or row.blocks)
    known = Breakdown(
        row.name,
        "ok",
        median_us=median_us,
        starts=starts,
        waits=waits,
        gil_share=row.gil_share,
        anatomy=row.anatomy,
    )
    if not blocks:
        reason = next((why for block in row.blocks if (why := block.no_experiments_reason)), None)
        return replace(known, reason=reason or "`why` has no experiments for this backend yet")
    return _summarised(known, blocks, seed)


def _summarised(known: Breakdown, blocks: Sequence[Block], seed: int) -> Breakdown:
    """The backend with its parts, dispatch and call, as medians over the starts.

    What the parts add up to is found in each start, where times that two parts share cancel.
    """
    tried = blocks[0].experiments
    evidence = {name: said for name, _, said in _parts(tried)}
    names = [*evidence, *_beside(blocks[0])]
    columns = []
    for block in blocks:
        us = {name: us for name, us, _ in _parts(block.experiments)}
        all_parts, whole_call = sum(us.values()), _call_us(block)
        us |= _beside(block)
        of_all = (us.get(name, np.nan) for name in names)
        of_call = (whole_call, whole_call - all_parts, all_parts / whole_call)
        columns.append([*of_all, _slope(block.experiments), *of_call])
    *measured, operation, call, unexplained, explained = with_bounds(np.array(columns), seed)
    parts = [
        Part(name, *us, (evidence | _BESIDE)[name])
        for name, us in zip(names, measured, strict=True)
    ]
    beside = parts[len(evidence) :]
    parts[len(evidence) :] = [Part(UNEXPLAINED, *unexplained, "the call less all other parts")]
    dispatch = Part("an operation", *operation, evidence.get(DISPATCH, ""))
    return replace(
        known,
        median_us=call[0],
        parts=tuple(parts),
        beside=tuple(beside),
        explained=explained[0],
        explained_low=explained[1],
        explained_high=explained[2],
        operations=_operations(tried),
        operation_us=dispatch if of_kind(tried, "operations") else None,
        waiting_share=_waiting_share(blocks),
        two_cores_us=_two_cores_us(blocks),
    )


def _parts(experiments: Sequence[Experiment]) -> Iterator[tuple[str, float, str]]:
    """The parts of one start: name, time in µs, and what was measured for it."""
    ways, each = of_kind(experiments, "way"), _slope(experiments)
    for way, following in pairwise(ways):
        yield way.name, way.us - following.us, way.evidence
    entered, handed_over = ways[-1], 0.0
    if beside := of_kind(experiments, "hand-over"):
        handed_over = beside[0].us - beside[1].us
        yield HAND_OVER, handed_over, beside[1].evidence
    yield entered.name, entered.us - handed_over - each * entered.operations, entered.evidence
    if trivial := of_kind(experiments, "operations"):
        count, tried = _operations(experiments), ", ".join(network.name for network in trivial)
        evidence = f"{count} operations, each as the slope over networks of {tried} trivial ones"
        yield DISPATCH, each * count, evidence
    before, until = entered, "a network that does nothing"
    for cut in of_kind(experiments, "stage"):
        us = cut.us - before.us - each * (cut.operations - before.operations)
        of = "the network" if cut.name == NETWORK else f"the network until {cut.name}"
        yield cut.name, us, f"{of}, less {until}, less their dispatch"
        before, until = cut, f"until {cut.name}"
    for part in of_kind(experiments, "told"):
        yield part.name, part.us, part.evidence


def _beside(block: Block) -> dict[str, float]:
    """What stands beside the parts of one start, as far as it was measured."""
    ways, stages = of_kind(block.experiments, "way"), of_kind(block.experiments, "stage")
    nothing_us, beside = ways[0].us - ways[-1].us, {}
    again = of_kind(block.experiments, "after itself")
    if len(ways) > 1 and again:
        beside[AFTER] = nothing_us - (again[0].us - again[-1].us)
    calls = {call.name: call.us for call in of_kind(block.experiments, "call")}
    if (built := calls.get(AS_BUILT)) is not None:
        if len(ways) > 1:
            beside[WITH] = built - stages[-1].us - nothing_us
        beside[BUILT] = _call_us(block) - built
    if "call" in calls:
        beside[AMONG] = calls["call"] - block.median_us
    return beside


def of_kind(experiments: Sequence[Experiment], kind: Kind) -> list[Experiment]:
    return [experiment for experiment in experiments if experiment.kind == kind]


def _slope(experiments: Sequence[Experiment]) -> float:
    """The dispatch of one operation, by least squares; 0 without networks of trivial operations."""
    if not (tried := of_kind(experiments, "operations")):
        return 0.0
    counts, us = [float(network.operations) for network in tried], [network.us for network in tried]
    return float(np.polyfit(counts, us, 1)[0])


def _operations(experiments: Sequence[Experiment]) -> int:
    """The whole network's operations."""
    return max((network.operations for network in of_kind(experiments, "stage")), default=0)


def _waiting_share(blocks: Sequence[Block]) -> float | None:
    """Wall time less processor time, of the timed calls and the harness around them."""
    shares = [1 - block.cpu_ns / block.wall_ns for block in blocks if block.wall_ns]
    return max(0.0, float(np.median(shares))) if shares else None


def _two_cores_us(blocks: Sequence[Block]) -> float | None:
    calls = [call for block in blocks for call in of_kind(block.experiments, "call")]
    times = [call.us for call in calls if call.name == TWO_CORES]
    return float(np.median(times)) if times else None


def _call_us(block: Block) -> float:
    """The median call, timed in turns with the experiments where there are some."""
    calls = of_kind(block.experiments, "call")
    return next((call.us for call in calls if call.name == "call"), block.median_us)

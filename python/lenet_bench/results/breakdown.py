"""A call taken apart: from the experiments of its blocks to parts that add up. Arithmetic only.

time of a call = the way it is called + the dispatch of its operations + its stages + unexplained.
The parts of one start, from its experiments (probes/__init__.py), where way 1 is the call as users
make it, way n enters the API only, and (a, b) is the time of a and then b:

    part of way i     = way i - way i+1; "entering" = way n
    after a network   = [(cut LeNet, way 1) - (cut LeNet, way n)] - [way 1 - way n] - again
    again             = (way 1, way n) - way 1 - way n
    dispatch          = slope over the networks of trivial operations * LeNet's operations
    stage             = its cut - the cut before - slope * its own operations
    GPU kernel        = its time by the GPU's clock, where one kernel is the whole network
    unexplained       = the call - the sum of all other parts; it may be below zero

After a network the API itself runs slower. Its code and data have gone from the caches: the same
formula with a walk over memory in place of the cut LeNet shows how much of it the caches explain.
Eager APIs: cuts return whole arrays; the baseline is the identity network, which is also
"entering". LeNet itself, called as the backend is called, is in none of the parts.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from msgspec import structs

from ..experiment_names import ALONE, COUNTS, IN_FULL, NOTHING, TWO_CORES, WALK, Kind, after
from ..units import time
from .model import Anatomy, Block, Experiment, Result, Row, Status
from .statistics import Floats, with_bounds

DISPATCH, UNEXPLAINED = "dispatch", "unexplained"
HAND_OVER = "hand-over"
AFTER, AFTER_AS_IT_WAS_CALLED = "after a network", "caches"  # before there was a control
_OF_AFTER = "how much longer all but entering takes right after the last cut network"
#: The stages of the network, in their order, as parts are named.
STAGES = ("conv1", "pool1", "conv2", "pool2", "fc1", "fc2", "softmax")
#: The groups that all backends' parts belong to.
GROUPS = ("the API", DISPATCH, "convolutions", "full layers", UNEXPLAINED)
#: What a call's time goes to in a lesson: the work itself, and what comes before and between.
PREPARING, HANDING_OVER, MATHEMATICS = "preparing", "handing over", "mathematics"
_KINDS = {
    # from a user's array to what the library computes on
    **dict.fromkeys(("checks", "arrays", "copies", "data set", "tuning", "loop"), PREPARING),
    **dict.fromkeys(("callbacks", "second iterator", "batch", "pipeline", "iterator"), PREPARING),
    # from one layer of software to the next, and from one operation to the next
    **dict.fromkeys(("Python", "finding the graph", "model", "entering"), HANDING_OVER),
    **dict.fromkeys((HAND_OVER, AFTER, AFTER_AS_IT_WAS_CALLED, DISPATCH), HANDING_OVER),
    "convolutions": MATHEMATICS,
    "full layers": MATHEMATICS,
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
    parts: tuple[Part, ...] = ()
    explained: float | None = None  # the sum of all parts but `unexplained`, as a share of the call
    explained_low: float | None = None
    explained_high: float | None = None
    operations: int = 0  # of its network
    operation_us: Part | None = None  # the dispatch of one operation
    waits: float = 0.0  # how often a call gives up its core
    two_cores_us: float | None = None  # the call on two cores; in no sum
    anatomy: Anatomy | None = None


def group(part: str) -> str:
    """The group of a part; a part of several stages, "conv1 to pool2", is in that of the first."""
    stage = part.partition(" ")[0]
    if stage in STAGES:
        return "convolutions" if STAGES.index(stage) < STAGES.index("fc1") else "full layers"
    return part if part in GROUPS else "the API"


def kind(part: str) -> str:
    """What the part is in a lesson; `unexplained` where no experiment says so."""
    return _KINDS.get(part) or _KINDS.get(group(part), UNEXPLAINED)


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


def _breakdown(row: Row, seed: int) -> Breakdown:
    blocks = [block for block in row.blocks if block.experiments]
    if row.status != "ok" or not row.blocks:
        return Breakdown(row.name, row.status, row.reason)
    median_us = float(np.median([_call_us(block) for block in blocks or row.blocks]))
    waits = sum(b.waited for b in row.blocks) / sum(b.calls for b in row.blocks)
    known = Breakdown(row.name, "ok", None, median_us, waits=waits, anatomy=row.anatomy)
    if not blocks:
        reason = next((one for block in row.blocks if (one := block.no_experiments_reason)), None)
        return replace(known, reason=reason or "`why` has no experiments for this backend yet")
    return _summarised(known, blocks, seed)


def _summarised(known: Breakdown, blocks: Sequence[Block], seed: int) -> Breakdown:
    """The backend with its parts, dispatch and call, as medians over the starts."""
    tried = blocks[0].experiments
    evidence = {name: said for name, _, said in _parts(tried)}
    if AFTER in evidence:
        walked = time(float(np.median([_after(block.experiments)[1] for block in blocks])))
        evidence[AFTER] += f"; it is {walked} after reading as much memory as LeNet's weights"
    starts = [{name: us for name, us, _ in _parts(block.experiments)} for block in blocks]
    columns = [
        [*(start[name] for name in evidence), _slope(block.experiments), _call_us(block)]
        for start, block in zip(starts, blocks, strict=True)
    ]

    def figures(medians: Floats) -> Floats:
        """The medians, then what follows from them: unexplained and explained."""
        parts, call = medians[..., :-2].sum(axis=-1), medians[..., -1]
        return np.concatenate([medians, np.stack([call - parts, parts / call], axis=-1)], axis=-1)

    *found, of_one, call, unexplained, explained = with_bounds(np.array(columns), figures, seed)
    parts = [Part(name, *us, evidence[name]) for name, us in zip(evidence, found, strict=True)]
    parts.append(Part(UNEXPLAINED, *unexplained, "the call less all other parts"))
    dispatch = Part("an operation", *of_one, evidence.get(DISPATCH, ""))
    return replace(
        known,
        median_us=call[0],
        parts=tuple(parts),
        explained=explained[0],
        explained_low=explained[1],
        explained_high=explained[2],
        operations=_operations(tried),
        operation_us=dispatch if of_kind(tried, "operations") else None,
        two_cores_us=_two_cores_us(blocks),
    )


def _parts(experiments: Sequence[Experiment]) -> Iterator[tuple[str, float, str]]:
    """The parts of one start: name, time in µs, and what was measured for it."""
    ways, stages = of_kind(experiments, "way"), _stages(experiments)
    each = _slope(experiments)
    for one, following in pairwise(ways):
        yield one.name, one.us - following.us, one.evidence
    entered, handed_over = ways[-1], 0.0
    if beside := of_kind(experiments, "hand-over"):
        handed_over = beside[0].us - beside[1].us
        yield HAND_OVER, handed_over, beside[1].evidence
    entering = stages.get(IN_FULL, entered)
    entering_us = entering.us - handed_over - each * entering.operations
    yield entered.name, entering_us, entering.evidence
    if longer := _after(experiments):
        yield (AFTER if len(longer) > 1 else AFTER_AS_IT_WAS_CALLED), longer[0], _OF_AFTER
    if trivial := of_kind(experiments, "operations"):
        count, tried = _operations(experiments), ", ".join(one.name for one in trivial)
        evidence = f"{count} operations, each as the slope over networks of {tried}"
        yield DISPATCH, each * count, evidence
    nothing = stages.get(NOTHING, entered)
    before = stages.get(IN_FULL, nothing)
    if alone := stages.get(ALONE):
        before = structs.replace(nothing, us=entered.us + stages[STAGES[-2]].us - alone.us)
    until = "nothing"
    for name in _cuts(stages):
        cut_after = f"LeNet cut after {name.split(' ')[-1]}"
        if name == STAGES[-1]:
            before, until, cut_after = nothing, "nothing", "a softmax of ten pixels"
        cut = stages[name]
        us = cut.us - before.us - each * (cut.operations - before.operations)
        yield name, us, f"{cut_after}, less {until}, less its operations' dispatch"
        before, until = cut, cut_after
    yield from ((one.name, one.us, one.evidence) for one in of_kind(experiments, "told"))


def _after(experiments: Sequence[Experiment]) -> Sequence[float]:
    """How much longer the first way takes after a network, and after a walk over memory.

    Both are left out where a run did not measure them.
    """
    ways = of_kind(experiments, "way")
    first, last = ways[0], ways[-1]
    us = {one.name: one.us for one in of_kind(experiments, "together")}
    again = us.get(after(last.name, first.name), last.us) - last.us
    longer = []
    for first_name, last_name in (
        (first.name, last.name),
        (after(first.name, WALK), after(last.name, WALK)),
    ):
        if first_name in us:
            longer.append(us[first_name] - us[last_name] - (first.us - last.us) - again)
    return longer


def of_kind(experiments: Sequence[Experiment], kind: Kind) -> list[Experiment]:
    return [one for one in experiments if one.kind == kind]


def _stages(experiments: Sequence[Experiment]) -> Mapping[str, Experiment]:
    return {one.name: one for one in of_kind(experiments, "stage")}


def _cuts(stages: Mapping[str, Experiment]) -> list[str]:
    return [name for name in stages if name not in (NOTHING, ALONE, IN_FULL)]


def _slope(experiments: Sequence[Experiment]) -> float:
    """The dispatch of one operation, by least squares; 0 without networks of trivial operations."""
    if not (tried := of_kind(experiments, "operations")):
        return 0.0
    counts, us = [float(one.operations) for one in tried], [one.us for one in tried]
    return float(np.polyfit(counts, us, 1)[0])


def _operations(experiments: Sequence[Experiment]) -> int:
    """LeNet's operations: those until its last cut, and the softmax."""
    stages, trivial = _stages(experiments), of_kind(experiments, "operations")
    cuts = [stages[name].operations for name in _cuts(stages) if name != STAGES[-1]]
    until = cuts[-1] if cuts else 0
    if STAGES[-1] not in stages or not trivial:
        return until
    return until + stages[STAGES[-1]].operations - (trivial[0].operations - COUNTS[0])


def _two_cores_us(blocks: Sequence[Block]) -> float | None:
    calls = [one for block in blocks for one in of_kind(block.experiments, "call")]
    found = [one.us for one in calls if one.name == TWO_CORES]
    return float(np.median(found)) if found else None


def _call_us(block: Block) -> float:
    """The median call, timed in turns with the experiments where there are some."""
    return next((one.us for one in of_kind(block.experiments, "call")), block.median_us)

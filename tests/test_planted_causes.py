"""`why`: a delay of 20 µs that is planted in one part of a call is found there and nowhere else."""

from collections.abc import Mapping
from typing import Any

import pytest
import toy_backends as toys
from lenet_bench import CompareOptions
from lenet_bench.questions.why import why
from lenet_bench.results import Part
from lenet_bench.results.breakdown import AFTER, DISPATCH, STAGES
from lenet_bench.results.statistics import FEWEST_STARTS

Parts = Mapping[str, Mapping[str, Part]]

ELSEWHERE = 0.5  # of the delay: how far another part may move
LOOSE = 0.02  # of the delay: a clock is read before and after it
TRIES = 3  # whole runs: a busy machine may move a part as much as a delay does

#: Where each toy has its delay, and how often in a call. One that comes after a network is in the
#: part that has it, and is said to be of that kind beside the parts.
DELAYED = {
    "SlowPython": (("Python",), 1),
    "SlowHandOver": (("hand-over",), 1),
    "SlowNode": ((DISPATCH,), len(STAGES)),
    "SlowStage": (("conv2",), 1),
    "SlowAfter": (("Python", AFTER), 1),
}
READS_MUCH = "ReadsMuch"


@pytest.fixture(scope="module")
def unlike(weights_file):
    """Of each toy what was not as it must be, or None where a run found all as it must be."""
    found: dict[str, object] = dict.fromkeys((*DELAYED, READS_MUCH), "not measured")
    for _ in range(TRIES):
        left = [toy for toy, problem in found.items() if problem]
        kinds = [kind for kind in toys.PLANTED if kind.__name__ in ("Toy", "Reads", *left)]
        entries = tuple(map(toys.entry, kinds))
        run = why(CompareOptions(entries, rounds=FEWEST_STARTS, weights=weights_file))
        parts = {one.name: {part.name: part for part in _compared(one)} for one in run}
        found |= {toy: problem_of(parts, toy) for toy in left}
        if not any(found.values()):
            break
    return found


def _compared(one):
    """The parts, and what follows a network; beside them each network has memory of its own."""
    yield from one.parts
    yield from (part for part in one.beside if part.name == AFTER)


def problem_of(parts, toy):
    """What is not as it must be."""
    if toy == READS_MUCH:  # what is cold after it may be in any other part
        more = added(parts, toy, "Reads")
        own: tuple[Any, ...] = (more.pop("conv2"),)
        ((delay, low, _),) = own
        right = low > 0
    else:
        more = added(parts, toy, "Toy")
        names, times = DELAYED[toy]
        delay = times * toys.PLANTED_US
        own = tuple(more.pop(name) for name in names)
        right = all(
            0 < low <= delay * (1 + LOOSE) and high >= delay * (1 - LOOSE) for _, low, high in own
        )
    moved = {name: us for name, (us, _, _) in more.items() if abs(us) >= ELSEWHERE * delay}
    return None if right and not moved else (own, moved)


def added(parts, toy, to):
    """What each part takes longer, and between which bounds: one's lower less the other's upper."""
    found = {}
    for name, part in parts[toy].items():
        than = parts[to][name]
        low, high = (ends[0] - ends[1] for ends in (_ends(part, than), _ends(than, part)))
        found[name] = (part.us - than.us, low, -high)
    return found


def _ends(one, other):
    """Where the one's interval begins, and the other's ends."""
    assert one.low_us is not None
    assert other.high_us is not None
    return one.low_us, other.high_us


@pytest.mark.slow
@pytest.mark.parametrize("toy", [*DELAYED, READS_MUCH])
def test_a_delay_is_in_its_part_alone(unlike, toy):
    assert unlike[toy] is None

"""`why`: a delay of 20 µs that is planted in one part of a call is found there and nowhere else."""

import pytest
import toy_backends as toys
from lenet_bench import CompareOptions
from lenet_bench.network import STAGES
from lenet_bench.questions.why import why
from lenet_bench.results.breakdown import AFTER, DISPATCH
from lenet_bench.results.statistics import FEWEST_STARTS

ELSEWHERE = 0.5  # of the delay: how far another part may move
LOOSE = 0.02  # of the delay: a clock is read before and after it
TRIES = 8  # whole runs: a busy machine may move a part as much as a delay does

#: Where each toy has its delay, and how often in a call. One that comes after a network is in the
#: part that has it, and is said to be of that kind beside the parts.
DELAYED = {
    toys.SlowPython: (("Python",), 1),
    toys.SlowHandOver: (("hand-over",), 1),
    toys.SlowNode: ((DISPATCH,), len(STAGES)),
    toys.SlowStage: (("conv2",), 1),
    toys.SlowAfter: (("Python", AFTER), 1),
}


@pytest.fixture(scope="module")
def unlike():
    """Of each toy what was not as it must be, or None where a run found all as it must be."""
    found: dict[type[toys.Toy], object] = dict.fromkeys(DELAYED, "not measured")
    for _ in range(TRIES):
        left = [toy for toy in DELAYED if found[toy]]
        entries = tuple(map(toys.entry, (toys.Toy, *left)))
        run = why(CompareOptions(entries, rounds=FEWEST_STARTS))
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
    more = added(parts, toy.__name__)
    names, times = DELAYED[toy]
    delay = times * toys.PLANTED_US
    own = [more.pop(name) for name in names]
    right = all(
        0 < low <= delay * (1 + LOOSE) and high >= delay * (1 - LOOSE) for _, low, high in own
    )
    moved = {name: us for name, (us, _, _) in more.items() if abs(us) >= ELSEWHERE * delay}
    return None if right and not moved else (own, moved)


def added(parts, toy):
    """What each part takes longer than without a delay, and between which bounds."""
    found = {}
    for name, part in parts[toy].items():
        than = parts["Toy"][name]
        found[name] = (part.us - than.us, part.low_us - than.high_us, part.high_us - than.low_us)
    return found


@pytest.mark.slow
@pytest.mark.parametrize("toy", DELAYED, ids=lambda toy: toy.__name__)
def test_a_delay_is_in_its_part_alone(unlike, toy):
    assert unlike[toy] is None

"""`why`: a delay of 20 µs that is planted in one part of a call is found there and nowhere else."""

from pathlib import Path
from typing import Any

import pytest
import toy_backends as toys
from lenet_bench import CompareOptions
from lenet_bench.questions.why import why
from lenet_bench.results import Part
from lenet_bench.results.apart import AFTER, DISPATCH, STAGES
from lenet_bench.results.statistics import FEWEST_STARTS

ELSEWHERE_US = 5  # that another part may move
LOOSE = 0.02  # of the delay: a clock is read before and after it


@pytest.fixture(scope="module")
def planted(weights_file: Path) -> dict[str, dict[str, Part]]:
    """The parts of each toy."""
    entries = tuple(map(toys.entry, toys.PLANTED))
    found = why(CompareOptions(entries, rounds=FEWEST_STARTS, weights=weights_file))
    return {one.name: {part.name: part for part in one.parts} for one in found}


def added(
    planted: dict[str, dict[str, Part]], toy: str, to: str = "Toy"
) -> dict[str, tuple[float, float, float]]:
    """What each part takes longer, and between which bounds: one's lower less the other's upper."""
    found = {}
    for name, part in planted[toy].items():
        than = planted[to][name]
        low, high = (ends[0] - ends[1] for ends in (_ends(part, than), _ends(than, part)))
        found[name] = (part.us - than.us, low, -high)
    return found


def _ends(one: Part, other: Part) -> tuple[float, float]:
    """Where the one's interval begins, and the other's ends."""
    assert one.low_us is not None
    assert other.high_us is not None
    return one.low_us, other.high_us


@pytest.mark.slow
@pytest.mark.parametrize(
    ("toy", "part", "times"),
    [
        ("SlowPython", "Python", 1),
        ("SlowHandOver", "hand-over", 1),
        ("SlowNode", DISPATCH, len(STAGES)),
        ("SlowStage", "conv2", 1),
        ("SlowAfter", AFTER, 1),
    ],
)
def test_a_delay_is_in_its_part_alone(planted: Any, toy: str, part: str, times: int) -> None:
    found, delay = added(planted, toy), times * toys.PLANTED_US
    _, low, high = found.pop(part)
    assert 0 < low <= delay * (1 + LOOSE)
    assert high >= delay
    assert {name: us for name, (us, _, _) in found.items() if abs(us) >= ELSEWHERE_US} == {}


@pytest.mark.slow
def test_what_a_network_reads_is_in_its_stage_and_what_that_leaves_cold_is_after_it(
    planted: Any,
) -> None:
    found = added(planted, "ReadsMuch", to="Reads")
    (_, reading, _), (cold, _, _) = found.pop("conv2"), found.pop(AFTER)
    assert reading > 0
    assert 0 < cold < reading
    assert {name: us for name, (us, _, _) in found.items() if abs(us) >= ELSEWHERE_US} == {}

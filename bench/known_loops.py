"""What do the known loops tell? From the raw runs of bench/self_test.py.

    python bench/known_loops.py FOLDER > results/studies/known-loops.json

"decide": two identical entries and twenty rounds are drawn, again and again, and judged as
`compare` does, and as without the second loop. "adjust": of each identical pair, how far the
logarithms of the rounds' ratios scatter with each call that counts divided by a power of one of the
loops beside it. Power 0 is what `compare` does.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from lenet_bench.results import Block, Log, as_result, read_log
from lenet_bench.results.read import ratios, settled
from lenet_bench.results.statistics import CONFIDENCE, judge
from lenet_bench.undisturbed import are_quick, quickest
from msgspec import structs, to_builtins
from self_test import PAIRS, same

DRAWS, ROUNDS = 300, 20
LOOPS = ("first-level cache", "shared cache")
POWERS = (0.25, 0.5, 1.0)
ADJUSTED = tuple(product(range(len(LOOPS)), POWERS))


def without_second(block: Block) -> Block:
    return structs.replace(block, slices=tuple(one[:2] for one in block.slices))


def drawn(log: Log, names: Iterable[str], first: int, *, second: bool) -> Log:
    """Two entries in some rounds, without the second loop if asked."""
    one, other = names
    blocks = (
        block if second else without_second(block)
        for block in log.blocks
        if block.backend in (one, other) and first <= block.round < first + ROUNDS
    )
    rules = structs.replace(log.header.rules, baseline=one)
    listed = tuple(row for row in log.header.backends if row.name in (one, other))
    return replace(
        log, header=structs.replace(log.header, rules=rules, backends=listed), blocks=tuple(blocks)
    )


def judged(log: Log, backend: str) -> Iterator[Mapping[str, Any]]:
    """What is said of drawn pairs, with both loops and with the first one."""
    entries = [same(number) for number in range(2 * PAIRS[backend])]
    rounds = 1 + max(block.round for block in log.blocks)
    for second in (False, True):
        random = np.random.default_rng(1)
        said = Counter[str]()
        half = []
        for _ in range(DRAWS):
            names = random.choice(entries, 2, replace=False)
            first = int(random.integers(0, rounds - ROUNDS + 1))
            _, found = ratios(drawn(log, map(str, names), first, second=second), CONFIDENCE)
            for one in found.values():
                said[judge(one, log.header.rules.margin)] += 1
                if one.interval:
                    half.append((one.interval.high - one.interval.low) / 2)
        yield {
            "backend": backend,
            "entries": len(entries),
            "second loop": second,
            "draws": sum(said.values()),
            "same": said["same"],
            "different": said["faster"] + said["slower"],
            "half": float(np.median(half)),
        }


def adjusted(log: Log, counting: Sequence[Block], name: str) -> dict[int, np.ndarray[Any, Any]]:
    """By round the median of the calls that count, plain and with each loop and power."""
    own = [block for block in log.blocks if block.backend == name and block.slices]
    least = [quickest(loops for _, *loops in block.slices) for block in own]
    usual = np.percentile(least, 25, axis=0)  # as results/read.py has it
    found = {}
    for block, settled_one in zip(log.blocks, counting, strict=True):
        if block.backend != name or not settled_one.quiet_share:
            continue
        numbers, loops = [one[0] for one in block.slices], [one[1:] for one in block.slices]
        for decides in (usual, usual[:1]):
            quiet = np.repeat([are_quick(some, decides) for some in loops], numbers)
            calls = np.array(block.samples_ns)[quiet]
            if calls.tolist() == list(settled_one.samples_ns):
                relative = np.repeat(loops, numbers, axis=0)[quiet] / usual
                each = [calls, *(calls / relative[:, at] ** power for at, power in ADJUSTED)]
                found[block.round] = np.log(np.median(each, axis=1))
    return found


def scatter(log: Log, backend: str) -> Iterator[np.ndarray[Any, Any]]:
    """Of each identical pair the scatter of its rounds, plain and with each loop and power."""
    counting = settled(log.blocks, log.header.floor)
    for number in range(PAIRS[backend]):
        one, other = (adjusted(log, counting, same(2 * number + at)) for at in (0, 1))
        differences = [one[at] - other[at] for at in one.keys() & other.keys()]
        yield np.std(differences, axis=0, ddof=1)


def main() -> None:
    folder = Path(sys.argv[1])
    logs = {backend: read_log(folder / f"{backend}.jsonl") for backend in PAIRS}
    plain, *every = np.array([one for name in logs for one in scatter(logs[name], name)]).T
    first = next(iter(logs.values()))
    content = {
        "processor": first.header.machine.processor.model,
        "started": first.header.started,
        "quiet_share": {name: as_result(log).disturbance.quiet_share for name, log in logs.items()},
        "rounds": ROUNDS,
        "decide": [one for name in logs if PAIRS[name] > 1 for one in judged(logs[name], name)],
        "pairs": len(plain),
        "adjust": [  # times the plain scatter: at the median, the least and the most
            {
                "loop": LOOPS[at],
                "power": power,
                "times": [float(np.median(times)), float(times.min()), float(times.max())],
            }
            for (at, power), times in zip(ADJUSTED, (row / plain for row in every), strict=True)
        ],
    }
    print(json.dumps(to_builtins(content), indent=1))


if __name__ == "__main__":
    main()

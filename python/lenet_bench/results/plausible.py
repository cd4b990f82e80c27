"""Checks of a shared result from a stranger: form, texts, sizes, physical limits."""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from itertools import chain, pairwise
from math import inf, prod

import msgspec

from ..errors import LenetBenchError
from ..network import PARAMETERS
from ..networks import NETWORKS
from ..registry import canonical_name, precision, tolerance, without_threads
from ..texts import is_seen, with_texts
from ..weights import default_path
from .log import Log
from .model import SHARED, Block, Header, Listed
from .private import LONGEST, OTHER_WEIGHTS, PROGRAM, is_option, private

_MOST_BLOCKS = 5000
_MOST_TIMES = 64  # times in place of a block's calls
_UNUSUAL = re.compile(r"[<>\n\t]|://")  # markup and links, which no figure needs
_ENDED = ("budget", "rounds")
_FIRST = datetime(2026, 1, 1, tzinfo=timezone.utc)  # nothing was measured before
_SLACK_S = 0.05  # two clocks may disagree by so much
# No core reads more than two cache lines in a cycle, nor has more cycles in a second.
_FASTEST_READ_B_PER_NS = 2 * 64 * 6.5
_FARTHEST = 0.01  # largest difference of answers in float32
_FASTEST_GPU_NS = 1000  # to a GPU and back


def faults(log: Log) -> Iterator[str]:
    """Why it cannot be shared, each as the end of a sentence; empty where it can."""
    yield from _of_the_form(log)
    yield from _of_the_header(log.header)
    texts: dict[str, str] = {}
    lines = msgspec.to_builtins([log.header, *log.blocks, log.end])
    with_texts(lambda text: texts.setdefault(text, text), lines)
    yield from chain.from_iterable(map(_of_a_text, texts))
    yield from _of_the_clocks(log)
    known = {listed.name: listed for listed in log.header.backends}
    for number, block in enumerate(log.blocks, 2):
        listed = known.get(block.backend)
        for fault in (*_of_a_block(block, log.header), *_too_good(block, listed, log.header)):
            yield f"line {number}: {fault}"


def _of_the_form(log: Log) -> Iterator[str]:
    header = log.header
    if header.kind != SHARED:
        yield "it holds every call; `lenet-bench share` writes the file to share"
    if header.rules.placed.arbiter:
        yield f"it is of a model of your own, {header.rules.network}"
    elif header.rules.network not in NETWORKS:
        yield f"no network is called {header.rules.network}"
    if header.rules.apart:
        yield "it is a run of `why`, not of `compare`"
    if log.end is None or log.end.ended not in _ENDED:
        yield "its run was not completed"
    if len(log.blocks) > _MOST_BLOCKS:
        yield f"it has more than {_MOST_BLOCKS} blocks"
    if max((len(block.thinned_ns) for block in log.blocks), default=0) > _MOST_TIMES:
        yield f"a block has more than {_MOST_TIMES} times"
    if not any(block.calls for block in log.blocks if block.backend != header.floor):
        yield "no backend was timed"


def _of_the_header(header: Header) -> Iterator[str]:
    names, rules = [listed.name for listed in header.backends], header.rules
    if len(set(names)) < len(names):
        yield "it lists a backend twice"
    if unknown := [name for name in names if not _is_known(name)]:
        yield f"lenet-bench has no backend {unknown[0]!r}"
    if header.floor != "empty":
        yield "its empty backend has another name"
    if not re.fullmatch(r"\d+\.\d+[\w.+]{0,20}", header.version):
        yield "lenet-bench has no such version"
    try:
        started = datetime.fromisoformat(header.started)
        in_time = _FIRST <= started <= datetime.now(timezone.utc) + timedelta(days=1)
    except (ValueError, TypeError):  # no date, or one without its zone
        in_time = False
    if not in_time:
        yield "it does not say when it was measured"
    if header.argv[:2] != (PROGRAM, "compare") or not all(map(is_option, header.argv[2:])):
        yield "it has a command line; only the names of options are shared"
    if rules.weights not in (default_path().name, OTHER_WEIGHTS):
        yield f"its weights have a name of their own; the shared one is {OTHER_WEIGHTS}"
    logical = header.machine.processor.logical or 1
    if (
        max(map(rules.threads_of, header.backends), default=0) > logical
        or len(rules.worker_cores) > logical
    ):
        yield "it used more threads or cores than the machine has"


def _is_known(name: str) -> bool:
    try:
        return canonical_name(name) == without_threads(name)
    except LenetBenchError:
        return False


def _of_a_text(text: str) -> Iterator[str]:
    if len(text) > LONGEST:
        yield f"a text has more than {LONGEST} characters: {text[:20]!r}..."
    elif _UNUSUAL.search(text) or not all(map(is_seen, text)):
        yield f"a text has markup, a link or control characters: {text[:40]!r}"
    elif named := private(text):
        yield f"a text names a folder, a host or a user, {named!r}: {text[:40]!r}"


def _of_the_clocks(log: Log) -> Iterator[str]:
    """Whether blocks ran one after the other and within the run."""
    elapsed_s = log.end.elapsed_s if log.end else 0.0
    timed_s = sum(block.wall_ns for block in log.blocks) / 1e9
    last_s = max((block.at_s + block.took_s for block in log.blocks), default=0.0)
    if max(timed_s, last_s) > elapsed_s + _SLACK_S:
        yield "its blocks took longer than the run"
    following = sorted(log.blocks, key=lambda block: block.at_s)
    if any(a.at_s + a.took_s > b.at_s + _SLACK_S for a, b in pairwise(following)):
        yield "two of its blocks ran at once"


def _of_a_block(block: Block, header: Header) -> Iterator[str]:
    cpu = header.machine.processor
    wall_s = block.wall_ns / 1e9
    if sum(ns * count for ns, count in block.thinned_ns) > block.wall_ns:
        yield "its calls took longer than its timed span"
    if block.cpu_ns / 1e9 > (wall_s + _SLACK_S) * 1.1 * (cpu.logical or 1):
        yield "it used more CPU time than the machine has"
    cold_s = block.cold_start.total_s if block.cold_start else 0.0
    if max(wall_s, cold_s) > block.took_s + _SLACK_S:
        yield "its timed span is longer than its block"
    memory = header.machine.memory_bytes
    if memory and (block.peak_rss_mib or 0) > memory / 2**20:
        yield "it used more memory than the machine has"


def _too_good(block: Block, listed: Listed | None, header: Header) -> Iterator[str]:
    """Wrong answers, and calls too short to read the weights."""
    if listed is None:  # the empty backend
        return
    if listed.tolerance is None or listed.tolerance > max(_FARTHEST, tolerance(listed.name)):
        yield "its tolerance is too large"
    elif block.status == "ok" and (block.difference or 0.0) > listed.tolerance:
        yield "it was timed although its answers are wrong"
    calls = [block.thinned_ns, *(batch.thinned_ns for batch in block.batches)]
    threads = header.rules.threads_of(listed) or header.machine.processor.logical or 1
    if min((times[0][0] for times in calls if times), default=inf) < _least_ns(listed, threads):
        yield f"{listed.name} took less time than reading its weights takes"


def _least_ns(listed: Listed, threads: int) -> float:
    if listed.device == "gpu":
        return _FASTEST_GPU_NS
    bits = int(re.sub(r"\D", "", precision(listed.name)) or 32)
    weights = sum(map(prod, PARAMETERS.values())) * bits / 8
    return weights / (_FASTEST_READ_B_PER_NS * threads)

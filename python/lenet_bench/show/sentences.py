"""The names, the groups and the sentences that all forms of a result share."""

from __future__ import annotations  # `infer` starts sooner without the results

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from .. import registry, units
from ..errors import LenetBenchError
from ..network import LENET
from ..texts import listed
from ..units import counted

if TYPE_CHECKING:
    from ..results import BackendResult, Breakdown, Result, Rules
    from ..results.machine import Machine

_OTHERS = "others"
#: From our own C++ to Keras.
FAMILIES = (*registry.FAMILIES, _OTHERS)
SHORT_LIST = 15  # rows
IN_LESS = "Variants that compute in less than float32:"
NONE_TIMED = "No backend could be timed."


def processor(machine: Machine) -> str:
    return machine.processor.model or "unknown processor"


def family(name: str) -> str:
    """The family of a backend or a variant: Keras of keras-jax:call."""
    try:
        return registry.find(name)[0].family
    except LenetBenchError:  # of another version, or of a test's own
        return _OTHERS


def backend_of(name: str) -> str:
    """The backend without its variant, on its device: torch@gpu of torch:compile@gpu."""
    return re.sub(":[^@]*", "", registry.without_threads(name))


def missing(names: Iterable[str]) -> str | None:
    """A sentence that names the backends that do not run here, without their variants."""
    apis = list(dict.fromkeys(map(backend_of, names)))
    if not apis:
        return None
    return f"not available here: {', '.join(apis)}; `lenet-bench doctor` says how to install them"


def conditions(result: Result) -> str:
    """What was measured, on which machine and how long."""
    rules = result.rules
    cores = units.named_cores(rules.worker_cores) or "any core"
    pause = f", {units.span(rules.interval_s)} apart" if rules.interval_s else ""
    anew = all(len(row.cold_starts) >= result.rounds for row in timed(result))
    rounds = counted(result.rounds, "shuffled round")
    cold = f", caches cold (a pass over {rules.cold_mb} MB before it)" if rules.cold_mb else ""
    warm = f", called for {units.span(rules.keep_warm_s)} before" if rules.keep_warm_s else ""
    busy = f" beside {counted(rules.beside, 'busy program')}" if rules.beside else ""
    unit = "core" if rules.quota == 1 else "cores"
    quota = f" with a quota of {rules.quota:g} {unit}" if rules.quota else ""
    gpu = next((f" with {row.gpu.name}" for row in timed(result) if row.gpu), "")
    each = ", every backend in a new process each time" if anew else ""
    return (
        f"{_network(rules)}{pause}{warm}{cold}; "
        f"{threads(result)}{busy}{quota} on {cores} of {processor(result.machine)}{gpu}; "
        f"{rounds}{each}{_starts(result)}, in {result.elapsed_s:.0f} s"
    )


def _starts(result: Result) -> str:
    """How often backends started, where that is not once a round."""
    starts = sorted({row.summary.starts for row in timed(result) if row.summary})
    if not starts or starts == [result.rounds]:
        return ""
    least = f"{starts[0]} to " if len(starts) > 1 else ""
    return f", {least}{counted(starts[-1], 'start')} of a backend"


def threads(result: Result) -> str:
    """How many each backend may use."""
    numbers = list(dict.fromkeys(map(result.rules.threads_of, result.backends)))
    if len(numbers) > 1:
        return f"{listed([str(number or 'default') for number in numbers])} threads"
    return counted(numbers[0], "thread") if any(numbers) else "the API's default threads"


def _network(rules: Rules) -> str:
    if rules.network == LENET:
        return "One image per call"
    if rules.placed.arbiter:
        inputs = ", ".join(f"{name} {form}" for name, form in rules.placed.inputs.items())
        many = rules.placed.parameters
        size = f", {counted(many, 'parameter')}" if many is not None else ""
        return f"{rules.network} of {inputs}{size}; answers compared with {rules.placed.arbiter}"
    return f"{rules.network} in LeNet's place, one input per call"


def footnote(result: Result) -> str:
    """How to read the table's figures."""
    floor = result.floor.p50_us
    notes = ["p50: the median call"]
    if result.rules.interval_s:
        notes.append("p99: 99 % of the calls are faster")
    if result.rules.quota:
        notes.append("mean: of all calls, with the stops in them")
        notes.append("stopped: of periods of 100 ms, those in which the quota was used up")
    if result.baseline:
        notes.append(f"paired ratio: to {result.baseline} in the same rounds, above 1 is slower")
    notes.append(f"same: within {units.percent(result.rules.margin)}")
    if floor is not None:
        notes.append(f"an empty call takes {units.time(floor)}")
    return "; ".join(notes)


def without_median(result: Result) -> str | None:
    """The backends that made too few calls for a median, so that they have no ratio either."""
    few = [
        f"{row.name} ({counted(row.summary.samples, 'call')})"
        for row in timed(result)
        if row.summary and row.summary.p50_us is None
    ]
    if not few:
        return None
    return f"too few calls for a median: {', '.join(few)}; give a longer --budget"


def tolerant(result: Result) -> str | None:
    """The float32 backends that may differ from the reference by more than most others."""
    least = min([result.strictest, *([registry.FLOAT32] if result.rules.network == LENET else ())])
    wide = [
        f"{row.name} by {row.tolerance:.0e} (it differs by {row.difference:.1e})"
        for row in timed(result)
        if registry.precision(row.name) == "float32"
        and row.difference is not None
        and (row.tolerance or 0.0) > least
    ]
    if not wide:
        return None
    return f"may differ from the reference by more than {least:.0e}: {', '.join(wide)}"


def timed(result: Result) -> list[BackendResult]:
    """The backends of the tables, the fastest first."""
    rows = [row for row in result.backends if row.status == "ok" and row.summary]
    return sorted(rows, key=lambda row: row.p50_us or float("inf"))


def failed(
    rows: Iterable[BackendResult | Breakdown], named: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Why backends failed, with a style each; one that cannot run here counts only if named."""
    for row in rows:
        if row.status not in ("ok", "unmeasured") and not _is_missing(row, named):
            style = "dim" if row.status in ("unavailable", "unsupported") else "red"
            yield f"{row.name}: {row.status}: {row.reason}", style


def left_out(rows: Iterable[BackendResult | Breakdown]) -> str | None:
    """The backends that were not measured before the run ended."""
    names = [row.name for row in rows if row.status == "unmeasured"]
    return f"not measured before the run ended: {', '.join(names)}" if names else None


def absent(rows: Iterable[BackendResult | Breakdown], named: Sequence[str]) -> str | None:
    """The backends that cannot run here and were not named."""
    return missing(row.name for row in rows if _is_missing(row, named))


def _is_missing(row: BackendResult | Breakdown, named: Sequence[str]) -> bool:
    return row.status == "unavailable" and row.name not in named

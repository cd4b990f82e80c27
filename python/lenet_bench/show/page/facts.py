"""The machine, its software and the rules: a row for each fact, a column for each result."""

from collections.abc import Sequence

from ... import units
from ..figures.rows import Run
from ..machine import hardware_facts, software_facts

Facts = dict[str, str]
Table = tuple[str, list[tuple[str, list[str]]]]  # its title; each fact with a cell a result


def facts(runs: Sequence[Run]) -> list[Table]:
    """Three tables."""
    return [
        _table("Machine", [_machine(run) for run in runs]),
        _table("Software", [_software(run) for run in runs]),
        _table("Rules", [_rules(run) for run in runs]),
    ]


def _table(title: str, columns: Sequence[Facts]) -> Table:
    names = dict.fromkeys(name for column in columns for name in column)
    return title, [(name, [column.get(name, units.NONE) for column in columns]) for name in names]


def _machine(run: Run) -> Facts:
    seen = run.result.disturbance
    found = hardware_facts(run.result.machine) | {
        "taken by the hypervisor": units.percent(seen.steal_share),
        "used by other processes": units.percent(seen.other_share),
        "quiet": units.percent(seen.quiet_share),
        "disturbed blocks": f"{seen.disturbed} of {seen.blocks}, {seen.repeated} measured again",
    }
    if seen.mhz_low and seen.mhz_high:
        found["clock while timed"] = f"{seen.mhz_low:.0f} to {seen.mhz_high:.0f} MHz"
    if gpus := {one.gpu.name for one in run.result.backends if one.gpu}:
        found["GPU"] = ", ".join(sorted(gpus))
    return found


def _software(run: Run) -> Facts:
    machine = run.result.machine
    return (
        software_facts(machine)
        | dict(machine.software.packages)
        | {"lenet-bench": run.result.version}
    )


def _rules(run: Run) -> Facts:
    result, rules = run.result, run.result.rules
    found = {
        "started": result.started,
        "took": units.seconds(result.elapsed_s),
        "ended by": result.ended,
        "command": " ".join(["lenet-bench", *result.argv[1:]]),
        "seed": str(rules.seed),
        "rounds": str(result.rounds),
        "baseline": result.baseline or units.NONE,
        "same means within": units.percent(rules.margin),
        "confidence": units.percent(rules.confidence),
        "threads": str(rules.threads),
        "cores of the backends": ", ".join(map(str, rules.worker_cores)) or "not pinned",
        "cores of the harness": ", ".join(map(str, rules.parent_cores)) or "not pinned",
        "images in turn": str(rules.images),
        "weights, sha256": rules.weights_sha256,
    }
    if rules.interval_s:
        found["idle before each call"] = units.span(rules.interval_s)
    if rules.cold_mb:
        found["read before each call (cold caches)"] = f"{rules.cold_mb} MB"
    return found | dict(rules.variables)

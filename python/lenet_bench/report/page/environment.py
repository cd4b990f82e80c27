"""The machine, the versions and the rules, run beside run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...numerals import counted
from .. import units
from ..markup import Markup, element, join
from ..measured import Measured, Run
from ..numbers import spell_span

_Facts = dict[str, str]


def environment(measured: Measured) -> Markup:
    """A table for machines, software and rules: a row a fact, a column a run."""
    groups = {"Machine": _machine, "Software": _software, "Rules": _rules}
    told = []
    for title, facts_of in groups.items():
        columns = [facts_of(run) for run in measured.runs]
        names = list(dict.fromkeys(name for facts in columns for name in facts))
        rows = [
            element(
                "tr",
                element("th", name, scope="row"),
                *(element("td", facts.get(name, units.NONE)) for facts in columns),
            )
            for name in names
        ]
        heads = [element("td")]
        heads += [element("th", run.label, scope="col") for run in measured.runs]
        drawn = element(
            "table",
            element("caption", title),
            element("thead", element("tr", *heads)),
            element("tbody", *rows),
            class_="facts",
        )
        told.append(
            element("div", drawn, class_="scroll", tabindex="0", role="region", aria_label=title)
        )
    return join(told)


def _machine(run: Run) -> _Facts:
    machine, seen = run.result.machine, run.result.disturbance
    cpu = _part(machine, "processor")
    caches = [
        f"L{cache.get('level')} {cache.get('kind')} {_size(cache.get('bytes'))}"
        for cache in _listed(cpu.get("caches"))
        if isinstance(cache, Mapping)
    ]
    facts = {
        "processor": _told(cpu.get("model")),
        "architecture": _told(cpu.get("architecture")),
        "cores": _told(cpu.get("cores")),
        "logical CPUs": _told(cpu.get("logical")),
        "virtual": _yes_or_no(cpu.get("virtual")),
        "instruction sets": ", ".join(map(str, _listed(cpu.get("isa")))) or units.NONE,
        "caches": ", ".join(caches) or units.NONE,
        "memory": _size(machine.get("memory_bytes")),
        "governor": _told(cpu.get("governor")),
        "turbo": _yes_or_no(cpu.get("turbo")),
        "time is read from": _told(cpu.get("time_from")),
        "transparent huge pages": _told(cpu.get("huge_pages")),
        "load before": _told(seen.load_before and round(seen.load_before, 2)),
        "taken by the hypervisor": units.share(seen.steal_share),
        "used by other processes": units.share(seen.other_share),
    }
    if seen.mhz_low and seen.mhz_high:
        facts["clock while timed"] = f"{seen.mhz_low:.0f} to {seen.mhz_high:.0f} MHz"
    gpus = {rung.gpu.name for rung in run.result.rungs if rung.gpu}
    if gpus:
        facts["GPU"] = ", ".join(sorted(gpus))
    return facts


def _software(run: Run) -> _Facts:
    software = _part(run.result.machine, "software")
    packages = software.get("packages")
    facts = {
        "lenet-bench": run.result.version,
        "system": _told(software.get("distribution") or software.get("system")),
        "kernel": _told(software.get("kernel")),
        "C library": _told(software.get("libc")),
        "Python": _told(software.get("python")),
    }
    if isinstance(packages, Mapping):
        facts |= {str(n): str(v) for n, v in packages.items() if n != "lenet-bench"}
    return facts


def _rules(run: Run) -> _Facts:
    result, rules = run.result, run.result.rules
    anew = f"{rules.rounds_a_start} rounds" if rules.rounds_a_start > 1 else "round"
    facts = {
        "started": result.started,
        "took": f"{result.elapsed_s:.1f} s",
        "ended by": result.ended,
        "command": " ".join(["lenet-bench", *result.argv[1:]]),
        **{
            f"taken up again, {one.at[:16].replace('T', ' ')}": "after "
            + counted(one.rounds, "round")
            for one in result.resumed
        },
        "seed": str(rules.seed),
        "rounds": str(len(result.order)),
        "processes anew": f"every {anew}",
        "a turn": f"{spell_span(rules.timed_s)} timed after {spell_span(rules.warm_s)}",
        "baseline": rules.baseline or "the first rung that ran",
        "same means within": units.share(rules.margin),
        "confidence": units.share(rules.confidence),
        "threads": str(rules.threads),
        "rungs' cores": ", ".join(map(str, rules.worker_cores)) or "not pinned",
        "harness's cores": ", ".join(map(str, rules.parent_cores)) or "not pinned",
        "images in turn": str(rules.images),
        "weights, sha256": rules.weights_sha256,
    }
    if rules.interval_s:
        facts["idle before each call"] = spell_span(rules.interval_s)
    return facts | dict(rules.variables)


def _part(machine: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    part = machine.get(name)
    return part if isinstance(part, Mapping) else {}


def _yes_or_no(value: object) -> str:
    return (
        {True: "yes", False: "no"}.get(value, units.NONE) if isinstance(value, bool) else units.NONE
    )


def _listed(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _told(value: object) -> str:
    return units.NONE if value is None or value == "" else str(value)


def _size(count: object) -> str:
    if not isinstance(count, (int, float)) or isinstance(count, bool):
        return units.NONE
    size, names = float(count), iter(("B", "KiB", "MiB", "GiB", "TiB"))
    name = next(names)
    while size >= 1024 and name != "TiB":
        size, name = size / 1024, next(names)
    return f"{size:.3g} {name}"

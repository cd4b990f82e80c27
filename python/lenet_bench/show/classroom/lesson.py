"""The classroom page's data from a result: times, parts and code."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby, pairwise, zip_longest
from typing import Any

import numpy as np

from ...cost import Source, api_names, lines_of_code, sources
from ...errors import LenetBenchError, ResultError
from ...experiment_names import ENTERING, HANDING_OVER, MATHEMATICS, NETWORK, PREPARING
from ...network import LENET
from ...questions.cost import STAGES, staged
from ...registry import find
from ...results import Result
from ...results.breakdown import (
    UNEXPLAINED,
    Part,
    breakdowns,
    kind,
)
from ..figures.records import Record, Run, as_run, named
from ..figures.story import story
from ..sentences import FAMILIES, conditions
from .learnt import learnt
from .names import called
from .networks import networks

_QUANTILES = np.linspace(0.025, 0.975, 39)  # of a backend's calls: the race draws one of them


def lesson(results: Sequence[tuple[str, Result]]) -> dict[str, Any]:
    """The backends of LeNet's first result; its others may add the parts of a call."""
    of_lenet = [as_run(*one) for one in results if one[1].rules.network == LENET]
    if not of_lenet:
        source, other = results[0]
        raise ResultError(f"{source}: is of the network {other.rules.network}, not of LeNet")
    run = of_lenet[0]
    rows = [*run.rows, *run.reduced]
    if not rows:
        raise ResultError(f"{run.source}: no backend was timed, so a race is impossible")
    listings: dict[tuple[Source, ...], int] = {}
    parts = _ours(run) | _parts(of_lenet)
    slowest_first = run.rows[::-1]
    apart_last = sorted(slowest_first, key=lambda row: row["name"] in parts)
    fastest = {row["family"]: row["name"] for row in apart_last}
    in_story = [row["name"] for row in story(run)]
    backends = [_backend(row, run, listings) | parts.get(row["name"], {}) for row in rows]
    for one in backends[len(run.rows) :]:
        one["human"] += " (fewer bits)"
    return {
        "machine": run.label,
        "conditions": conditions(run.result),
        "measured": run.result.started[:10],
        "warnings": [f"{one[:1].upper()}{one[1:]}." for one in run.result.warnings],
        "stages": list(STAGES),
        "backends": sorted(backends, key=lambda one: one["us"]),
        "story": in_story,
        "racing": sorted({*in_story, *fastest.values()}),
        "listings": [_listing(group) for group in listings],
        "learnt": learnt(),
        "networks": networks([result for _, result in results]),
    }


def _parts(runs: Sequence[Run]) -> dict[str, dict[str, Any]]:
    """By backend, the shares of its parts, and the machine that they were measured on."""
    return {
        named(one): {"parts": _shares(one.parts), "apart_on": run.label}
        for run in runs
        for one in breakdowns(run.result)
        if one.parts
    }


def _ours(run: Run) -> dict[str, dict[str, Any]]:
    """Our own kernels' calls: what an empty call takes hands over, and all else is theirs."""
    empty_us = run.result.floor.p50_us
    if empty_us is None:
        return {}
    entering = Part(ENTERING, empty_us, None, None, "an empty call")
    return {
        row["name"]: {
            "parts": _shares(
                [entering, replace(entering, name=NETWORK, us=row["p50_us"] - empty_us)]
            )
        }
        for row in run.rows
        if row["backend"] == "fused"
    }


def _shares(parts: Sequence[Part]) -> list[dict[str, Any]]:
    """By kind, in the order of the race's bars: its share, and the parts that it is the sum of."""
    all_us, found = sum(part.us for part in parts), []
    for one in (PREPARING, HANDING_OVER, MATHEMATICS, UNEXPLAINED):
        of = [(part.name, round(part.us / all_us, 4)) for part in parts if kind(part.name) == one]
        found.append({"kind": one, "share": round(sum(share for _, share in of), 4), "of": of})
    return found


def _backend(row: Record, run: Run, listings: dict[tuple[Source, ...], int]) -> dict[str, Any]:
    name = row["name"]
    calls = [
        block.calls_ns
        for one in run.result.backends
        if named(one) == name and one.status == "ok"
        for block in one.blocks
    ]
    quantiles = np.quantile(np.concatenate(calls), _QUANTILES)
    rates = row["rates"]
    if 1 in rates:  # timed among batches too, but a call has one time on the page
        rates = rates | {1: 1e6 / row["p50_us"]}
    return {
        "name": name,
        "family": FAMILIES.index(row["family"]),
        "us": row["p50_us"],
        "quantiles": [float(f"{ns / 1000:.4g}") for ns in quantiles],
        "rates": [[size, float(f"{rate:.4g}")] for size, rate in rates.items()],
        **called(name),
        **_code(name, row["lines_of_code"], listings),
    }


def _code(name: str, lines: int | None, listings: dict[tuple[Source, ...], int]) -> dict[str, Any]:
    """The number of lines is the result's, as the time is; the code is that of this version."""
    try:
        backend, written = find(name)[0], tuple(sources(name))
    except (LenetBenchError, OSError):  # of another version, or gone
        return {"lines": lines, "about": "", "listing": None}
    listing = listings.setdefault(written, len(listings))
    about = f"{backend.summary}. Calls {backend.calls}."
    counted = lines_of_code(name) if lines is None else lines
    return {"lines": counted, "about": about, "listing": listing}


def _listing(files: Sequence[Source]) -> list[dict[str, Any]]:
    """The code by stage: each file's lines, with their numbers, in the page's colours.

    An ellipsis stands for lines of other stages between two lines.
    """
    from ..page.code import coloured  # needs the extra

    api = api_names(files)
    every = staged(files)
    after = dict(pairwise(every))
    lines = sorted(every, key=lambda line: STAGES.index(line.stages[0]))
    found = []
    for (stages, file), lines_of_it in groupby(lines, key=lambda line: (line.stages, line.file)):
        some = list(lines_of_it)
        indent = min(len(line.text) - len(line.text.lstrip()) for line in some)
        numbers, texts = [], []
        for line, following in zip_longest(some, some[1:]):
            numbers.append(str(line.number))
            texts.append(line.text[indent:])
            if following and after[line] != following:
                numbers.append("")
                texts.append("…")
        html = str(coloured(file, "\n".join(texts), api))
        found.append({"stages": stages, "file": file, "numbers": numbers, "html": html})
    return found

"""The report: one page that works offline."""

import base64
import os
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from ... import units
from ...errors import ResultError
from ...network import LENET
from ...results import Result
from ...results.breakdown import has_experiments
from ...texts import all_printable, printable
from ..facts import facts
from ..figures import Figure, figures, hero, story
from ..figures.breakdown import axes, first, parts, sentences, stacks
from ..figures.pictures import compiled, library
from ..figures.rows import Run, as_runs, compared, machine, small
from ..sentences import FAMILIES, conditions
from . import table
from .frame import environment, policy, script, stylesheet, write_html

MOST_RESULTS = 4  # that shapes and rows can tell apart


def write_report(results: Mapping[str, Result], path: str | os.PathLike[str]) -> None:
    """One page of results with these names; it works offline."""
    write_html(Path(path), page(gather(list(results.items()))))


def page(runs: Sequence[Run], of_sizes: Sequence[Figure] = ()) -> str:
    html: str = environment().get_template("page.html").render(**_context(runs, of_sizes))
    return printable(html)


def gather(results: Sequence[tuple[str, Result]]) -> list[Run]:
    """Results that can be drawn together; of several networks those of LeNet, else of the first."""
    names = [source for source, _ in results]
    if len(set(names)) < len(names):
        raise ResultError(f"{names[0]}: given twice; give each result once")
    taken = [one for one in results if has_experiments(one[1])]
    timed = [one for one in results if one not in taken]
    networks = [one.rules.network for _, one in timed]
    shown = LENET if LENET in networks else networks[0] if networks else ""
    timed = [one for one in timed if one[1].rules.network == shown]
    if (count := len(timed) + len(taken)) > MOST_RESULTS:
        raise ResultError(
            f"a page compares at most {MOST_RESULTS} results, got {count}; give fewer files"
        )
    found = as_runs(timed or taken)
    if timed and taken:
        found += [replace(run, label=f"{run.label}, taken apart") for run in as_runs(taken)]
    for run in found:
        if not run.rows:
            raise ResultError(
                f"{run.source}: no backend was timed, so there is nothing to draw; to see why: "
                f"lenet-bench report {run.source}"
            )
    return found


def _context(every: Sequence[Run], of_sizes: Sequence[Figure]) -> dict[str, Any]:
    from .code import implementations  # needs packages that come with Jinja

    runs = compared(every)
    machines = {machine(run.result) for run in runs}
    with_breakdowns = [run for run in every if run.breakdowns]
    taken = {f"why-{n}": _taken(run, machines) for n, run in enumerate(with_breakdowns)}
    rows = [row for run in runs for row in run.rows]
    reduced = [row for run in runs for row in run.reduced]
    shown = [row for run in runs for row in story.story(run)]
    wanted = [*of_sizes, *figures(rows)]
    specs = {figure.key: figure.spec for figure in wanted}
    specs |= {key: one["spec"] for key, one in taken.items()} or {"hero": hero(shown)}
    elsewhere = any(one["elsewhere"] for one in taken.values())
    style, code, bundle = stylesheet(), script("page.js", "apart.js"), _bundle()
    return {
        "runs": runs,
        "every": every,
        "taken": taken,
        "title": story.title(runs[0], named=len(runs) > 1 or elsewhere),
        "short": [(run, sentence) for run in every if (sentence := story.too_short(run))],
        "conditions": conditions,
        "sentences": story.sentences,
        "families": [name for name in FAMILIES if any(row["family"] == name for row in rows)],
        "family_number": {name: n for n, name in enumerate(FAMILIES)},
        "figures": wanted,
        "rows": [(row, table.with_rates(row)) for row in rows],
        "reduced": [(row, table.with_rates(row)) for row in reduced],
        "tables": {
            "main": table.known(table.MAIN, rows),
            "reduced": table.known(table.REDUCED, reduced),
            "cold": table.COLD_START,  # tables that have more columns than their figures
            "batches": table.batches(rows),
            "gpu-call": table.GPU,
        },
        "cells": table.cells,
        "implementations": implementations(runs),
        "facts": facts(every),
        "data": all_printable(
            {
                "rows": small(rows, shown),
                "story": shown,
                "taken": {key: one["drawn"] for key, one in taken.items()},
                "specs": {key: compiled(spec) for key, spec in specs.items()},
            }
        ),
        "style": style,
        "script": code,
        "bundle": base64.b64encode(zlib.compress(bundle.encode(), 9)).decode(),
        "policy": policy(style, code, bundle),
    }


def _taken(run: Run, machines: Collection[str]) -> dict[str, Any]:
    """The figure of a run of `why`, and its table: a row for each part, a column for each call."""
    rows, where = parts(run), machine(run.result)
    ends, names = axes(rows), [row["name"] for row in rows if row["last"]]
    axis = first(ends)
    cells = {(row["part"], row["name"]): row["text"] for row in rows}
    return {
        "machine": where,
        "elsewhere": where not in machines,
        "started": run.result.started[:10],
        "spec": stacks(ends[axis]),
        "names": names,
        "times": [units.time(one.median_us) for one in run.breakdowns],
        "table": {
            part: [cells.get((part, name), units.NONE) for name in names]
            for part in dict.fromkeys(row["part"] for row in rows)
        },
        "drawn": {"rows": rows, "axes": ends, "axis": axis, "names": names}
        | {"sentences": sentences(run)},
    }


@cache
def _bundle() -> str:
    """Vega and vega-embed as one script that defines one global name."""
    bundle = library("vl_convert").javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return f"(() => {{{bundle}}})()"

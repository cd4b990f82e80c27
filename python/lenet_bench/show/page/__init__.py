"""The report: one page that works offline."""

import os
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ... import units
from ...atomic import write_file
from ...errors import Misuse, ResultError
from ...network import LENET
from ...results import Result
from ...texts import all_printable, printable
from .. import columns
from ..callers import by_callers, callers
from ..figures import Figure, figures, story
from ..figures.breakdown import axis, parts, sentences, stacks
from ..figures.callers import callers as callers_figure
from ..figures.pictures import compiled, library
from ..figures.records import Run, as_run, small
from ..sentences import FAMILIES, conditions, tolerant, without_median
from ..versions import COLUMNS, said, versions
from .frame import environment, packed, policy, script, stylesheet


def write_report(results: Mapping[str, Result], path: str | os.PathLike[str]) -> None:
    """One page of results with these names; it works offline."""
    if not (isinstance(results, Mapping) and all(isinstance(v, Result) for v in results.values())):
        raise TypeError("expected {name: result, ...}, each as compare or read_result returns it")
    html = page(gather(list(results.items())))
    write_file(Path(path), html.encode(), ResultError)


def page(runs: Sequence[Run], of_sizes: Sequence[Figure] = (), notes: Sequence[str] = ()) -> str:
    """The page of a comparison, of a run of `why`, or of both; with figures of other networks.

    The notes stand below the table of all numbers.
    """
    context = _context(runs, of_sizes)
    notes = [*filter(None, [tolerant(runs[0].result)]), *notes]
    html: str = environment().get_template("page.html").render(**context, notes=notes)
    return printable(html)


def gather(results: Sequence[tuple[str, Result]]) -> list[Run]:
    """What a page shows: a comparison, then a run of `why`; or one of them.

    Of comparisons of several networks that of LeNet, else the first.
    """
    if not results:
        raise Misuse("there is no result to draw")
    runs = sorted((as_run(*one) for one in results), key=lambda run: run.has_experiments)
    networks = [run.result.rules.network for run in runs if not run.has_experiments]
    shown = LENET if LENET in networks else networks[0] if networks else ""
    runs = [run for run in runs if run.has_experiments or run.result.rules.network == shown]
    for run in runs:
        if not run.rows:
            raise ResultError(
                f"{run.source}: no backend was timed, so there is nothing to draw; to see why: "
                f"lenet-bench report {run.source}"
            )
    if len(runs) > len({run.has_experiments for run in runs}):
        raise ResultError(
            "a page shows one comparison and one run of `why`; several comparisons stand side by "
            "side with: lenet-bench machines FILE... -o machines.html"
        )
    return runs


def _context(runs: Sequence[Run], of_sizes: Sequence[Figure]) -> dict[str, Any]:
    from .code import implementations, programs  # needs the extra

    run, why = runs[0], runs[-1]
    shown_code = implementations if run.result.rules.network == LENET else programs
    rows, shown = run.rows, story.story(run)
    timed = {row["family"] for row in (*rows, *run.reduced)}
    shown_of = columns.quantities_of(run.result.rules)
    taken = _taken(why) if why.breakdowns else None
    called, released = callers(run.result), versions(run.result)
    wanted = [*figures(rows, shown, run.taken), *callers_figure(called), *of_sizes]
    specs = {figure.key: figure.spec for figure in wanted}
    specs |= {"why": taken["spec"]} if taken else {}
    style, code, bundle = stylesheet(), script("page.js", "apart.js"), _bundle()
    return {
        "run": run,
        "runs": runs,
        "taken": taken,
        "title": story.title(run),
        "has_verdicts": story.has_verdicts(run),
        "too_few": without_median(run.result),
        "conditions": conditions,
        "sentences": [*story.conclusions(run), *said(released, run.result.rules.margin)],
        "families": [name for name in FAMILIES if name in timed],
        "family_number": {name: n for n, name in enumerate(FAMILIES)},
        "figures": wanted,
        "main": columns.known(shown_of, rows),
        "reduced": columns.known((columns.PRECISION, columns.OFF, *shown_of), run.reduced),
        "batches": columns.by_batch(rows) if run.result.rules.batches else (),
        "callers": (by_callers(called), called) if called else (),
        "versions": (COLUMNS, released) if released else (),
        "implementations": shown_code(run),
        "data": all_printable(
            {
                "rows": small(rows, shown),
                "story": shown,
                "taken": {"why": taken["drawn"]} if taken else {},
                "specs": {key: compiled(spec) for key, spec in specs.items()},
            }
        ),
        "style": style,
        "script": code,
        "bundle": packed(bundle.encode()),
        "policy": policy(style, code, bundle),
    }


def _taken(why: Run) -> dict[str, Any]:
    """The figure of a run of `why`, and its table: a row for each part, a column for each call."""
    rows = parts(why)
    ends, names = axis(rows), [row["name"] for row in rows if row["last"]]
    cells = {(row["part"], row["name"]): row["text"] for row in rows}
    return {
        "where": f"{why.label}, {why.result.started[:10]}",
        "spec": stacks(ends, {row["group"] for row in rows}),
        "names": names,
        "times": [units.time(one.median_us) for one in why.breakdowns],
        "table": {
            part: [cells.get((part, name), units.NONE) for name in names]
            for part in dict.fromkeys(row["part"] for row in rows)
        },
        "drawn": {"rows": rows, "ends": ends, "names": names, "sentences": sentences(why)},
    }


@cache
def _bundle() -> str:
    """Vega and vega-embed as one script that defines one global name."""
    bundle = library("vl_convert").javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return f"(() => {{{bundle}}})()"

"""The report: one page that works offline."""

import base64
import os
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ... import units
from ...errors import ResultError
from ...network import LENET
from ...results import Result
from ...texts import all_printable, printable
from .. import columns
from ..facts import facts
from ..figures import Figure, figures, story
from ..figures.breakdown import axes, first, parts, sentences, stacks
from ..figures.pictures import compiled, library
from ..figures.rows import Run, as_run, small
from ..sentences import FAMILIES, conditions, tolerant, without_median
from .frame import environment, policy, script, stylesheet, write_html


def write_report(results: Mapping[str, Result], path: str | os.PathLike[str]) -> None:
    """One page of results with these names; it works offline."""
    write_html(Path(path), page(gather(list(results.items()))))


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
    from .code import implementations  # needs packages that come with Jinja

    run, why = runs[0], runs[-1]
    rows, shown = run.rows, story.story(run)
    taken = _taken(run, why) if why.breakdowns else None
    wanted = [*figures(rows, shown), *of_sizes]
    specs = {figure.key: figure.spec for figure in wanted}
    specs |= {"why": taken["spec"]} if taken else {}
    style, code, bundle = stylesheet(), script("page.js", "apart.js"), _bundle()
    return {
        "run": run,
        "runs": runs,
        "taken": taken,
        "title": story.title(run, on_machine=len({one.label for one in runs}) > 1),
        "too_short": story.too_short(run),
        "too_few": without_median(run.result),
        "conditions": conditions,
        "sentences": story.sentences(run),
        "families": [name for name in FAMILIES if any(row["family"] == name for row in rows)],
        "family_number": {name: n for n, name in enumerate(FAMILIES)},
        "figures": wanted,
        "main": columns.known(columns.QUANTITIES, rows),
        "reduced": columns.known(columns.REDUCED, run.reduced),
        "implementations": implementations(run),
        "facts": facts(run.result),
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
        "bundle": base64.b64encode(zlib.compress(bundle.encode(), 9)).decode(),
        "policy": policy(style, code, bundle),
    }


def _taken(run: Run, why: Run) -> dict[str, Any]:
    """The figure of a run of `why`, and its table: a row for each part, a column for each call."""
    rows = parts(why)
    ends, names = axes(rows), [row["name"] for row in rows if row["last"]]
    axis = first(ends)
    cells = {(row["part"], row["name"]): row["text"] for row in rows}
    return {
        "where": f"{why.label}, {why.result.started[:10]}",
        "beside": _beside(run, why),
        "spec": stacks(ends[axis]),
        "names": names,
        "times": [units.time(one.median_us) for one in why.breakdowns],
        "table": {
            part: [cells.get((part, name), units.NONE) for name in names]
            for part in dict.fromkeys(row["part"] for row in rows)
        },
        "drawn": {"rows": rows, "axes": ends, "axis": axis, "names": names}
        | {"sentences": sentences(why)},
    }


def _beside(run: Run, why: Run) -> str:
    """That the parts are of another run than the times, with the call that differs most."""
    if run is why:
        return ""
    times = {row["name"]: row["p50_us"] for row in run.rows}
    both = [one for one in why.breakdowns if one.median_us and one.name in times]
    if not both:
        return "This is another run than the rest of the page."
    most = max(both, key=lambda one: abs((one.median_us or 0.0) / times[one.name] - 1))
    return (
        f"This is another run than the rest of the page: {most.name} takes "
        f"{units.time(most.median_us)} in it and {units.time(times[most.name])} in the other."
    )


@cache
def _bundle() -> str:
    """Vega and vega-embed as one script that defines one global name."""
    bundle = library("vl_convert").javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return f"(() => {{{bundle}}})()"

"""The report: one page that holds all it shows, and works without a network."""

import base64
import hashlib
import os
import re
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from ...atomic import write_atomically, writing
from ...errors import ResultError
from ...results import Result
from ...results.versioned import check_place
from ..families import FAMILIES
from ..figures import figures, hero, story
from ..figures.pictures import compiled, library
from ..figures.rows import Run, as_runs, small, writable
from ..figures.vega import FONT, themes
from ..sentences import conditions
from . import table
from .facts import facts

MOST_RESULTS = 4  # that shapes and rows can tell apart


def write_report(results: Mapping[str, Result], path: str | os.PathLike[str]) -> None:
    """One page of some results, by the names that they shall have; it works without a network."""
    write_page(gather(list(results.items())), Path(path))


def write_page(runs: Sequence[Run], path: Path) -> None:
    """The page as a file; a stream such as /dev/stdout gets it."""
    check_place(path)
    content = page(runs)
    with writing(path, ResultError):
        write_atomically(path, content.encode())


def page(runs: Sequence[Run]) -> str:
    """The page of these results."""
    html: str = _environment().get_template("page.html").render(**_context(runs))
    return writable(html)


def gather(results: Sequence[tuple[str, Result]]) -> list[Run]:
    """Results that can be drawn together."""
    names = [source for source, _ in results]
    if len(set(names)) < len(names):
        raise ResultError(f"{names[0]}: given twice; give each result once")
    if len(results) > MOST_RESULTS:
        raise ResultError(
            f"a page compares at most {MOST_RESULTS} results, got {len(results)}; give fewer files"
        )
    found = as_runs(results)
    for run in found:
        if not run.rows:
            raise ResultError(
                f"{run.source}: no backend was timed, so there is nothing to draw; see why with: "
                f"lenet-bench report {run.source}"
            )
    return found


def _context(runs: Sequence[Run]) -> dict[str, Any]:
    library("pygments")
    from .code import implementations  # which imports it

    rows = [row for run in runs for row in run.rows]
    reduced = [row for run in runs for row in run.reduced]
    shown = [row for run in runs for row in story.story(run)]
    wanted = figures(rows)
    specs = {"hero": hero(shown)} | {figure.key: figure.spec for figure in wanted}
    style, script, bundle = _style(), _asset("page.js"), _bundle()
    return {
        "runs": runs,
        "title": story.title(runs[0], named=len(runs) > 1),
        "short": [(run, sentence) for run in runs if (sentence := story.too_short(run))],
        "conditions": conditions,
        "sentences": story.sentences,
        "families": [name for name in FAMILIES if any(row["family"] == name for row in rows)],
        "family_number": {name: n for n, name in enumerate(FAMILIES)},
        "figures": wanted,
        "rows": [(row, table.with_rates(row)) for row in rows],
        "reduced": [(row, table.with_rates(row)) for row in reduced],
        "tables": _tables(rows) | {"reduced": table.known(table.REDUCED, reduced)},
        "cells": table.cells,
        "implementations": implementations(runs),
        "facts": facts(runs),
        "data": {
            "rows": small(rows, shown),
            "story": shown,
            "specs": {key: compiled(spec) for key, spec in specs.items()},
        },
        "style": style,
        "script": script,
        "bundle": base64.b64encode(zlib.compress(bundle.encode(), 9)).decode(),
        "policy": f"default-src 'none'; style-src {_hash(style)}; "
        f"script-src {_hash(script)} {_hash(bundle)}",
    }


def _tables(rows: Sequence[dict[str, Any]]) -> dict[str, Sequence[table.Column]]:
    """The main table's columns, and those of the figures that have more to say than it."""
    return {
        "main": table.known(table.MAIN, rows),
        "cold": table.COLD_START,
        "batches": table.batches(rows),
        "gpu-call": table.GPU,
    }


def _environment() -> Any:
    jinja2 = library("jinja2")
    environment = jinja2.Environment(
        autoescape=True,
        loader=jinja2.FileSystemLoader(Path(__file__).parent),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters["prose"] = _prose
    return environment


def _prose(sentence: str) -> Any:
    """Markup of a sentence: commands and options as code, a number and its unit on one line."""
    from markupsafe import Markup, escape

    text = re.sub(r"(?<=\d) (?=(?:[µm]?s|%|MiB|GiB)\b)", "\u00a0", sentence)
    parts = re.split(r"`([^`]+)`|(--[a-z][a-z-]*(?: \d+\w*)?)", text)
    code = Markup("<code>{}</code>")
    marked = [
        escape(part) if n % 3 == 0 else code.format(part) for n, part in enumerate(parts) if part
    ]
    return Markup("").join(marked)


@cache
def _bundle() -> str:
    """Vega and what embeds it as one script that leaves one name behind."""
    bundle = library("vl_convert").javascript_bundle("window.vegaEmbed = vegaEmbed;")
    return f"(() => {{{bundle}}})()"


def _style() -> str:
    light, dark = themes()
    return (
        f":root{{color-scheme:light;{light}--font:{FONT}}}"
        f'@media(prefers-color-scheme:dark){{:root:not([data-theme="light"])'
        f"{{color-scheme:dark;{dark}}}}}"
        f':root[data-theme="dark"]{{color-scheme:dark;{dark}}}'
        f"@media print{{:root:root:root{{color-scheme:light;{light}}}}}"
        f"{_asset('page.css')}"
    )


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _asset(name: str) -> str:
    return (Path(__file__).parent / name).read_text(encoding="utf-8")

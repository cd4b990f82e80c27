"""The report: one page that holds all it shows, and works without a network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from importlib.resources import files

from ...results import Result
from ..figures.figure import NARROW, WIDE, Figure
from ..figures.of_2018 import KEY as FIRST
from ..figures.palette import figure_style, variables
from ..markup import Markup, element, join
from ..measured import Measured
from ..sentences import conditions
from .environment import environment
from .exhibits import exhibits
from .failures import failures
from .findings import findings
from .table import table
from .warnings import warnings

TITLE = "What an API layer costs"


def page(measured: Measured, drawn: Sequence[Figure]) -> str:
    """The whole page, of what was measured and the figures drawn of it."""
    numbered = list(enumerate(drawn, 1))
    first = [_figure(one, number) for number, one in numbered if one.key == FIRST]
    others = [_figure(one, number) for number, one in numbered if one.key != FIRST]
    sections = [
        _section("findings", "In short", join([findings(measured), *first])),
        _section("warnings", "Before you believe it", warnings(measured)),
        _section("figures", "Figures", join(others)),
        _section("table", "All figures in one table", table(measured)),
        _section("failures", "Rungs without figures", failures(measured)),
        _section("exhibits", "The code", exhibits(measured)),
        _section("environment", "How it was measured", environment(measured)),
    ]
    return "<!doctype html>\n" + _document(measured, [one for one in sections if one], drawn)


def _document(
    measured: Measured, sections: Sequence[tuple[str, str, Markup]], drawn: Sequence[Figure]
) -> Markup:
    style, script = Markup(_style()), Markup(_asset("page.js"))
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy(style, script)),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{TITLE}: {', '.join(run.label for run in measured.runs)}"),
        element("style", style),
    )
    main = element("main", *map(_drawn, sections), id="main")
    body = element(
        "body",
        element("a", "Skip to the content", class_="skip", href="#main"),
        _header(measured),
        element("div", _contents(sections, drawn), main, class_="columns"),
        _footer(measured),
        element("script", script),
    )
    return element("html", head, body, lang="en")


def _header(measured: Measured) -> Markup:
    runs = [
        element("p", element("strong", run.label), f", {_when(run.result)}", class_="run")
        for run in measured.runs
    ]
    switch = element("button", "Theme", id="theme", type="button", hidden=True)
    lead = element(
        "p",
        "One network (LeNet for MNIST), one set of weights, one image, every API layer: how long "
        "a call takes, how much code it takes, and how sure that is.",
        class_="lead",
    )
    return element("header", switch, element("h1", TITLE), lead, *runs)


def _when(result: Result) -> str:
    return f"{result.started[:16].replace('T', ' ')} UTC. {conditions(result)}."


def _contents(sections: Sequence[tuple[str, str, Markup]], drawn: Sequence[Figure]) -> Markup:
    items = []
    for key, title, _ in sections:
        inner = None
        if key == "figures":
            links = [element("li", element("a", f.title, href=f"#{f.key}")) for f in drawn]
            inner = element("ol", *links)
        items.append(element("li", element("a", title, href=f"#{key}"), inner))
    return element("nav", element("ul", *items), aria_label="Contents")


def _section(key: str, title: str, content: Markup) -> tuple[str, str, Markup] | None:
    return (key, title, content) if content else None


def _drawn(section: tuple[str, str, Markup]) -> Markup:
    key, title, content = section
    heading = element("h2", title, id=f"{key}-title")
    return element("section", heading, content, id=key, aria_labelledby=f"{key}-title")


def _figure(figure: Figure, number: int) -> Markup:
    """Drawn for a desk and for a phone, with its figures in words and as a table."""
    label = f"{figure.title}. {figure.says}"
    drawings = [
        element("div", _named(drawing, label), class_=name)
        for name, drawing in (
            ("wide", figure.draw(WIDE)),
            ("narrow", _without_tips(figure.draw(NARROW))),
        )
    ]
    return element(
        "figure",
        element(
            "figcaption",
            element("h3", element("span", f"Figure {number}", class_="number"), f" {figure.title}"),
            element("p", figure.caption),
        ),
        *drawings,
        element(
            "details",
            element(
                "summary",
                "Show the data",
                element("span", f" of {figure.title}", class_="unseen"),
            ),
            element("p", figure.says),
            _plain_table(figure),
        ),
        id=figure.key,
    )


def _without_tips(drawing: Markup) -> Markup:
    """A finger does not hover, and a twentieth of the page is saved."""
    return Markup(re.sub(r"<title>[^<]*</title>", "", drawing))


def _named(drawing: Markup, label: str) -> Markup:
    return Markup(drawing.replace("<svg", f'<svg role="img" {_attribute(label)}', 1))


def _attribute(label: str) -> str:
    return str(element("p", aria_label=label))[3:-5]


def _plain_table(figure: Figure) -> Markup:
    head = element("tr", *(element("th", name, scope="col") for name in figure.columns))
    rows = [
        element("tr", element("th", row[0], scope="row"), *(element("td", c) for c in row[1:]))
        for row in figure.rows
    ]
    drawn = element(
        "table",
        element("caption", figure.title),
        element("thead", head),
        element("tbody", *rows),
    )
    return element(
        "div", drawn, class_="scroll", tabindex="0", role="region", aria_label=figure.title
    )


def _footer(measured: Measured) -> Markup:
    versions = ", ".join(sorted({run.result.version for run in measured.runs}))
    sources = ", ".join(run.source for run in measured.runs)
    return element(
        "footer",
        element(
            "p",
            f"Drawn by lenet-bench from {sources} (measured with version {versions}); nothing was "
            "measured for this page. Every sample is in the result file.",
        ),
    )


def _style() -> str:
    light, dark = variables(False), variables(True)
    return (
        f":root{{color-scheme:light;{light}}}"
        f'@media(prefers-color-scheme:dark){{:root:not([data-theme="light"]){{color-scheme:dark;'
        f"{dark}}}}}"
        f':root[data-theme="dark"]{{color-scheme:dark;{dark}}}'
        f"@media print{{:root:root:root{{color-scheme:light;{light}}}}}"
        f"{figure_style('figure svg')}{_asset('page.css')}"
    )


def _policy(style: str, script: str) -> str:
    """Nothing is fetched, and no other script or style than the page's own is obeyed."""
    return f"default-src 'none'; style-src {_hash(style)}; script-src {_hash(script)}"


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return f"'sha256-{digest}'"


def _asset(name: str) -> str:
    return files(__name__).joinpath(name).read_text(encoding="utf-8")

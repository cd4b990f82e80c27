"""docs/tables.html: the tables that are too long for prose, from tables.md with blocks drawn."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from itertools import pairwise
from pathlib import Path

import jinja2
from lenet_bench.show.page.frame import policy, stylesheet
from markdown_it import MarkdownIt
from markdown_it.token import Token

_TEMPLATE = Path(__file__).with_name("tables.html")
_STYLE = (
    "nav p{margin:.6rem 0 0}nav ul{border:0;margin:0;padding:0}"
    "td.text+td.text,td:last-child.text{white-space:normal;min-width:24rem}"
)
_MARKDOWN = MarkdownIt().enable("table")


@dataclass(frozen=True)
class Section:
    """A heading of the second level, and all below it."""

    id: str
    title: str
    parts: list[tuple[str, str]]  # id and title of each heading of the third level
    html: str


def tables_page(text: str) -> str:
    """The page of this Markdown."""
    tokens = _MARKDOWN.parse(text)
    starts = [n for n, one in enumerate(tokens) if one.type == "heading_open" and one.tag == "h2"]
    sections = [_section(tokens[a:b]) for a, b in pairwise([*starts, len(tokens)])]
    template = jinja2.Template(
        _TEMPLATE.read_text(), autoescape=True, trim_blocks=True, undefined=jinja2.StrictUndefined
    )
    style, header = stylesheet() + _STYLE, _html(tokens[: starts[0]])
    return template.render(sections=sections, header=header, style=style, policy=policy(style))


def _section(tokens: Sequence[Token]) -> Section:
    title = tokens[1].content
    name = _slug(title.partition(":")[0])
    parts = []
    for opening, inside in pairwise(tokens):
        if opening.type == "heading_open" and opening.tag == "h3":
            opening.attrSet("id", f"{name}-{_slug(inside.content)}")
            parts.append((f"{name}-{_slug(inside.content)}", inside.content))
    tokens[0].attrSet("id", name)
    return Section(name, title, parts, _html(tokens, name))


def _html(tokens: Sequence[Token], section: str = "") -> str:
    """Their markup, without inline styles, which the page's policy forbids."""
    found, title = [], ""
    for before, token in pairwise([Token("", "", 0), *tokens]):
        if before.type == "heading_open":
            title = token.content
        if token.type in ("th_open", "td_open") and not token.attrs.pop("style", None):
            token.attrSet("class", "text")
        if token.type == "table_open":  # a wide one scrolls by itself
            label = escape(f"{section}: {title}")
            region = f'<div class="scroll" tabindex="0" role="region" aria-label="{label}">'
            found.append(Token("html_block", "", 0, content=region))
        found.append(token)
        if token.type == "table_close":
            found.append(Token("html_block", "", 0, content="</div>\n"))
    return str(_MARKDOWN.renderer.render(found, _MARKDOWN.options, {}))


def _slug(title: str) -> str:
    return re.sub(r"[^\w]+", "-", title.lower()).strip("-")

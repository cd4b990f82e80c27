"""HTML and SVG as strings that cannot be broken by what is put into them.

Whatever is not Markup is escaped, so a rung's name or an error's text is never more than text.
"""

from __future__ import annotations

import re
from html import escape as _escape

#: Elements that hold nothing; in HTML all others need their end.
_EMPTY = frozenset(
    ["br", "circle", "col", "input", "line", "meta", "path", "polygon", "rect", "wbr"]
)
#: What XML cannot hold, and halves of characters, which UTF-8 cannot.
_UNSPEAKABLE = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")


class Markup(str):
    """Text that already is HTML or SVG."""

    __slots__ = ()


def escape(text: str) -> Markup:
    """The text as it reads; Markup as it is."""
    return text if isinstance(text, Markup) else Markup(_escape(_UNSPEAKABLE.sub("�", text)))


def element(name: str, /, *children: str | None, **attributes: object) -> Markup:
    """`element("td", "a < b", class_="left")`; None among children and attributes is passed over.

    An attribute is spelled with _ for -, and with one at its end where Python has the word.
    """
    begin = f"<{name}{''.join(map(_attribute, attributes, attributes.values()))}"
    if name in _EMPTY:
        return Markup(f"{begin}/>")
    return Markup(f"{begin}>{join(children)}</{name}>")


def join(parts: object) -> Markup:
    """Parts one after the other, each escaped where it must be."""
    assert not isinstance(parts, str)
    return Markup("".join(escape(part) for part in parts if part is not None))  # type: ignore[attr-defined]


def _attribute(name: str, value: object) -> str:
    if value is None or value is False:
        return ""
    name = name.rstrip("_").replace("_", "-")
    if isinstance(value, float):
        value = f"{value:.1f}".removesuffix(".0")
    return f' {name}=""' if value is True else f' {name}="{escape(str(value))}"'

"""A figure: how it is drawn at a width, what it says in words, and its figures as a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..markup import Markup

WIDE = 840.0  # in a page on a desk, on paper, on a slide
NARROW = 328.0  # on a phone


@dataclass(frozen=True)
class Figure:
    """One of the report's."""

    key: str  # its file and its place in the page
    title: str
    caption: str  # how it is read
    says: str  # what it shows, for those who do not see it
    draw: Callable[[float], Markup]  # at a width
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

"""The drawing vocabulary: text, lines and marks at coordinates, and how wide a text will be."""

from __future__ import annotations

from collections.abc import Iterable

from ..markup import Markup, element, join

LINE = 16.0  # from one line of text to the next
_SIZE = 12.0
_EM = {  # of the widest common font, DejaVu Sans; others leave more room
    **dict.fromkeys("ijlI|'!", 0.3),
    **dict.fromkeys(" .,:;()[]-/tfr", 0.4),
    **dict.fromkeys("mwMW%@…→", 0.98),
}
_SHAPES = 4


def text_width(text: str) -> float:
    """No less than what the text takes."""
    return _SIZE * sum(_EM.get(c, 0.65 if c < "⁀" else 1.05) for c in text)


def fit(text: str, width: float) -> str:
    """The text within that width, its end cut off."""
    if text_width(text) <= width:
        return text
    while text and text_width(text + "…") > width:
        text = text[:-1]
    return text + "…"


def label(x: float, y: float, text: str, style: str = "") -> Markup:
    """Text whose middle is at the height y; style: end, middle, soft, small, strong."""
    return element("text", text, x=x, y=y + 4.2, class_=style or None)


def line(x1: float, y1: float, x2: float, y2: float, style: str) -> Markup:
    """A straight one."""
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=style)


def bar(x: float, y: float, width: float, height: float, style: str) -> Markup:
    """A filled rectangle; never so thin that it is not seen."""
    return element("rect", x=x, y=y, width=max(width, 0.8), height=height, class_=style)


def path(points: Iterable[tuple[float, float]], style: str, *, closed: bool = False) -> Markup:
    """A line through the points."""
    steps, (x, y) = [], (0, 0)
    for point in points:  # in tenths, each from the last: half as long as written out
        to_x, to_y = round(10 * point[0]), round(10 * point[1])
        steps.append(f"{_tenths(to_x - x)}{' ' * (to_y >= y)}{_tenths(to_y - y)}")
        x, y = to_x, to_y
    return element("path", d=f"m{'l'.join(steps)}{'z' * closed}", class_=style)


def _tenths(count: int) -> str:
    return f"{count / 10:g}"


def mark(x: float, y: float, number: int, size: float = 5) -> Markup:
    """The mark of a series: its shape and its colour."""
    return shape(x, y, number, f"dot series-{number}", size)


def shape(x: float, y: float, number: int, style: str, size: float = 5) -> Markup:
    """A circle, square, diamond or triangle around a point."""
    kind = number % _SHAPES
    if kind == 0:
        return element("circle", cx=x, cy=y, r=size, class_=style)
    if kind == 1:
        side = size * 0.9
        return element(
            "rect", x=x - side, y=y - side, width=2 * side, height=2 * side, class_=style
        )
    reach = size * 1.25
    corners = [(x, y - reach), (x + reach, y), (x, y + reach), (x - reach, y)]
    if kind == 3:
        corners = [(x, y - reach), (x + reach, y + size), (x - reach, y + size)]
    return element("polygon", points=" ".join(f"{a:.1f},{b:.1f}" for a, b in corners), class_=style)


def tipped(tip: str, *marks: Markup) -> Markup:
    """Marks that tell more when pointed at."""
    return element("g", element("title", tip), *marks, class_="mark")


def drawing(width: float, height: float, parts: Iterable[Markup]) -> Markup:
    """The whole of a figure."""
    return element(
        "svg",
        join(parts),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=width,
        height=round(height),
    )

"""Figures as files, for slides and papers: SVG, and PNG where there is something to draw it."""

from __future__ import annotations

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from PIL import Image

from ...atomic import write_atomically, writing
from ...errors import ResultError, Unavailable
from ..markup import Markup, element
from .figure import WIDE, Figure
from .palette import file_style
from .svg import drawing, label

_ENLARGED = 3  # 2520 dots a figure's width: a slide's, and 15 cm of print at 400 a inch
_MARGIN = 16


def write_figures(folder: Path, figures: Sequence[Figure]) -> list[Path]:
    """Write each as SVG and as PNG; Unavailable where only the PNGs could not be drawn."""
    drawn = {figure.key: standalone(figure) for figure in figures}
    written = [_write(folder / f"{key}.svg", svg.encode()) for key, svg in drawn.items()]
    try:
        rasters = {key: raster(svg) for key, svg in drawn.items()}
    except Unavailable as error:
        raise Unavailable(f"{folder} has the figures as SVG only: {error}") from None
    return [*written, *(_write(folder / f"{key}.png", png) for key, png in rasters.items())]


def standalone(figure: Figure) -> str:
    """The figure as a file of its own, with its style, on white paper."""
    begin, _, rest = figure.draw(WIDE).partition(">")
    about = element("title", figure.title) + element("desc", figure.says)
    style = element("style", Markup(file_style()))
    return f"{begin}>{about}{style}{rest}\n"


def raster(svg: str) -> bytes:
    """The SVG as a PNG."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        raise Unavailable(
            "resvg draws the PNGs and is not installed; mend it with: "
            "pip install 'lenet-bench[report]'"
        ) from None
    word = drawing(40, 20, [element("style", Markup(file_style())), label(0, 10, "word")])
    if not Image.open(BytesIO(svg_to_bytes(svg_string=word))).getbbox():
        raise Unavailable(
            "no font was found, so the PNGs would be without a word; on Debian, mend it with: "
            "apt install fonts-dejavu-core"
        )
    drawn = Image.open(BytesIO(svg_to_bytes(svg_string=svg, zoom=_ENLARGED))).convert("RGBA")
    margin = _MARGIN * _ENLARGED
    paper = Image.new("RGB", (drawn.width + 2 * margin, drawn.height + 2 * margin), "white")
    paper.paste(drawn, (margin, margin), drawn)
    png = BytesIO()
    paper.save(png, "PNG", optimize=True)
    return png.getvalue()


def _write(path: Path, content: bytes) -> Path:
    with writing(path, ResultError):
        write_atomically(path, content)
    return path

"""A terminal's abilities: its width, colours and characters; bars, pictures, wrapped text."""

from __future__ import annotations  # NumPy is not imported to print a help page

import os
import re
import shutil
from dataclasses import dataclass
from textwrap import wrap
from typing import TYPE_CHECKING, TextIO

from ...texts import printable

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

MARGIN = "  "  # indent below a title
_DENSITIES = " .:-=+*#%@"
_EIGHTHS = " ▏▎▍▌▋▊▉"
_IN_ASCII = str.maketrans("µ…✓✗▸█▉▊▋▌▍▎▏▀", "u*+x>####    =")
_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_WITHOUT_TERMINAL = 80
_BEFORE_UNIT = re.compile(r"(?<=\d) (?=%|([nµm]?s|[MG]i?B)\b)")
_WHOLE = "\xa0"  # a space at which no line ends


@dataclass(frozen=True)
class Screen:
    columns: int
    colour: bool

    @classmethod
    def of(cls, stream: TextIO) -> Screen:
        """The screen of a stream; NO_COLOR and FORCE_COLOR turn colours off and on."""
        return cls(
            columns=max(40, shutil.get_terminal_size((_WITHOUT_TERMINAL, 24)).columns),
            colour=_shows_colour(stream),
        )

    def paint(self, text: str, style: str = "") -> str:
        """Text from anywhere, made printable, in a style ("bold green") where there are colours."""
        text = printable(text)
        if not (style and text and self.colour):
            return text
        return f"\x1b[{';'.join(_STYLES[word] for word in style.split())}m{text}\x1b[0m"

    def bar(self, fraction: float, columns: int) -> str:
        """A bar over that fraction of the columns."""
        eighths = round(min(fraction, 1.0) * columns * 8)
        whole, rest = divmod(eighths, 8)
        return "█" * whole + (_EIGHTHS[rest] if rest else "")

    def wrap(self, text: str, style: str = "", *, hanging: str = "  ") -> list[str]:
        """Lines of the screen's width; names with a hyphen, paths and 89 % stay whole."""
        lines = wrap(
            _BEFORE_UNIT.sub(_WHOLE, " ".join(printable(text).split())),
            self.columns,
            subsequent_indent=hanging,
            break_on_hyphens=False,
            break_long_words=False,
        )
        return [self.paint(line.replace(_WHOLE, " "), style) for line in lines]

    def picture(self, image: NDArray[np.float32]) -> list[str]:
        """A picture from 0 (dark) to 1 (bright), an even number of rows: two of them to a line."""
        pairs = zip(image[::2].clip(0, 1), image[1::2].clip(0, 1), strict=True)
        if self.colour:
            return [_half_blocks(upper, lower) for upper, lower in pairs]
        return [_densities((upper + lower) / 2) for upper, lower in pairs]


def encodable(text: str, encoding: str | None) -> str:
    """The text for a stream of that encoding: in ASCII where it lacks bars and ticks."""
    try:
        text.encode(encoding or "ascii")
    except (UnicodeEncodeError, LookupError):
        return text.translate(_IN_ASCII)
    return text


def shorten(text: str, columns: int) -> str:
    """The text within so many columns; the end of a path is kept."""
    if len(text) <= columns:
        return text
    return "…" + text[len(text) - columns + 1 :]


def _half_blocks(upper: NDArray[np.float32], lower: NDArray[np.float32]) -> str:
    """Each cell's upper half is its character, its lower half the background."""
    cells = (f"\x1b[38;5;{_grey(u)};48;5;{_grey(v)}m▀" for u, v in zip(upper, lower, strict=True))
    return "".join(cells) + "\x1b[0m"


def _grey(value: float) -> int:
    return 232 + round(float(value) * 23)  # the 24 greys of the 256 colours


def _densities(values: NDArray[np.float32]) -> str:
    return "".join(_DENSITIES[round(float(value) * (len(_DENSITIES) - 1))] for value in values)


def _shows_colour(stream: TextIO) -> bool:
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return stream.isatty() and os.environ.get("TERM", "") not in ("", "dumb")

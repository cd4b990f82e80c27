"""The colours of page and figures, light and dark, and the figures' style sheet.

Series and parts are told apart by people who see no red or no green too (Okabe and Ito's hues,
moved until each has 3:1 against the paper), and never by colour alone.
"""

from __future__ import annotations

import re

#: name -> on white paper, on a dark screen
COLOURS = {
    "paper": ("#ffffff", "#14171c"),
    "raised": ("#f5f6f8", "#1d2127"),
    "ink": ("#1b1f24", "#e6e8eb"),
    "soft": ("#555d68", "#a8b0bb"),
    "rule": ("#d9dde2", "#333a44"),
    "accent": ("#0b5cad", "#7fb8f5"),
    "alarm": ("#a8321a", "#ff9c85"),
    "series-0": ("#0068b0", "#58b0f0"),
    "series-1": ("#bd4b00", "#f5954f"),
    "series-2": ("#00805e", "#3fc79c"),
    "series-3": ("#a3397c", "#e58cc3"),
    "series-4": ("#8a6a00", "#e0b83c"),
    "series-5": ("#5a4fcf", "#aaa2ff"),
    "series-6": ("#4d5661", "#b9c1cc"),
    "series-7": ("#00757f", "#4cc5d0"),
    "part-0": ("#7b8491", "#8d97a5"),
    "part-1": ("#4a4e8f", "#8288d8"),
    "part-2": ("#86c5b4", "#a9dccd"),
    "part-3": ("#cf9400", "#e8bc4d"),
    "part-4": ("#b03a63", "#ee7fa6"),
    "faster": ("#00805e", "#3fc79c"),
    "slower": ("#a3397c", "#e58cc3"),
    "same": ("#4d5661", "#b9c1cc"),
    "ambiguous": ("#4d5661", "#b9c1cc"),
}

_STYLE = """
text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,
"Noto Sans","Liberation Sans","DejaVu Sans",sans-serif;fill:$ink;font-variant-numeric:tabular-nums;
stroke:$paper;stroke-width:3px;stroke-linejoin:round;paint-order:stroke}
text.soft{fill:$soft}text.small{font-size:11px}text.strong{font-weight:600}
text.end{text-anchor:end}text.middle{text-anchor:middle}
.paper{fill:$paper}
.grid{stroke:$rule;stroke-width:1}.zero{stroke:$soft;stroke-width:1}
.guide{fill:none;stroke:$rule;stroke-width:1;stroke-dasharray:1 3}
.leader{stroke:$soft;stroke-width:.75}
.front{fill:none;stroke:$soft;stroke-width:1.25;stroke-dasharray:5 4}
.band{fill:$rule;opacity:.6}
.line{fill:none;stroke-width:2}.whisker{stroke-width:2.5;opacity:.55}.hair{stroke-width:1}
.density{opacity:.45;stroke:none}.bare{stroke-width:1}
.dot{stroke:$paper;stroke-width:1}.hollow{stroke-width:2}
"""


def _rules() -> str:
    rules = []
    for name in COLOURS:
        if re.match(r"series|part|faster|slower|same|ambiguous", name):
            rules.append(f".{name}{{fill:${name}}}.line.{name}{{fill:none}}")
            rules.append(f".line.{name},.whisker.{name},.hair.{name}{{stroke:${name}}}")
            rules.append(f".hollow.{name}{{fill:$paper;stroke:${name}}}")
    return "".join(rules)


def figure_style(scope: str = "") -> str:
    """For figures in a page: colours are its variables, and each rule is within the scope."""
    style = re.sub(r"\$([\w-]+)", r"var(--\1)", _STYLE.replace("\n", "") + _rules())
    return re.sub(r"(^|}|,)(?=[.a-z]+[^{}]*\{|[.][\w.-]+,)", rf"\1{scope} ", style)


def file_style() -> str:
    """For figures in files of their own: on white paper."""
    return re.sub(r"\$([\w-]+)", lambda m: COLOURS[m[1]][0], _STYLE.replace("\n", "") + _rules())


def variables(dark: bool) -> str:
    """The page's variables."""
    return "".join(f"--{name}:{pair[dark]};" for name, pair in COLOURS.items())

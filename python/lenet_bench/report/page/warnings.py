"""Every warning of every run."""

from __future__ import annotations

import re

from ..markup import Markup, element, join
from ..measured import Measured


def warnings(measured: Measured) -> Markup:
    """Lists of them; nothing where there are none."""
    told = []
    for run in measured.runs:
        if run.result.warnings:
            if len(measured.runs) > 1:
                told.append(element("h3", run.label))
            told.append(
                element(
                    "ul",
                    *(element("li", _sentence(w)) for w in run.result.warnings),
                    class_="warnings",
                )
            )
    return join(told)


def _sentence(warning: str) -> Markup:
    """An option and what it takes, a time and its unit stay on one line."""
    told = re.sub(r"(?<=\d) (?=[µm]?s\b)", "\u00a0", f"{warning[:1].upper()}{warning[1:]}.")
    parts = re.split(r"(--[a-z][a-z-]*(?: \d+)?)", told)
    return join(element("code", part) if n % 2 else part for n, part in enumerate(parts))

"""Every warning of every run."""

from __future__ import annotations

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


def _sentence(warning: str) -> str:
    return f"{warning[:1].upper()}{warning[1:]}."

"""The rungs that have no figures, and why."""

from __future__ import annotations

from collections.abc import Iterator

from ...results import RungResult
from ..markup import Markup, element, join
from ..measured import Measured, Run

_MEANS = {
    "wrong": "did not give the reference's answers, so it was not timed",
    "crashed": "crashed",
    "timeout": "gave no answer in time",
    "unmeasured": "the run ended before its turn",
    "unavailable": "cannot run there",
}


def failures(measured: Measured) -> Markup:
    """What went wrong first, each with its output; then what was not at hand."""
    return join(part for run in measured.runs for part in _of(run, len(measured.runs) > 1))


def _of(run: Run, named: bool) -> Iterator[Markup]:
    failed = [rung for rung in run.result.rungs if rung.status != "ok"]
    refused = [rung for rung in run.result.rungs if rung.batch_refusals]
    if not (failed or refused):
        return
    where = f" in {run.label}" if named else ""
    if named:
        yield element("h3", run.label)
    absent = [rung for rung in failed if rung.status == "unavailable"]
    for rung in failed:
        if rung not in absent:
            yield element("div", _headline(rung), *_evidence(rung, where), class_="failure")
    for rung in refused:
        for size, reason in rung.batch_refusals.items():
            yield element("p", element("strong", rung.name), f" takes no batch of {size}: {reason}")
    if absent:
        rows = [
            element("tr", element("th", rung.name, scope="row"), element("td", rung.reason))
            for rung in absent
        ]
        head = element("tr", *(element("th", t, scope="col") for t in ("rung", "why")))
        drawn = element(
            "table",
            element("caption", "Not at hand"),
            element("thead", head),
            element("tbody", *rows),
        )
        label = f"Not at hand{where}"
        scrolled = element(
            "div", drawn, class_="scroll", tabindex="0", role="region", aria_label=label
        )
        many = "rungs and variants were" if len(absent) > 1 else "rung was"
        told = f"{len(absent)} {many} not at hand"
        yield element("details", element("summary", told), scrolled)


def _headline(rung: RungResult) -> Markup:
    means = _MEANS.get(rung.status, rung.status)
    reason = f": {rung.reason}" if rung.reason else ""
    return element("p", element("strong", rung.name), f" {means}{reason}")


def _evidence(rung: RungResult, where: str) -> Iterator[Markup]:
    for title, text in (("Traceback", rung.traceback), ("What it printed", rung.output)):
        if text and text.strip():
            told = f"{title} of {rung.name}"
            block = element("pre", text, tabindex="0", role="region", aria_label=told + where)
            yield element("details", element("summary", told), block)

"""`backends`, a list of the APIs; `doctor`, which run, why others do not, and what mends them."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from ...questions.doctor import Examination, Finding
from ...registry.availability import Listed
from ..sentences import backend_of, family
from .screen import Screen

_NEWS = ("library", "isa", "note", "found", "path")  # the details that a line shows


def backends(screen: Screen, listed: Iterable[Listed]) -> Iterator[str]:
    """What each backend is, what it calls, and whether it is installed, by family."""
    for heading, alike in groupby(listed, lambda backend: family(backend.name)):
        yield screen.paint(heading, "bold cyan")
        for backend in alike:
            mark = "✓" if backend.installed else "✗"
            calls = "" if ":" in backend.name else f"; calls {backend.calls}"
            text = f"{mark} {backend.name} ({backend.device}): {backend.summary}{calls}"
            yield from screen.wrap(text, "" if backend.installed else "dim", hanging="    ")
    yield ""
    yield "✓ is installed; to check what runs: lenet-bench doctor"


def examination(screen: Screen, examined: Examination) -> Iterator[str]:
    """What runs, on a line each; of the rest the reason and the command that fixes it."""
    gpu = examined.gpu if examined.concerns_gpus else ()
    shown = chain(examined.backends, gpu, [examined.weights, examined.mnist])
    for (_, reason), alike in groupby(shown, lambda finding: _why(finding, examined.no_gpu)):
        if reason:
            first, *others = alike
            names = ", ".join(finding.name for finding in (first, *others))
            alone = all(backend_of(finding.name) == backend_of(first.name) for finding in others)
            yield from _why_not(screen, names, first.reason if alone else examined.no_gpu)
            continue
        for finding in alike:
            news = ", ".join(str(finding.details[key]) for key in _NEWS if key in finding.details)
            yield from screen.wrap(f"✓ {finding.name}: {news}".rstrip(": "))
    yield ""
    running = [finding.available for finding in examined.backends]
    verdict = f"{sum(running)} of {len(running)} backends run here."
    yield screen.paint(verdict, "green" if examined.works else "red")


def _why(finding: Finding, no_gpu: str | None) -> tuple[str, str | None]:
    """A backend's name without the variant, and the reason without that name.

    Variants that do not run for the same reason are one entry, as is all that needs a GPU where
    there is none.
    """
    if finding.reason and finding.device == "gpu" and no_gpu:
        return "", no_gpu
    name = backend_of(finding.name)
    return name, finding.reason and finding.reason.replace(finding.name, name)


def _why_not(screen: Screen, names: str, reason: str | None) -> Iterator[str]:
    """The reason in red, and the command that fixes it on a line of its own, to be copied."""
    sentence, _, command = f"✗ {names}: {reason}".partition("fix it with: ")
    sentence = re.sub(",$", ":", sentence.rstrip("; "))  # "...; if it is damaged, fix it with: "
    yield from screen.wrap(sentence, "red")
    yield from [screen.paint(command, "bold")] if command else []

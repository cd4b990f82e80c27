"""`backends`, a list of the APIs; `doctor`, why some do not run, and what mends them."""

import re
from collections.abc import Iterable, Iterator
from itertools import chain, groupby

from ...questions.doctor import Examination, Finding
from ...registry.availability import Availability
from ..sentences import backend_of, family
from .screen import Screen

_NEWS = ("library", "isa", "note", "found", "path")  # the details that a line shows


def backends(screen: Screen, found: Iterable[Availability]) -> Iterator[str]:
    """What each backend is, what it calls, and whether it runs here, by family."""
    for heading, alike in groupby(found, lambda one: family(one.name)):
        yield screen.paint(heading, "bold cyan")
        for one in alike:
            calls = "" if ":" in one.name else f"; calls {one.calls}"
            text = f"{_mark(one)} {one.name} ({one.device}): {one.summary}{calls}"
            yield from screen.wrap(text, "" if one.available else "dim", hanging="    ")


def examination(screen: Screen, found: Examination) -> Iterator[str]:
    """What runs, on a line each; of the rest the reason and the command that fixes it."""
    gpu = found.gpu if found.concerns_gpus else ()
    shown = chain(found.backends, gpu, [found.weights, found.mnist])
    for (_, reason), alike in groupby(shown, lambda one: _why(one, found.no_gpu)):
        if reason:
            first, *others = alike
            names = ", ".join(one.name for one in (first, *others))
            alone = all(backend_of(one.name) == backend_of(first.name) for one in others)
            yield from _why_not(screen, names, first.reason if alone else found.no_gpu)
            continue
        for one in alike:
            news = ", ".join(str(one.details[key]) for key in _NEWS if key in one.details)
            yield from screen.wrap(f"{_mark(one)} {one.name}: {news}".rstrip(": "))
    yield ""
    running = [one.available for one in found.backends]
    verdict = f"{sum(running)} of {len(running)} backends run here."
    yield screen.paint(verdict, "green" if found.works else "red")


def _why(one: Finding, no_gpu: str | None) -> tuple[str, str | None]:
    """A backend's name without the variant, and the reason without that name.

    Variants that do not run for the same reason are one entry, as is all that needs a GPU where
    there is none.
    """
    if one.reason and one.device == "gpu" and no_gpu:
        return "", no_gpu
    name = backend_of(one.name)
    return name, one.reason and one.reason.replace(one.name, name)


def _why_not(screen: Screen, names: str, reason: str | None) -> Iterator[str]:
    """The reason in red, and the command that fixes it on a line of its own, to be copied."""
    sentence, _, command = f"✗ {names}: {reason}".partition("fix it with: ")
    sentence = re.sub(",$", ":", sentence.rstrip("; "))  # "...; if it is damaged, fix it with: "
    yield from screen.wrap(sentence, "red")
    yield from [screen.paint(command, "bold")] if command else []


def _mark(one: Finding | Availability) -> str:
    return "✓" if one.available else "✗"

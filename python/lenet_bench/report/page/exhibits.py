"""The source of each rung that was timed, and what really ran."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress

from ...backends import LADDER, Rung
from ...cost import Source, api_names, complexity, lines_of_code, sources
from .. import units
from ..highlight import listing
from ..markup import Markup, element, join
from ..measured import Entry, Measured


def exhibits(measured: Measured) -> Markup:
    """Folded up, one a rung, in the ladder's order."""
    told: list[Markup] = []
    shown: dict[Source, Markup] = {}  # several rungs write the same ONNX file, or open a GPU alike
    for group in _groups(measured):
        told.append(_exhibit(group, measured, shown))
        for source in sources(group[0]):
            name = group[0].name
            shown.setdefault(source, element("a", name, href=f"#exhibit-{name}"))
    if not told:
        return Markup("")
    note = element(
        "p",
        "All that each API makes one write for this network. Lines are numbered where they "
        "count; the names of the API are ",
        element("b", "marked"),
        ".",
    )
    folded = element(
        "p",
        "Code that was folded when this was printed is not here; unfold it in the page first.",
        class_="on-paper",
    )
    button = element(
        "button",
        "Unfold all the code",
        id="unfold",
        type="button",
        aria_pressed="false",
        hidden=True,
    )
    return join([note, folded, button, *told])


def _groups(measured: Measured) -> list[list[Rung]]:
    """The rungs that have an exhibit at hand; those that share one, as Keras's do, together."""
    timed = {entry.exhibit for entry in measured.entries}
    groups: dict[tuple[Source, ...], list[Rung]] = {}
    for rung in LADDER:
        if rung.name in timed and not rung.gone:
            with suppress(OSError):
                groups.setdefault(tuple(sources(rung)), []).append(rung)
    return list(groups.values())


def _exhibit(group: Sequence[Rung], measured: Measured, shown: Mapping[Source, Markup]) -> Markup:
    names = [rung.name for rung in group]
    entries = [entry for entry in measured.entries if entry.exhibit in names]
    files = sources(group[0])
    lines, api = lines_of_code(names[0]), api_names(files)
    decisions = sum(map(complexity, files))
    told = f" {lines} lines, {len(api)} API names, {decisions} decision{'s' * (decisions != 1)}"
    others = {entry.rung.lines_of_code for entry in entries} - {None, lines}
    stale = None
    if others:
        then = ", ".join(units.count(count) for count in others)
        stale = element("p", f"When it was measured it had {then} lines.", class_="stale")
    return element(
        "details",
        element("summary", element("strong", ", ".join(names)), element("span", told)),
        *(element("p", f"{rung.summary}. Calls {rung.calls}.") for rung in group),
        _ran(entries),
        stale,
        listing(files, api, shown),
        class_="exhibit",
        id=f"exhibit-{names[0]}",
    )


def _ran(entries: Sequence[Entry]) -> Markup | None:
    """What each entry said that really ran."""
    items = [
        element(
            "li",
            element("strong", entry.spoken),
            ": " + ", ".join(f"{name} {value}" for name, value in entry.rung.runs.items()),
        )
        for entry in entries
        if entry.rung.runs
    ]
    return element("ul", *items, class_="ran") if items else None

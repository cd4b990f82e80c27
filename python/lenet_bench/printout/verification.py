"""A verification for people: a line a rung, and where a rung and the reference disagree."""

from __future__ import annotations  # the types of one command are not imported for another

from typing import TYPE_CHECKING

from ..numerals import counted
from ..terminal import Screen, Text
from .facts import MARGIN

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..verify import Verification


def verification(screen: Screen, results: Sequence[Verification]) -> Iterator[str]:
    """A line a rung, and then each image that a rung and the reference disagree on."""
    yield f"{counted(results[0].images, 'test image')} against the float64 reference"
    yield ""
    head = ("rung", "accuracy", "largest difference", "allowed", "disagreements", "")
    rows = [[Text(title, "dim") for title in head]]
    rows += [_verification_row(screen, result) for result in results]
    yield from (MARGIN + line for line in screen.table(rows, "lrrrrl"))
    for result in results:
        if result.disagreements:
            yield ""
            yield screen.paint(f"{result.backend} and the reference disagree on", "bold")
            yield from _disagreements(screen, result)


def _verification_row(screen: Screen, result: Verification) -> list[Text]:
    verdict = Text(screen.choose("✓", "ok"), "green")
    if not result.passed:
        verdict = Text(screen.choose("✗ too far", "TOO FAR"), "red")
    return [
        Text(result.backend, "bold"),
        Text(f"{100 * result.accuracy:.2f} %"),
        Text(f"{result.max_difference:.1e}", "" if result.passed else "red"),
        Text(f"{result.tolerance:.0e}", "dim"),
        Text(str(len(result.disagreements)), "yellow" if result.disagreements else ""),
        verdict,
    ]


def _disagreements(screen: Screen, result: Verification) -> Iterator[str]:
    rows = [[Text(t, "dim") for t in ("image", "label", "reference", result.backend, "margin")]]
    rows += [
        [
            Text(str(one.index)),
            Text(str(one.label)),
            Text(str(one.reference)),
            Text(str(one.digit)),
            Text(f"{one.margin:.1e}"),
        ]
        for one in result.disagreements
    ]
    yield from (MARGIN + line for line in screen.table(rows, "rrrrr"))

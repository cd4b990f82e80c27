"""A verification for people: a line a backend, and where a backend and the reference disagree."""

from collections.abc import Iterator, Sequence

from ...questions.verify import Verification
from ...units import counted
from .facts import MARGIN
from .screen import Screen
from .table import Cell, Column, table


def verification(screen: Screen, results: Sequence[Verification]) -> Iterator[str]:
    """A line for each backend, then each image that a backend and the reference disagree on."""
    yield f"{counted(results[0].images, 'test image')} against the float64 reference"
    yield ""
    differences = [
        Cell(f"{one.max_difference:.1e}", "" if one.passed else "red") for one in results
    ]
    disagreements = [
        Cell(str(len(one.disagreements)), "yellow" if one.disagreements else "") for one in results
    ]
    verdicts = {True: Cell("✓", "green"), False: Cell("✗ too far", "red")}
    columns = [
        Column("backend", [one.backend for one in results], left=True, style="bold"),
        Column("accuracy", [f"{100 * one.accuracy:.2f} %" for one in results]),
        Column("largest difference", differences),
        Column("allowed", [f"{one.tolerance:.0e}" for one in results], style="dim", leaves=1),
        Column("disagreements", disagreements, leaves=2),
        Column("", [verdicts[one.passed] for one in results], left=True),
    ]
    yield from table(screen, columns, margin=MARGIN)
    for one in results:
        if one.disagreements:
            yield ""
            yield screen.paint(f"{one.backend} and the reference disagree on", "bold")
            yield from _disagreements(screen, one)


def _disagreements(screen: Screen, result: Verification) -> Iterator[str]:
    found = result.disagreements
    columns = [
        Column("image", [str(one.index) for one in found]),
        Column("label", [str(one.label) for one in found]),
        Column("reference", [str(one.reference) for one in found]),
        Column(result.backend, [str(one.digit) for one in found]),
        Column("margin", [f"{one.margin:.1e}" for one in found]),
    ]
    yield from table(screen, columns, margin=MARGIN)

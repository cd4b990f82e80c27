"""What came of a training run, or of the same run in several frameworks, for people."""

from __future__ import annotations  # the types of one command are not imported for another

from typing import TYPE_CHECKING

from ..numerals import counted
from ..terminal import Screen, Text
from .facts import fact_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from ..training import FrameworkRun, TrainingResult, TrainResult


def training(screen: Screen, result: TrainResult) -> Iterator[str]:
    """What came of a training run, and where it lies."""
    chosen = result.chosen
    facts = {
        "weights": str(result.weights),
        "curve": str(result.curve),
        "epoch": f"{chosen.epoch} of {len(result.history)}, chosen by its validation loss",
        "validation": f"{100 * chosen.validation_accuracy:.2f} % right",
        "test": f"{100 * result.test_accuracy:.2f} % of {result.test_images:,} images right",
    }
    yield from fact_lines(screen, facts)


def side_by_side(screen: Screen, result: TrainingResult) -> Iterator[str]:
    """Training in several frameworks: a table, what failed, whether all agree."""
    runs = sorted(
        (run for run in result.runs if run.status == "ok"),
        key=lambda run: -(run.images_per_s or 0),
    )
    yield from screen.wrap(_title(result))
    yield ""
    if runs:
        header = ["framework", "images/s", "loss", "validation", "test", "start-up", "memory"]
        rows = [[Text(title, "dim") for title in header], *(_row(run) for run in runs)]
        columns = [column for column in zip(*rows, strict=True) if _tells(column)]
        yield from screen.table(list(zip(*columns, strict=True)), "l" + "r" * (len(columns) - 1))
    else:
        yield "No framework came to the end."
    yield ""
    for run in result.runs:
        if run.status != "ok":
            kept = f" ({len(run.epochs)} of {counted(result.recipe.epochs, 'epoch')} kept)"
            text = f"{run.framework}: {run.reason}{kept if run.epochs else ''}"
            yield from screen.wrap(text, "red")
    yield from _agreement(screen, result)


def _title(result: TrainingResult) -> str:
    recipe, processor = result.recipe, result.machine.get("processor") or {}
    return (
        f"{_length(result)} of {recipe.batch},"
        f" seed {recipe.seed}: the same first weights, the same batches;"
        f" {counted(result.threads, 'thread')} of {processor.get('model') or 'unknown processor'}"
    )


def _length(result: TrainingResult) -> str:
    """How much was learnt from, as far as any framework came."""
    epochs, runs = result.recipe.epochs, result.runs
    if not epochs:
        return f"the first {max((len(run.first_losses) for run in runs), default=0)} batches"
    steps = max((len(run.losses) // len(run.epochs) for run in runs if run.epochs), default=0)
    return f"{counted(epochs, 'epoch')} of {counted(steps, 'batch')}"


def _tells(column: Sequence[Text]) -> bool:
    """Whether any row has something there."""
    return any(text.text != "-" for text in column[1:])


def _row(run: FrameworkRun) -> list[Text]:
    chosen, start_up, right = run.chosen, run.start_up, run.test_accuracy
    cells = [
        f"{run.images_per_s:,.0f}" if run.images_per_s else "-",
        f"{chosen.loss:.4f}" if chosen else "-",
        f"{100 * chosen.validation_accuracy:.2f} %" if chosen else "-",
        f"{100 * right:.2f} %" if right is not None else "-",
        f"{start_up.total_s:.1f} s" if start_up else "-",
        f"{run.peak_rss_mib:,.0f} MiB" if run.peak_rss_mib else "-",
    ]
    return [Text(run.framework, "bold"), *map(Text, cells)]


def _agreement(screen: Screen, result: TrainingResult) -> Iterator[str]:
    found = result.agreement
    if found is None:
        return
    mark = screen.choose("✓", "ok") if found.holds else screen.choose("✗", "FAILED")
    text = (
        f"{mark} the losses of the first {found.steps} steps are at most {found.difference:.1e}"
        f" apart (step {found.step}: {found.lowest} and {found.highest}; up to step 10:"
        f" {found.so_far[:10][-1]:.1e}), allowed {found.tolerance:g}"
    )
    yield from screen.wrap(text, "green" if found.holds else "red")

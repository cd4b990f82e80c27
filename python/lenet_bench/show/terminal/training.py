"""What came of a training run, or of the same run in several frameworks, for people."""

from collections.abc import Iterator

from ... import units
from ...training import FrameworkRun, TrainingResult, TrainResult
from ...units import counted
from ..machine import processor
from .facts import fact_lines
from .screen import Screen
from .table import Column, table


def training(screen: Screen, result: TrainResult) -> Iterator[str]:
    """What came of a training run, and where it lies."""
    run, chosen = result.run, result.run.chosen
    assert chosen is not None
    facts = {
        "weights": str(result.weights),
        "curve": str(result.curve),
        "epoch": f"{chosen.epoch} of {len(run.epochs)}, chosen by its validation loss",
        "validation": f"{100 * chosen.validation_accuracy:.2f} % right",
        "test": f"{100 * (run.test_accuracy or 0):.2f} % of {run.test_images:,} images right",
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
        found = [_row(run) for run in runs]
        columns = [
            Column(title, [row[title] for row in found], leaves=number)
            for number, title in enumerate(found[0], 1)
        ]
        names = Column("framework", [run.framework for run in runs], left=True, style="bold")
        yield from table(screen, [names, *columns])
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
    recipe = result.recipe
    return (
        f"{_length(result)} of {recipe.batch},"
        f" seed {recipe.seed}: the same first weights, the same batches;"
        f" {counted(result.threads, 'thread')} of {processor(result.machine)}"
    )


def _length(result: TrainingResult) -> str:
    """How much was learnt from, as far as any framework came."""
    epochs, runs = result.recipe.epochs, result.runs
    if not epochs:
        return f"the first {max((len(run.first_losses) for run in runs), default=0)} batches"
    steps = max((len(run.losses) // len(run.epochs) for run in runs if run.epochs), default=0)
    return f"{counted(epochs, 'epoch')} of {counted(steps, 'batch')}"


def _row(run: FrameworkRun) -> dict[str, str]:
    chosen, start_up, right = run.chosen, run.start_up, run.test_accuracy
    return {
        "images/s": units.count(run.images_per_s),
        "loss": f"{chosen.loss:.4f}" if chosen else "-",
        "validation": f"{100 * chosen.validation_accuracy:.2f} %" if chosen else "-",
        "test": f"{100 * right:.2f} %" if right is not None else "-",
        "start-up": units.seconds(start_up.total_s if start_up else None),
        "memory": units.mebibytes(run.peak_rss_mib),
    }


def _agreement(screen: Screen, result: TrainingResult) -> Iterator[str]:
    found = result.agreement
    if found is None:
        return
    mark = "✓" if found.holds else "✗"
    text = (
        f"{mark} the losses of the first {found.steps} steps are at most {found.difference:.1e}"
        f" apart (step {found.step}: {found.lowest} and {found.highest}; up to step 10:"
        f" {found.so_far[:10][-1]:.1e}), allowed {found.tolerance:g}"
    )
    yield from screen.wrap(text, "green" if found.holds else "red")

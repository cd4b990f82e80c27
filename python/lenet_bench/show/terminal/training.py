"""A training in one framework or several, for people: how far it is, and what came of it."""

from collections.abc import Iterator

from ... import units
from ...training import FrameworkRun, TrainingResult
from ...units import counted
from ..sentences import processor
from .screen import Screen
from .table import Column, table


def news(run: FrameworkRun, epochs: int) -> str:
    """A line for a row that has grown: its framework begins, an epoch ends, or it fails."""
    if run.reason:
        return f"{run.framework}: {run.reason}"
    if not run.epochs:
        return f"{run.framework}: begins"
    epoch = run.epochs[-1]
    rate = f"  {units.count(epoch.images_per_s)} images/s" if epoch.images_per_s else ""
    return (
        f"{run.framework}: epoch {epoch.epoch:2}/{epochs}  loss {epoch.loss:.4f}"
        f"  validation {epoch.validation_loss:.4f}, {100 * epoch.validation_accuracy:.2f} % right"
        f"  {epoch.seconds:.0f} s{rate}"
    )


def training(screen: Screen, result: TrainingResult) -> Iterator[str]:
    """A table of the frameworks, what failed, whether all agree."""
    runs = sorted(
        (run for run in result.runs if run.status == "ok"), key=lambda run: -(run.images_per_s or 0)
    )
    yield from screen.wrap(_title(result))
    yield ""
    if found := [_row(run) for run in runs]:
        columns = [Column("framework", [run.framework for run in runs], left=True, style="bold")]
        for number, title in enumerate(found[0], 1):
            columns.append(Column(title, [row[title] for row in found], leaves=number))
        yield from table(screen, columns)
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
    same = ": the same first weights, the same batches" if len(result.runs) > 1 else ""
    own = "the framework's own number of threads"
    threads = counted(result.threads, "thread") if result.threads else own
    return (
        f"{_length(result)} of {recipe.batch}, seed {recipe.seed}{same};"
        f" {threads} of {processor(result.machine)}"
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
    if (found := result.agreement) is None:
        return
    mark = "✓" if found.holds else "✗"
    text = (
        f"{mark} the losses of the first {found.steps} steps are at most {found.difference:.1e}"
        f" apart (step {found.step}: {found.lowest} and {found.highest}; up to step 10:"
        f" {found.so_far[:10][-1]:.1e}), allowed {found.tolerance:g}"
    )
    yield from screen.wrap(text, "green" if found.holds else "red")

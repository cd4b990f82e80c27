"""A training in one framework or several: how far it is, and what came of it."""

from collections.abc import Iterator

from .. import units
from ..training import FrameworkRun, TrainingResult
from ..training.result import TOLERANCE
from ..units import counted
from .terminal.screen import Screen
from .terminal.table import Column, table


def news(run: FrameworkRun, epochs: int) -> str:
    """A line for a row that has grown: its framework begins, an epoch ends, or it fails."""
    if run.reason:
        return f"{run.framework}: {run.reason}"
    if not run.epochs:
        return f"{run.framework}: begins"
    epoch = run.epochs[-1]
    return (
        f"{run.framework}: epoch {epoch.epoch:2}/{epochs}  loss {epoch.loss:.4f}"
        f"  validation {epoch.validation_loss:.4f}, {100 * epoch.validation_accuracy:.2f} % right"
        f"  {epoch.seconds:.0f} s  {units.count(epoch.images_per_s)} images/s"
    )


def table_of(screen: Screen, result: TrainingResult) -> Iterator[str]:
    """A table of the frameworks, what failed, whether all agree."""
    recipe = result.recipe
    title = f"{counted(recipe.epochs, 'epoch')}, batches of {recipe.batch}, seed {recipe.seed}"
    threads = counted(result.threads, "thread") if result.threads else "the framework's own threads"
    yield from screen.wrap(f"{title}; {threads}")
    yield ""
    done = [run for run in result.runs if run.status == "ok"]
    done.sort(key=lambda run: -(run.images_per_s or 0))
    yield from table(screen, _columns(done)) if done else ["No framework finished."]
    yield ""
    for run in result.runs:
        if run.status != "ok":
            yield from screen.wrap(f"{run.framework}: {run.reason}", "red")
    if result.difference is not None:
        mark, style = ("✓", "green") if result.agrees else ("✗", "red")
        text = (
            f"{mark} the losses of the first {counted(result.steps, 'step')} are at most"
            f" {result.difference:.1e} apart; {TOLERANCE:g} is allowed"
        )
        yield from screen.wrap(text, style)


def _columns(runs: list[FrameworkRun]) -> list[Column]:
    chosen = [run.chosen for run in runs]
    loss = [f"{one.loss:.4f}" if one else units.NONE for one in chosen]
    right = [one.validation_accuracy if one else None for one in chosen]
    validation = [units.percent(one, places=2) for one in right]
    test = [units.percent(run.test_accuracy, places=2) for run in runs]
    return [
        Column("framework", [run.framework for run in runs], left=True, style="bold"),
        Column("images/s", [units.count(run.images_per_s) for run in runs]),
        Column("loss", loss, leaves=2),
        Column("validation", validation, leaves=1),
        Column("test", test),
    ]

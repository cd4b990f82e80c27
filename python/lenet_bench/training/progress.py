"""What a training run shows: a bar in a terminal, one line an epoch anywhere."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)

from .. import mnist
from .checkpoint import Epoch
from .recipe import Recipe


class Display:
    """Tells of a run on a console; a bar only where there is a terminal to draw it in."""

    def __init__(self, console: Console, recipe: Recipe) -> None:
        self._console = console
        self._recipe = recipe
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn("loss {task.fields[loss]:.4f}"),
            TimeRemainingColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )

    @contextmanager
    def epoch(self, number: int, batches: int, done: int) -> Iterator["Display"]:
        """While one epoch learns."""
        task = self._bar.add_task(
            f"epoch {number}/{self._recipe.epochs}", total=batches, completed=done, loss=0.0
        )
        with self._bar:
            yield self
        self._bar.remove_task(task)

    def step(self, loss: float) -> None:
        """A batch has been learnt."""
        self._bar.update(self._bar.task_ids[-1], advance=1, loss=loss)

    def line(self, epoch: Epoch) -> None:
        """An epoch is done."""
        self._console.print(
            f"epoch {epoch.epoch:2}/{self._recipe.epochs}  loss {epoch.loss:.4f}"
            f"  validation loss {epoch.validation_loss:.4f},"
            f" accuracy {100 * epoch.validation_accuracy:.2f} %  {epoch.seconds:.0f} s",
            highlight=False,
        )


@contextmanager
def downloading(console: Console) -> Iterator[mnist.Progress]:
    """What `find_mnist` may tell of its downloads: a bar for each file, in a terminal."""
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:

        def progress(name: str, received: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total)
            bar.update(tasks[name], completed=received)

        yield progress

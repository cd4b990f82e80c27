"""What a training run shows while it lasts: to a person on a console, to a program that watches."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from .. import mnist
from .checkpoint import Checkpoint, Epoch
from .pace import StartUp
from .recipe import Recipe

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID


def on_stderr() -> "Console":
    """Where a run is shown unless its caller says otherwise."""
    from rich.console import Console

    return Console(stderr=True)


class Watch:
    """A program that watches a run; this one looks away."""

    def began(
        self, versions: Mapping[str, str], start_up: StartUp, first_losses: Sequence[float]
    ) -> None:
        """The framework stands, and has made the steps that it is compared by."""

    def stepped(self) -> None:
        """A batch has been learnt, or classified."""

    def learnt(self, epochs: Sequence[Epoch], losses: Sequence[float]) -> None:
        """So many epochs are done, with the losses of all their steps."""


class Display:
    """Tells of a run on a console, with a bar only in a terminal, and whoever watches it."""

    def __init__(self, console: "Console", recipe: Recipe, watch: Watch) -> None:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            TextColumn,
            TimeRemainingColumn,
        )

        self._console = console
        self._recipe = recipe
        self._watch = watch
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
    def steps(self, title: str, total: int, done: int = 0) -> Iterator[None]:
        """While so many steps are made."""
        task = self._bar.add_task(title, total=total, completed=done, loss=0.0)
        with self._bar:
            yield
        self._bar.remove_task(task)

    def step(self, loss: float) -> None:
        """A batch has been learnt."""
        self._bar.update(self._bar.task_ids[-1], advance=1, loss=loss)
        self._watch.stepped()

    def epoch(self, checkpoint: Checkpoint) -> None:
        """An epoch is done: a line of its own."""
        self._watch.learnt(checkpoint.history, checkpoint.past_losses)
        epoch = checkpoint.history[-1]
        pace = f"  {epoch.images_per_s:,.0f} images/s" if epoch.images_per_s else ""
        right = 100 * epoch.validation_accuracy
        self._console.print(
            f"epoch {epoch.epoch:2}/{self._recipe.epochs}  loss {epoch.loss:.4f}"
            f"  validation {epoch.validation_loss:.4f}, {right:.2f} % right"
            f"  {epoch.seconds:.0f} s{pace}",
            highlight=False,
            soft_wrap=True,
        )


@contextmanager
def downloading(console: "Console") -> Iterator[mnist.Progress]:
    """What `find_mnist` may tell of its downloads: a bar for each file, in a terminal."""
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn())
    tasks: dict[str, TaskID] = {}
    with Progress(*columns, console=console, disable=not console.is_terminal) as bar:

        def progress(name: str, received: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total)
            bar.update(tasks[name], completed=received)

        yield progress

"""The pictures of a training run: its learning curve, and the losses of several frameworks."""

import io
from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, MaxNLocator, NullFormatter, StrMethodFormatter
from numpy.typing import NDArray

from .agreement import STEPS, TOLERANCE
from .result import FrameworkRun, TrainingResult

_SMOOTH = 20  # a point of a curve is the mean of so many steps


def draw_curve(run: FrameworkRun) -> bytes:
    """Loss and validation accuracy by epoch, as PNG."""
    chosen = run.chosen
    assert chosen is not None
    epochs = [epoch.epoch for epoch in run.epochs]
    figure = Figure(figsize=(9, 4), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(
        f"LeNet on MNIST: validation {chosen.validation_accuracy:.2%}, test {run.test_accuracy:.2%}"
    )
    losses, accuracies = figure.subplots(1, 2)

    losses.plot(epochs, [e.loss for e in run.epochs], "o-", ms=3, label="training, augmented")
    losses.plot(epochs, [e.validation_loss for e in run.epochs], "o-", ms=3, label="validation")
    losses.set(xlabel="epoch", ylabel="cross-entropy", yscale="log")
    losses.legend(frameon=False)

    accuracies.plot(epochs, [100 * e.validation_accuracy for e in run.epochs], "o-", ms=3)
    accuracies.axvline(chosen.epoch, color="0.6", ls=":", label=f"chosen: epoch {chosen.epoch}")
    accuracies.set(xlabel="epoch", ylabel="validation accuracy, %")
    accuracies.legend(frameon=False, loc="lower right")

    for axes in (losses, accuracies):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
    return _png(figure)


def draw_losses(result: TrainingResult) -> bytes:
    """The picture as PNG; only the first steps where no more were made."""
    colours = {run.framework: f"C{number}" for number, run in enumerate(result.runs)}
    learnt = [run for run in result.runs if run.losses]
    panels = 3 if learnt else 1
    figure = Figure(figsize=(13 if learnt else 6, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    by_step, apart, by_clock = np.resize(figure.subplots(1, panels, squeeze=False), 3)
    _draw_distances(apart, result.runs, colours)
    if learnt:
        _draw_by_step(by_step, learnt, colours)
        _draw_by_clock(by_clock, learnt, colours, result.recipe.batch)
    for axes in figure.axes:
        axes.grid(alpha=0.3)
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize="small")
    return _png(figure)


def _png(figure: Figure) -> bytes:
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=110)
    return png.getvalue()


def _draw_by_step(axes: Axes, runs: Sequence[FrameworkRun], colours: dict[str, str]) -> None:
    for number, run in enumerate(runs):
        steps, losses = _smooth(run.losses)
        # They lie upon each other: ever shorter dashes let each be seen.
        dashes = (3, 3 * number / len(runs)) if number else (1, 0)
        colour = colours[run.framework]
        axes.plot(steps, losses, color=colour, lw=1.6, dashes=dashes, label=run.framework)
    axes.set(title=f"the loss by step (mean of {_SMOOTH})", xlabel="step", ylabel="cross-entropy")
    _spell_losses(axes)


def _draw_distances(axes: Axes, runs: Sequence[FrameworkRun], colours: dict[str, str]) -> None:
    """How far each went from the first one, at most, up to each step."""
    first, *others = [run for run in runs if run.first_losses] or runs
    for run in others:
        farthest = _farthest(first.first_losses, run.first_losses)
        steps = np.arange(len(farthest)) + 1
        axes.plot(steps, farthest, color=colours[run.framework], lw=1.2, label=run.framework)
    axes.plot([1, STEPS], 2 * [TOLERANCE], color="0.3", ls=":", label=f"allowed: {TOLERANCE:g}")
    axes.set(title=f"farthest from {first.framework}'s loss, up to each step", yscale="log")
    axes.set(xlabel="step, at the rate that a cycle begins with")


def _draw_by_clock(
    axes: Axes, runs: Sequence[FrameworkRun], colours: dict[str, str], batch: int
) -> None:
    for run in runs:
        if run.images_per_s:
            steps, losses = _smooth(run.losses)
            seconds = steps * batch / run.images_per_s
            axes.plot(seconds, losses, color=colours[run.framework], lw=1.2, label=run.framework)
    axes.set(title="the loss by the clock", xlabel="seconds in the framework's steps")
    _spell_losses(axes)


def _spell_losses(axes: Axes) -> None:
    """A logarithmic axis with numbers as one says them."""
    axes.set(yscale="log")
    axes.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.yaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _smooth(losses: Sequence[float]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Steps, and the means that end there."""
    width = min(_SMOOTH, len(losses))
    means = np.convolve(losses, np.full(width, 1 / width), mode="valid")
    return np.arange(width, len(losses) + 1), means


def _farthest(one: Sequence[float], other: Sequence[float]) -> NDArray[np.float64]:
    steps = min(len(one), len(other))
    found = np.maximum.accumulate(np.abs(np.subtract(one[:steps], other[:steps])))
    return np.where(found > 0, found, np.nan)  # a logarithm has no place for nought

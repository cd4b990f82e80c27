"""The losses of several frameworks in one picture: by step, how far apart, and by the clock."""

import io
from collections.abc import Sequence

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from numpy.typing import NDArray

from .agreement import STEPS, TOLERANCE
from .result import TrainingResult

_SMOOTH = 20  # steps that a point of a curve is the mean of


def draw_losses(result: TrainingResult) -> bytes:
    """The picture as PNG."""
    runs = [run for run in result.runs if run.losses]
    figure = Figure(figsize=(13, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    by_step, apart, by_clock = figure.subplots(1, 3)

    for number, run in enumerate(runs):
        losses = _smooth(run.losses)
        steps = np.arange(len(run.losses) - len(losses), len(run.losses)) + 1
        # They lie upon each other: ever shorter dashes let each be seen.
        dashes = (3, 3 * number / len(runs)) if number else (1, 0)
        by_step.plot(steps, losses, color=f"C{number}", lw=1.6, dashes=dashes, label=run.framework)
        if run.images_per_s:
            seconds = steps * result.recipe.batch / run.images_per_s
            by_clock.plot(seconds, losses, color=f"C{number}", lw=1.2, label=run.framework)
        if number:
            difference = _difference(runs[0].first_losses, run.first_losses)
            steps = np.arange(len(difference)) + 1
            apart.plot(steps, difference, color=f"C{number}", lw=1.0)

    by_step.set(title=f"by step (mean of {_SMOOTH})", xlabel="step", ylabel="cross-entropy")
    apart.set(title=f"the first steps: distance from {runs[0].framework}")
    apart.set(xlabel="step, at the rate that a cycle begins with", yscale="log")
    apart.plot([1, STEPS], 2 * [TOLERANCE], color="0.3", ls=":", label=f"allowed: {TOLERANCE:g}")
    by_clock.set(title="by the clock", xlabel="seconds in the framework's steps")
    for axes in (by_step, by_clock):
        axes.set(yscale="log")
    for axes in (by_step, apart, by_clock):
        axes.grid(alpha=0.3)
        if axes.has_data():
            axes.legend(frameon=False, fontsize="small")
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=110)
    return png.getvalue()


def _smooth(losses: Sequence[float]) -> NDArray[np.float64]:
    width = min(_SMOOTH, len(losses))
    return np.convolve(losses, np.full(width, 1 / width), mode="valid")


def _difference(one: Sequence[float], other: Sequence[float]) -> NDArray[np.float64]:
    steps = min(len(one), len(other))
    found = np.abs(np.subtract(one[:steps], other[:steps]))
    return np.where(found > 0, found, np.nan)  # a logarithm has no place for nought

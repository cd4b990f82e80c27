"""The pictures of a training: a learning curve a framework, and the losses of all."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...training import FrameworkRun, TrainingResult, TrainOptions
from ...training.agreement import STEPS, TOLERANCE
from .pictures import drawing, png, write_picture
from .vega import Spec, colour, layer, logarithmic, where, whole

Curve = tuple[str, Sequence[float], Sequence[float | None]]  # its name, and its points

_SIDE = 360  # pixels that a panel is wide
_SMOOTH = 20  # a point of a curve is the mean of so many steps
_COLOURS = [colour(f"family-{n}") for n in range(7)]
_DASHES = [[1, 0], [6, 1], [5, 2], [4, 3], [3, 4], [2, 5]]  # lines may lie upon each other


@dataclass(frozen=True)
class _Panel:
    """Curves on the same axes."""

    title: str
    x: str
    curves: Sequence[Curve]
    logarithmic: bool = True


def write_pictures(options: TrainOptions, result: TrainingResult) -> None:
    """A learning curve for each framework that came to the end, and the losses of all."""
    for run in result.runs:
        if run.status == "ok" and run.epochs:
            write_picture(options.curve(run.framework), learning_curve(run))
    if any(run.first_losses for run in result.runs):
        write_picture(options.picture, losses(result))


def learning_curve(run: FrameworkRun) -> bytes:
    """Loss and validation accuracy by epoch, as PNG."""
    chosen = run.chosen
    assert chosen is not None
    epochs = [epoch.epoch for epoch in run.epochs]
    losses = [
        ("training, augmented", epochs, [epoch.loss for epoch in run.epochs]),
        ("validation", epochs, [epoch.validation_loss for epoch in run.epochs]),
    ]
    right = [100 * epoch.validation_accuracy for epoch in run.epochs]
    found = f"validation {chosen.validation_accuracy:.2%}, test {run.test_accuracy:.2%}"
    return _png(
        _Panel("cross-entropy", "epoch", losses),
        _Panel("validation accuracy, %", "epoch", [("validation", epochs, right)], False),
        title=f"LeNet on MNIST: {found}, with the weights of epoch {chosen.epoch}",
    )


def losses(result: TrainingResult) -> bytes:
    """The losses by step and by the clock, and how far apart the first ones are, as PNG."""
    first, *others = [run for run in result.runs if run.first_losses]
    apart = [_farthest(first, run) for run in others]
    apart.append((f"allowed: {TOLERANCE:g}", [1, STEPS], 2 * [TOLERANCE]))
    title, batch = f"cross-entropy (mean of {_SMOOTH} steps)", result.recipe.batch
    by_step = [_smooth(run, 1) for run in result.runs if run.losses]
    by_clock = [_smooth(run, batch / run.images_per_s) for run in result.runs if run.images_per_s]
    farthest = f"farthest from {first.framework}'s loss, up to each step"
    return _png(
        _Panel(title, "step", by_step),
        _Panel(farthest, "step, at the rate that a cycle begins with", apart),
        _Panel(title, "seconds in the framework's steps", by_clock),
    )


def _png(*panels: _Panel, title: str = "") -> bytes:
    """Those that have curves, beside each other."""
    shown = [panel for panel in panels if panel.curves]
    rows = [
        {"panel": number, "name": name, "x": x, "y": y}
        for number, panel in enumerate(shown)
        for name, xs, ys in panel.curves
        for x, y in zip(xs, ys, strict=True)
    ]
    drawn = [_drawn(number, panel) for number, panel in enumerate(shown)]
    spec = whole((), title=title, hconcat=drawn)
    return png(drawing(spec, rows, wide=_SIDE * len(drawn)), 1.5)


def _drawn(number: int, panel: _Panel) -> Spec:
    y = logarithmic("y", f"concat_{number}_y", None, "format(datum.value, '~g')")
    if not panel.logarithmic:
        y = {"field": "y", "type": "quantitative", "title": None, "scale": {"zero": False}}
    x: Spec = {"field": "x", "type": "quantitative", "title": panel.x}
    x |= {"axis": {"tickMinStep": 1, "grid": False}}
    name: Spec = {"field": "name", "sort": None}
    shades, dashes = (name | {"scale": {"range": looks}} for looks in (_COLOURS, _DASHES))
    few = sum(len(xs) for _, xs, _ in panel.curves) < 100
    line = {"type": "line", "strokeWidth": 1.5, "point": few}
    curves = layer(line, x=x, y=y, color=shades, strokeDash=dashes)
    own = where(f"datum.panel === {number}", curves)
    return {"title": panel.title, "width": _SIDE, "height": 300, **own}


def _smooth(run: FrameworkRun, step: float) -> Curve:
    """The means that end at each step, so far from the next."""
    width = min(_SMOOTH, len(run.losses))
    means = np.convolve(run.losses, np.full(width, 1 / width), mode="valid")
    steps = np.arange(width, len(run.losses) + 1)
    return run.framework, (steps * step).tolist(), means.tolist()


def _farthest(first: FrameworkRun, other: FrameworkRun) -> Curve:
    """How far it went from the first one, at most, up to each step."""
    steps = min(len(first.first_losses), len(other.first_losses))
    far = np.abs(np.subtract(first.first_losses[:steps], other.first_losses[:steps]))
    farthest = np.maximum.accumulate(far).tolist()
    # A logarithm has no place for nought.
    return other.framework, range(1, steps + 1), [distance or None for distance in farthest]

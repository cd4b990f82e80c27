"""The pictures of a training run: its learning curve, and the losses of several frameworks."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import vl_convert

from .agreement import STEPS, TOLERANCE
from .result import FrameworkRun, TrainingResult

Spec = dict[str, Any]
Curve = tuple[str, Sequence[float], Sequence[float | None]]  # its name, and its points

_LOGARITHMIC = {"type": "log", "nice": False}
_FIRST_STEPS = "step, at the rate that a cycle begins with"
_SMOOTH = 20  # a point of a curve is the mean of so many steps
_DASHES = [[1, 0], [6, 1], [5, 2], [4, 3], [3, 4], [2, 5]]  # lines may lie upon each other


def draw_curve(run: FrameworkRun) -> bytes:
    """Loss and validation accuracy by epoch, as PNG."""
    chosen = run.chosen
    assert chosen is not None
    epochs = [epoch.epoch for epoch in run.epochs]
    losses = [
        ("training, augmented", epochs, [epoch.loss for epoch in run.epochs]),
        ("validation", epochs, [epoch.validation_loss for epoch in run.epochs]),
    ]
    right = ("validation", epochs, [100 * epoch.validation_accuracy for epoch in run.epochs])
    found = f"validation {chosen.validation_accuracy:.2%}, test {run.test_accuracy:.2%}"
    panels = [
        _panel("cross-entropy", "epoch", losses),
        _panel("validation accuracy, %", "epoch", [right], scale={"zero": False}),
    ]
    return _png(panels, f"LeNet on MNIST: {found}, with the weights of epoch {chosen.epoch}")


def draw_losses(result: TrainingResult) -> bytes:
    """The picture as PNG; only the first steps where no more were made."""
    first, *others = [run for run in result.runs if run.first_losses]
    apart = [_farthest(first, run) for run in others]
    apart.append((f"allowed: {TOLERANCE:g}", [1, STEPS], 2 * [TOLERANCE]))
    title, batch = f"cross-entropy (mean of {_SMOOTH} steps)", result.recipe.batch
    by_step = [_smooth(run, 1) for run in result.runs if run.losses]
    by_clock = [_smooth(run, batch / run.images_per_s) for run in result.runs if run.images_per_s]
    panels = [
        (title, "step", by_step),
        (f"farthest from {first.framework}'s loss, up to each step", _FIRST_STEPS, apart),
        (title, "seconds in the framework's steps", by_clock),
    ]
    return _png([_panel(*panel) for panel in panels if panel[2]])


def _panel(title: str, x: str, curves: Sequence[Curve], scale: Spec = _LOGARITHMIC) -> Spec:
    named = {"field": "name", "sort": None, "title": None}
    rows = [
        {"name": name, "x": x, "y": y}
        for name, xs, ys in curves
        for x, y in zip(xs, ys, strict=True)
    ]
    encoding = {
        "x": {"field": "x", "type": "quantitative", "title": x, "axis": {"tickMinStep": 1}},
        "y": {"field": "y", "type": "quantitative", "title": None, "scale": scale},
        "color": named,
        "strokeDash": named | {"scale": {"range": _DASHES}},
    }
    mark = {"type": "line", "strokeWidth": 1.5, "point": len(rows) < 100}
    size = {"width": 360, "height": 300}
    return {"title": title, **size, "mark": mark, "encoding": encoding, "data": {"values": rows}}


def _png(panels: Sequence[Spec], title: str = "") -> bytes:
    axes = {"axisQuantitative": {"gridOpacity": 0.4}}
    spec = {"title": title, "background": "white", "hconcat": panels, "config": axes}
    png: bytes = vl_convert.vegalite_to_png(spec, scale=1.5)
    return png


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

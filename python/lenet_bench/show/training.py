"""A training in one framework or several: how far it is, what came of it, and its pictures."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from .. import units
from ..training import FrameworkRun, TrainingResult, TrainOptions
from ..training.result import STEPS, TOLERANCE
from ..units import counted
from .figures.pictures import drawing, png, write_picture
from .figures.vega import Spec, colour, layer, logarithmic, where, whole
from .sentences import processor
from .terminal.screen import Screen
from .terminal.table import Column, table

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
        yield "No framework finished."
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

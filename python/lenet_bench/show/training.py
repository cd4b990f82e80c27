"""A training in one framework or several: how far it is, what came of it, its learning curve."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .. import units
from ..training import FrameworkRun, TrainingResult, TrainOptions
from ..training.result import STEPS, TOLERANCE
from ..units import counted
from .figures.pictures import drawing, png, write_picture
from .figures.vega import Spec, colour, layer, logarithmic, where, whole
from .sentences import processor
from .terminal.screen import Screen
from .terminal.table import Column, table

Curve = tuple[str, Sequence[float], Sequence[float]]  # its name, and its points

_SIDE = 360  # pixels that a panel is wide
_COLOURS = [colour(f"family-{n}") for n in range(7)]


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
    """How much was learned from, as far as any framework came."""
    steps = max((run.steps // len(run.epochs) for run in result.runs if run.epochs), default=0)
    return f"{counted(result.recipe.epochs, 'epoch')} of {counted(steps, 'batch')}"


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
    if (difference := result.difference) is None:
        return
    mark = "✓" if result.agrees else "✗"
    text = (
        f"{mark} the losses of the first {STEPS} steps are at most {difference:.1e} apart;"
        f" {TOLERANCE:g} is allowed"
    )
    yield from screen.wrap(text, "green" if result.agrees else "red")


def write_curves(options: TrainOptions, result: TrainingResult) -> None:
    """A learning curve for each framework that came to the end."""
    for run in result.runs:
        if run.status == "ok":
            write_picture(options.curve(run.framework), learning_curve(run))


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


def _png(*panels: _Panel, title: str = "") -> bytes:
    """The panels beside each other."""
    rows = [
        {"panel": number, "name": name, "x": x, "y": y}
        for number, panel in enumerate(panels)
        for name, xs, ys in panel.curves
        for x, y in zip(xs, ys, strict=True)
    ]
    drawn = [_drawn(number, panel) for number, panel in enumerate(panels)]
    spec = whole((), title=title, hconcat=drawn)
    return png(drawing(spec, rows, wide=_SIDE * len(drawn)), 1.5)


def _drawn(number: int, panel: _Panel) -> Spec:
    y = logarithmic("y", f"concat_{number}_y", None, "format(datum.value, '~g')")
    if not panel.logarithmic:
        y = {"field": "y", "type": "quantitative", "title": None, "scale": {"zero": False}}
    x: Spec = {"field": "x", "type": "quantitative", "title": panel.x}
    x |= {"axis": {"tickMinStep": 1, "grid": False}}
    name: Spec = {"field": "name", "sort": None}
    line = {"type": "line", "strokeWidth": 1.5, "point": True}
    curves = layer(line, x=x, y=y, color=name | {"scale": {"range": _COLOURS}})
    own = where(f"datum.panel === {number}", curves)
    return {"title": panel.title, "width": _SIDE, "height": 300, **own}

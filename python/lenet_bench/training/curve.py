"""The learning curve: loss and validation accuracy by epoch, as a picture."""

import io
from collections.abc import Sequence

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from .checkpoint import Epoch


def draw(history: Sequence[Epoch], title: str) -> bytes:
    """The picture as PNG."""
    epochs = [epoch.epoch for epoch in history]
    figure = Figure(figsize=(9, 4), layout="constrained")
    FigureCanvasAgg(figure)
    figure.suptitle(title)
    losses, accuracies = figure.subplots(1, 2)

    losses.plot(epochs, [e.loss for e in history], "o-", ms=3, label="training, augmented")
    losses.plot(epochs, [e.validation_loss for e in history], "o-", ms=3, label="validation")
    losses.set(xlabel="epoch", ylabel="cross-entropy", yscale="log")
    losses.legend(frameon=False)

    best = min(history, key=lambda epoch: epoch.validation_loss)
    accuracies.plot(epochs, [100 * e.validation_accuracy for e in history], "o-", ms=3)
    accuracies.axvline(best.epoch, color="0.6", ls=":", label=f"chosen: epoch {best.epoch}")
    accuracies.set(xlabel="epoch", ylabel="validation accuracy, %")
    accuracies.legend(frameon=False, loc="lower right")

    for axes in (losses, accuracies):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.grid(alpha=0.3)
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=110)
    return png.getvalue()

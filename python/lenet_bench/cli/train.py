"""`train`: new weights."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from ..choices import FRAMEWORKS, Recipe
from .options import Real, Whole, command, data_option, json_option, option, option_group, usable
from .output import SUCCESS, WRONG, answer, note, screen, to_stderr

WEIGHTS, FOLDER = Path("lenet.safetensors"), Path("results/train")


def _choice(name: str, values: Any, meaning: str) -> Callable[[Any], Any]:
    """An option for a choice of the recipe."""
    default = getattr(Recipe, name)
    return click.option(
        f"--{name.replace('_', '-')}",
        type=values,
        default=default,
        show_default=default is not None,
        metavar="X" if isinstance(default, float) else "N",
        help=meaning,
    )


_recipe_options = option_group(
    _choice("epochs", Whole(1), "Passes over the training images."),
    _choice("batch", Whole(1), "Images per step."),
    _choice("rate", Real(0, 1e9, min_open=True), "Highest learning rate of the cycle."),
    _choice("momentum", Real(0, 1, max_open=True), "Nesterov momentum."),
    _choice("weight_decay", Real(0, 1), "L2 penalty on the weights."),
    _choice("seed", Whole(0), "The same seed and number of threads give the same weights."),
    _choice("validation", Whole(1), "Training images held out to choose the epoch."),
    _choice("images", Whole(1), "Use only N training images, those held out included. [all]"),
)


@command("Train the network on MNIST, in one framework or several.")
@option(
    "--framework NAME",
    f"{', '.join(FRAMEWORKS)}, or `all`. Repeatable.",
    "named",
    kind=click.Choice([*FRAMEWORKS, "all"]),
    multiple=True,
    default=("keras",),
)
@option(
    "-o, --output FILE",
    "The weights (.safetensors), or the folder for those of several frameworks."
    f" [{WEIGHTS}; of several frameworks {FOLDER}]",
)
@data_option
@option(
    "--threads N",
    "Threads of a framework. [1; one framework alone chooses]",
    callback=usable,
)
@json_option
@_recipe_options
def train(
    named: tuple[str, ...],
    output: Path | None,
    data: Path | None,
    threads: int | None,
    as_json: bool,
    **recipe: Any,
) -> int:
    """Train the network on MNIST, and write its weights.

    Several frameworks train one after another: from the same first weights and the same batches,
    each in a process of its own. The table has their speed and losses. The command fails if a
    framework fails, or if the losses of the first steps do not agree.

    Progress is on stderr. The best weights so far are written after each epoch; Ctrl-C stops at
    once and leaves them.

    $ lenet-bench train
    $ lenet-bench train --framework torch --seed 7 -o seven.safetensors
    $ lenet-bench train --framework all --epochs 2  the same run in each
    $ lenet-bench train --framework torch --framework jax --epochs 1 -o try
    """
    from msgspec import to_builtins

    from .. import training
    from ..measure.environment import read_machine
    from ..show.training import news, table_of
    from ..texts import printable

    frameworks = tuple(FRAMEWORKS) if "all" in named else tuple(dict.fromkeys(named))
    output = output or (FOLDER if len(frameworks) > 1 else WEIGHTS)
    if not output.is_dir() and (output.suffix or output.exists()):  # a file
        if len(frameworks) > 1:
            raise click.UsageError(f"{output}: several frameworks need a folder")
        if output.suffix != WEIGHTS.suffix:
            wanted = f"a name that ends in {WEIGHTS.suffix}, or a folder"
            raise click.UsageError(f"{output}: expected {wanted}")
    made = Recipe(**recipe)

    def watch(run: training.FrameworkRun) -> None:
        to_stderr(printable(news(run, made.epochs)))

    result = training.train(
        output, frameworks, recipe=made, data=data, threads=threads, watch=watch
    )
    found = {"environment": to_builtins(read_machine()), **result.to_json()}
    answer(as_json, found, table_of(screen(), result))
    for run in result.runs:
        if run.status == "ok" and run.chosen:
            best = f"epoch {run.chosen.epoch}, which had the lowest validation loss"
            note(f"{run.weights} holds the weights of {best}")
    statuses = {run.status for run in result.runs}
    if frameworks == tuple(FRAMEWORKS):  # `all` means all that are installed
        statuses.discard("unavailable")
    return SUCCESS if statuses == {"ok"} and result.agrees else WRONG

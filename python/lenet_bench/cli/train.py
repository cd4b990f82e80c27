"""`train`: new weights."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ..errors import LenetBenchError
from .options import command, data_option, json_option, option, option_group, usable
from .output import INTERRUPTED, SUCCESS, WRONG, answer, note, screen

#: The frameworks that train, and the choices of the recipe with their defaults; training, which has
#: both, is imported once there is something to train.
FRAMEWORKS = ("keras", "keras-jax", "keras-torch", "tensorflow", "torch", "jax")
RECIPE: dict[str, tuple[float | None, str]] = {
    "epochs": (30, "Passes over the training images."),
    "batch": (128, "Images per step."),
    "rate": (0.05, "Highest learning rate of the cycle."),
    "momentum": (0.9, "Nesterov momentum."),
    "weight_decay": (0.0005, "L2 penalty on the weights."),
    "seed": (1, "The same seed gives the same weights."),
    "validation": (5000, "Training images held out to choose the epoch."),
    "images": (None, "Use only N training images, those held out included. [all]"),
}
WEIGHTS, FOLDER = Path("lenet.safetensors"), Path("results/train")


_recipe_options = option_group(
    *(
        click.option(
            f"--{name.replace('_', '-')}",
            type=int if default is None else type(default),
            default=default,
            show_default=default is not None,
            metavar="X" if isinstance(default, float) else "N",
            help=meaning,
        )
        for name, (default, meaning) in RECIPE.items()
    )
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
@option(
    "--timeout TIME",
    "Stop waiting for a framework that makes no step for this time.",
    default="10m",
)
@json_option
@_recipe_options
def train(
    named: tuple[str, ...],
    output: Path | None,
    data: Path | None,
    threads: int | None,
    timeout: float,
    as_json: bool,
    **recipe: Any,
) -> int:
    """Train the network on MNIST, and write its weights and its learning curve.

    Several frameworks train side by side: from the same first weights and the same batches, each in
    a process of its own. The table has their speed, memory and losses. The command fails if a
    framework fails, or if the losses of the first steps do not agree.

    Progress is on stderr. The best weights so far are written after each epoch; Ctrl-C stops at
    once and leaves them.

    $ lenet-bench train
    $ lenet-bench train --framework torch --seed 7 -o seven.safetensors
    $ lenet-bench train --framework all --epochs 2  the same run in each
    $ lenet-bench train --framework torch --framework jax --epochs 1 -o try
    """
    from ..show.figures.pictures import library
    from ..show.training import news, training, write_curves
    from ..texts import printable
    from ..training import FrameworkRun, Recipe, TrainOptions, check_options
    from ..training import train as train_network

    frameworks = FRAMEWORKS if "all" in named else tuple(dict.fromkeys(named))
    output = output or (FOLDER if len(frameworks) > 1 else WEIGHTS)
    options = TrainOptions(output, frameworks, Recipe(**recipe), data, threads, timeout)
    if options.compared:
        options = replace(options, threads=threads or 1)
    try:
        check_options(options)
    except LenetBenchError as error:
        raise click.UsageError(str(error)) from None
    library("vl_convert")  # without it a run would end without its pictures

    def watch(run: FrameworkRun) -> None:
        click.echo(printable(news(run, options.recipe.epochs)), err=True)

    result = train_network(options, watch=watch)
    write_curves(options, result)
    one = result.runs[0]
    files = {"weights": str(output), "curve": str(options.curve(one.framework))}
    value = result.to_json() if options.compared else {**files, **one.to_json()}
    answer(as_json, value, training(screen(), result))
    if options.compared:
        note(f"{output} holds the weights of each framework")
    elif one.chosen and one.status == "ok":
        best = f"the weights of epoch {one.chosen.epoch}, which had the lowest validation loss"
        note(f"{output} holds {best}")
    statuses = {run.status for run in result.runs}
    if "interrupted" in statuses:
        return INTERRUPTED
    if frameworks == FRAMEWORKS:  # `all` means all that are installed
        statuses.discard("unavailable")
    return SUCCESS if statuses == {"ok"} and result.agrees else WRONG

"""`train`: new weights."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import LenetBenchError
from .options import FILE, Command, data_option, json_option, seconds, usable
from .output import INTERRUPTED, SUCCESS, WRONG, answer, complain, note, screen

if TYPE_CHECKING:
    from ..training import Recipe

#: The frameworks that train, and the choices of the recipe with their defaults; training, which has
#: both, is imported once there is something to train.
FRAMEWORKS = ("keras", "keras-jax", "keras-torch", "tensorflow", "torch", "jax")
RECIPE: dict[str, tuple[float | None, str]] = {
    "epochs": (30, "Passes over the training images. 0, with -o FILE.json: only the first steps."),
    "batch": (128, "Images a step."),
    "rate": (0.05, "Learning rate at the top of its cycle."),
    "momentum": (0.9, "Nesterov momentum."),
    "weight_decay": (0.0005, "L2 penalty on the weights."),
    "seed": (1, "The same seed gives the same weights."),
    "validation": (5000, "Training images held out to choose the epoch."),
    "images": (None, "Use only N training images, those held out included. [all]"),
}
WEIGHTS, RESULT = Path("lenet.safetensors"), Path("results/train.json")


def recipe_options(command: Command) -> Command:
    """An option for each choice of a training recipe."""
    for name, (default, meaning) in reversed(RECIPE.items()):
        kind = int if default is None else type(default)
        option = click.option(
            f"--{name.replace('_', '-')}",
            type=kind,
            default=default,
            show_default=default is not None,
            help=meaning,
        )
        command = option(command)
    return command


@click.command(
    short_help="Train the network on MNIST, in one framework or several.",
    epilog="""\b
Examples:
  lenet-bench train
  lenet-bench train --framework torch --seed 7 -o seven.safetensors
  lenet-bench train --framework all --epochs 2  the same run in each
  lenet-bench train --framework torch --framework jax --epochs 1 -o try.json
""",
)
@click.option(
    "--framework",
    "named",
    metavar="NAME",
    multiple=True,
    default=("keras",),
    show_default=True,
    type=click.Choice([*FRAMEWORKS, "all"]),
    help=f"{', '.join(FRAMEWORKS)}, or `all`. Repeatable.",
)
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="The weights (.safetensors), or the result of one or several frameworks (.json)."
    f" [{WEIGHTS}; of several frameworks {RESULT}]",
)
@data_option
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    callback=usable,
    metavar="N",
    help="Threads of a framework. [side by side 1, else the framework's own default]",
)
@click.option(
    "--timeout",
    type=seconds,
    metavar="TIME",
    help="Side by side: stop a framework that makes no step for this time. [10m]",
)
@json_option
@recipe_options
def train(
    named: tuple[str, ...],
    output: Path | None,
    data: Path | None,
    threads: int | None,
    timeout: float | None,
    as_json: bool,
    **recipe: Any,
) -> int:
    """Train the network on MNIST, and write its weights and its learning curve.

    Several frameworks learn side by side: from the same first weights and the same batches, each in
    a process of its own. The result file has their speed, memory and losses. The command fails
    where a framework fails, or where the losses of the first steps do not agree. Given a result
    file of the same training, it trains only the frameworks that are missing there.

    Progress is on stderr. The best weights so far are written after each epoch; Ctrl-C stops after
    the current batch and leaves them.
    """
    named = FRAMEWORKS if "all" in named else tuple(dict.fromkeys(named))
    output = output or (RESULT if len(named) > 1 else WEIGHTS)
    options: dict[str, Any] = {"data": data, "threads": threads}
    if output.suffix == ".json":
        options |= {"recipe": _recipe(recipe, epochs_from=0), "threads": threads or 1}
        if timeout is not None:
            options["timeout_s"] = timeout
        return _side_by_side(named, output, as_json, options)
    if len(named) > 1:
        raise click.UsageError(f"{output}: several frameworks need a file that ends in .json")
    if timeout is not None:
        raise click.UsageError("--timeout is for frameworks side by side: -o FILE.json")
    return _alone(named[0], output, as_json, options | {"recipe": _recipe(recipe, epochs_from=1)})


def _alone(framework: str, output: Path, as_json: bool, options: dict[str, Any]) -> int:
    from ..show.terminal.training import training
    from ..training import Interrupted, TrainOptions
    from ..training import train as train_network

    try:
        result = train_network(TrainOptions(output, framework=framework, **options))
    except Interrupted as error:
        complain(str(error))
        return INTERRUPTED
    answer(as_json, result.to_json(), training(screen(), result))
    return SUCCESS


def _side_by_side(
    frameworks: tuple[str, ...], output: Path, as_json: bool, options: dict[str, Any]
) -> int:
    from ..show.terminal.training import side_by_side
    from ..training import SideBySideOptions, train_side_by_side

    result = train_side_by_side(SideBySideOptions(frameworks, output, **options))
    answer(as_json, result.to_json(), side_by_side(screen(), result))
    note(f"{output} holds every loss")
    statuses = {run.status for run in result.runs}
    if "interrupted" in statuses:
        return INTERRUPTED
    if frameworks == FRAMEWORKS:  # `all` means all that are installed
        statuses.discard("unavailable")
    agreed = result.agreement is None or result.agreement.holds
    return SUCCESS if statuses == {"ok"} and agreed else WRONG


def _recipe(given: dict[str, Any], epochs_from: int) -> "Recipe":
    from ..training.recipe import Recipe, check_recipe

    recipe = Recipe(**given)
    try:
        check_recipe(recipe, epochs_from=epochs_from)
    except LenetBenchError as error:
        raise click.UsageError(str(error)) from None
    return recipe

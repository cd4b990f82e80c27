"""`train`: new weights."""

import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import LenetBenchError
from ..terminal import Screen
from .options import FILE, FOLDER, Command, data_option
from .output import INTERRUPTED, SUCCESS, complain, say

if TYPE_CHECKING:
    from ..training import Recipe


class RecipeOption(click.Option):
    """A choice of the training recipe, whose default is read only when help shows it."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """The option and its meaning, with the recipe's default."""
        from ..training import Recipe

        recipe = Recipe().to_json()
        default = {**recipe, **recipe["augmentation"]}[str(self.name)]
        names, meaning = super().get_help_record(ctx) or ("", "")
        return names, f"{meaning}  [default: {'all' if default is None else default}]"


#: A training recipe's choices as options: the type and the meaning.
RECIPE_OPTIONS: dict[str, tuple[type, str]] = {
    "epochs": (int, "How often each image is learnt from."),
    "batch": (int, "Images a step."),
    "rate": (float, "Learning rate at the top of its cycle."),
    "momentum": (float, "Nesterov momentum."),
    "weight_decay": (float, "L2 penalty on the weights."),
    "seed": (int, "The same seed gives the same weights."),
    "validation": (int, "Training images held out to choose the epoch."),
    "images": (int, "Use only so many training images."),
    "rotation": (float, "Turn images by up to so many degrees."),
    "scale": (float, "Grow or shrink them by up to this part."),
    "shear": (float, "Slant them by up to this."),
    "shift": (float, "Move them by up to so many pixels."),
    "thicker": (float, "Thicken strokes by up to so many pixels."),
    "thinner": (float, "Thin strokes by up to so many pixels."),
    "blur": (float, "Blur by up to this part of a 3x3 blur."),
    "contrast": (float, "Fade ink by up to this part."),
}


def recipe_options(command: Command) -> Command:
    """An option for each choice of a training recipe."""
    for name, (kind, meaning) in reversed(RECIPE_OPTIONS.items()):
        flag = f"--{name.replace('_', '-')}"
        command = click.option(flag, cls=RecipeOption, type=kind, help=meaning)(command)
    return command


@click.command(
    short_help="Train the network in Keras on MNIST.",
    epilog="""\b
Examples:
  lenet-bench train
  lenet-bench train --data ~/mnist --seed 7 --output seven.safetensors
  lenet-bench train --resume                    go on after a Ctrl-C
  lenet-bench train --images 6000 --epochs 2    a quick try
""",
)
@click.option(
    "--output",
    type=FILE,
    metavar="FILE",
    default=Path("lenet.safetensors"),
    show_default=True,
    help="The weights file to write.",
)
@data_option
@click.option(
    "--checkpoints",
    type=FOLDER,
    metavar="DIR",
    help="Where the run is kept while it lasts. [default: checkpoints beside the output]",
)
@click.option("--resume", is_flag=True, help="Go on with the run that the checkpoint holds.")
@recipe_options
def train(
    output: Path,
    data: Path | None,
    checkpoints: Path | None,
    resume: bool,
    **recipe: Any,
) -> int:
    """Train the network in Keras on MNIST, and write its weights.

    Shows its progress on stderr, and draws a learning curve beside the output. Ctrl-C leaves a
    checkpoint behind; the same command with --resume goes on from it.
    """
    from ..printout import training
    from ..training import Interrupted, TrainOptions
    from ..training import train as train_network

    options = TrainOptions(output, data, checkpoints, resume, _recipe(recipe))
    try:
        result = train_network(options)
    except Interrupted as error:
        complain(str(error))
        return INTERRUPTED
    say(training(Screen.of(sys.stdout), result))
    return SUCCESS


def _recipe(given: dict[str, Any]) -> "Recipe | None":
    """The recipe that the options name; None where they name nothing."""
    from ..training.recipe import Augmentation, Recipe, check_recipe

    named = {name: value for name, value in given.items() if value is not None}
    if not named:
        return None
    changes = {name: named.pop(name) for name in asdict(Augmentation()) if name in named}
    recipe = Recipe(**named, augmentation=Augmentation(**changes))
    try:
        check_recipe(recipe)
    except LenetBenchError as error:
        raise click.UsageError(str(error)) from None
    return recipe

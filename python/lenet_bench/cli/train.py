"""`train`: new weights."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..errors import LenetBenchError
from ..terminal import Screen
from .options import FILE, FOLDER, Command, data_option, json_option, seconds, usable
from .output import INTERRUPTED, SUCCESS, WRONG, complain, note, say

if TYPE_CHECKING:
    from ..training import Recipe

ALL = "all"
WEIGHTS, RESULT = Path("lenet.safetensors"), Path("results/train.json")


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
    "epochs": (int, "How often each image is learnt from. 0: only the first steps, side by side."),
    "batch": (int, "Images a step."),
    "rate": (float, "Learning rate at the top of its cycle."),
    "momentum": (float, "Nesterov momentum."),
    "weight_decay": (float, "L2 penalty on the weights."),
    "seed": (int, "The same seed gives the same weights."),
    "validation": (int, "Training images held out to choose the epoch."),
    "images": (int, "Use only so many training images, those held out among them."),
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


def frameworks(
    _context: click.Context, _option: click.Parameter, given: tuple[str, ...]
) -> tuple[str, ...]:
    """The frameworks that are meant, each once."""
    from ..training import FRAMEWORKS

    for name in given:
        if name not in (*FRAMEWORKS, ALL):
            raise click.BadParameter(f"{name!r} is none of {', '.join((*FRAMEWORKS, ALL))}")
        if given.count(name) > 1:
            raise click.BadParameter(f"{name} is named twice")
    return FRAMEWORKS if ALL in given else given


def complete_framework(_context: click.Context, _option: click.Parameter, begun: str) -> list[str]:
    """Frameworks and `all` that begin so."""
    from ..training import FRAMEWORKS

    return [name for name in (*FRAMEWORKS, ALL) if name.startswith(begun)]


@click.command(
    short_help="Train the network on MNIST, in one framework or several.",
    epilog="""\b
Examples:
  lenet-bench train
  lenet-bench train --framework torch --seed 7 -o seven.safetensors
  lenet-bench train --resume                    go on after a Ctrl-C
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
    callback=frameworks,
    shell_complete=complete_framework,
    help="keras, keras-jax, keras-torch, tensorflow, torch, jax, or `all`. Repeatable.",
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
    "--checkpoints",
    type=FOLDER,
    metavar="DIR",
    help="Where a run is kept while it lasts. [default: checkpoints beside the weights]",
)
@click.option("--resume", is_flag=True, help="Go on with what an interrupted run left behind.")
@click.option(
    "--threads",
    type=click.IntRange(min=1),
    callback=usable,
    metavar="N",
    help="Threads of a framework. [side by side 1, else as many as it likes]",
)
@click.option(
    "--timeout",
    callback=seconds,
    metavar="TIME",
    help="Side by side: give a framework up that makes no step for so long. [10m]",
)
@json_option
@recipe_options
def train(
    named: tuple[str, ...],
    output: Path | None,
    timeout: float | None,
    as_json: bool,
    **rest: Any,
) -> int:
    """Train the network on MNIST, and write its weights and its learning curve.

    Several frameworks learn side by side: from the same first weights and the same batches, each in
    a process of its own. The result has their speed, memory and losses; it fails where one fails,
    or where the losses of the first steps do not agree.

    Progress is on stderr. Ctrl-C leaves a checkpoint behind; the same command with --resume goes on
    from it.
    """
    several = len(named) > 1
    output = output or (RESULT if several else WEIGHTS)
    if several and output.suffix != ".json":
        raise click.UsageError(
            f"{output}: several frameworks have a result: expected a name that ends in .json"
        )
    common = {name: rest.pop(name) for name in ("data", "checkpoints", "resume", "threads")}
    if output.suffix == ".json":
        common["recipe"] = _recipe(rest, epochs_from=0)
        if timeout is not None:
            common["timeout_s"] = timeout
        return _side_by_side(named, output, as_json, common)
    if timeout is not None:
        raise click.UsageError("--timeout is for frameworks side by side: -o FILE.json")
    common["recipe"] = _recipe(rest, epochs_from=1)
    return _alone(named[0], output, as_json, common)


def _alone(framework: str, output: Path, as_json: bool, options: dict[str, Any]) -> int:
    from ..printout.training import training
    from ..training import Interrupted, TrainOptions
    from ..training import train as train_network

    try:
        result = train_network(TrainOptions(output, framework=framework, **options))
    except Interrupted as error:
        complain(str(error))
        return INTERRUPTED
    say([json.dumps(result.to_json())] if as_json else training(Screen.of(sys.stdout), result))
    return SUCCESS


def _side_by_side(
    frameworks: tuple[str, ...], output: Path, as_json: bool, options: dict[str, Any]
) -> int:
    from ..printout.training import side_by_side
    from ..training import FRAMEWORKS, SideBySideOptions, digest, train_side_by_side

    asked = SideBySideOptions(frameworks, output, **options)
    result = train_side_by_side(asked)
    if as_json:
        say([json.dumps(digest(result), indent=2)])
    else:
        say(side_by_side(Screen.of(sys.stdout), result))
    note(f"every loss is in {output}")
    statuses = {run.status for run in result.runs}
    if "interrupted" in statuses:
        return INTERRUPTED
    if frameworks == FRAMEWORKS:  # `all` that are here
        statuses.discard("unavailable")
    agreed = result.agreement is None or result.agreement.holds
    return SUCCESS if statuses == {"ok"} and agreed else WRONG


def _recipe(given: dict[str, Any], epochs_from: int) -> "Recipe | None":
    """The recipe that the options name; None where they name nothing."""
    from ..training.recipe import Augmentation, Recipe, check_recipe

    named = {name: value for name, value in given.items() if value is not None}
    if not named:
        return None
    changes = {name: named.pop(name) for name in asdict(Augmentation()) if name in named}
    recipe = Recipe(**named, augmentation=Augmentation(**changes))
    try:
        check_recipe(recipe, epochs_from=epochs_from)
    except LenetBenchError as error:
        raise click.UsageError(str(error)) from None
    return recipe

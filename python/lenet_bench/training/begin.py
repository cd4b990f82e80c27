"""Where a run begins: anew, or where the checkpoint of an earlier one stopped."""

import hashlib
from pathlib import Path

from ..errors import LenetBenchError
from ..mnist import Digits
from ..numerals import counted
from .checkpoint import Checkpoint, read_checkpoint
from .options import TrainOptions
from .recipe import Recipe, first_weights
from .trainer import State, zero_velocity


def begin(options: TrainOptions, digits: Digits) -> Checkpoint:
    """A new run; an unfinished one is not thrown away unasked."""
    recipe = options.recipe or Recipe()
    check_nothing_lost(options)
    parameters = first_weights(recipe)
    state = State(parameters, zero_velocity())
    return Checkpoint(recipe, checksum(digits), state, best=parameters, framework=options.framework)


def resume(options: TrainOptions, digits: Digits) -> Checkpoint:
    """The run that the checkpoint holds, if it is the one that the options mean."""
    checkpoint = read_checkpoint(options.checkpoint)
    if checkpoint.framework != options.framework:
        raise LenetBenchError(
            f"{options.checkpoint} holds a run in {checkpoint.framework}, not in"
            f" {options.framework}: resume it with --framework {checkpoint.framework}, or delete it"
        )
    if options.recipe is not None:
        check_same_recipe(options.checkpoint, checkpoint.recipe, options.recipe)
    if checkpoint.data != checksum(digits):
        raise LenetBenchError(
            f"{options.checkpoint} holds a run on other training images:"
            " resume it with the data that it began with, or delete it"
        )
    return checkpoint


def check_nothing_lost(options: TrainOptions) -> None:
    """Raise LenetBenchError where a new run would take the place of an unfinished one."""
    try:
        left = read_checkpoint(options.checkpoint)
    except LenetBenchError:  # an absent or damaged one holds nothing to lose
        return
    if not left.finished:
        epochs = counted(left.recipe.epochs, "epoch")
        raise LenetBenchError(
            f"{options.checkpoint} holds an unfinished run ({left.epoch} of {epochs}):"
            " add --resume to go on with it, or delete it to begin anew"
        )


def check_same_recipe(path: Path, found: Recipe, asked: Recipe) -> None:
    """Raise LenetBenchError, naming what differs, unless the run in this file can go on."""
    before, now = found.to_json(), asked.to_json()
    if changed := [name for name in now if now[name] != before[name]]:
        told = ", ".join(f"{n} {now[n]} instead of {before[n]}" for n in changed)
        raise LenetBenchError(
            f"{path} holds a run of another recipe ({told}):"
            " resume it with the options that it began with, or delete it"
        )


def checksum(digits: Digits) -> str:
    """Of the images that are learnt from, and their labels."""
    return hashlib.sha256(digits.images.tobytes() + digits.labels.tobytes()).hexdigest()

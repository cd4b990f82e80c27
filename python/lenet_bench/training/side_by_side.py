"""The same recipe in several frameworks, one after another, each in a process of its own.

All begin with the same weights and see the same batches, so that what differs is the framework: its
speed, its memory, and how its rounding grows. The result is written after each; one that fails
costs its own row.
"""

import sys
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from .. import __version__
from ..errors import LenetBenchError, ResultError
from ..measure.environment import read_environment
from ..mnist import find_mnist, read_mnist
from .apart import train_apart
from .begin import check_nothing_lost, check_same_recipe, checksum
from .checkpoint import write_file
from .frameworks import TRAINERS, import_extras
from .options import TrainOptions, check_files, check_places
from .progress import downloading, on_stderr
from .recipe import Recipe, check_recipe
from .result import FrameworkRun, TrainingResult, read_training, write_training

if TYPE_CHECKING:
    from rich.console import Console


@dataclass(frozen=True)
class SideBySideOptions:
    """What to train in which frameworks, and into which files."""

    frameworks: tuple[str, ...]
    output: Path = Path("results/train.json")
    data: Path | None = None
    checkpoints: Path | None = None
    resume: bool = False  # keep the rows that the output has, go on with the others
    recipe: Recipe | None = None  # None: the default one, or the output's
    threads: int | None = None  # None: 1, or the output's
    timeout_s: float = 600.0  # give a framework up that makes no step for so long

    @property
    def picture(self) -> Path:
        """The losses of all, beside the output."""
        return self.output.with_suffix(".png")

    def of(self, framework: str) -> TrainOptions:
        """One framework's run: its files lie in a folder beside the output."""
        output = self.output.with_suffix("") / f"{framework}.safetensors"
        return TrainOptions(
            output=output,
            data=self.data,
            checkpoints=self.checkpoints,
            recipe=self.recipe,
            framework=framework,
            threads=self.threads,
            compared=True,
        )


def train_side_by_side(
    options: SideBySideOptions, *, console: "Console | None" = None
) -> TrainingResult:
    """Train in each framework, write the result and its picture."""
    _check(options)
    earlier = _earlier(options) if options.resume else None
    console = console or on_stderr()
    told = partial(console.print, highlight=False, markup=False, soft_wrap=True)
    with downloading(console) as progress:
        folder = find_mnist(options.data, progress=progress)
    data = checksum(read_mnist("train", folder))
    result = _resumed(options, earlier, data) if earlier else _begun(options, data)
    options = replace(options, data=folder, recipe=result.recipe, threads=result.threads)
    write_training(options.output, result)
    for framework in options.frameworks:
        if result.run(framework):
            continue  # learnt before the run was resumed
        told(framework, style="bold")
        run = _train(options, framework)
        if run.reason:
            told(f"{framework}: {run.reason}", style="red")
        result = _with_row(result, run)
        write_training(options.output, result)
        if run.status == "interrupted":
            break
    if any(run.first_losses for run in result.runs):
        from .loss_curves import draw_losses

        write_file(options.picture, draw_losses(result))
    return result


def _check(options: SideBySideOptions) -> None:
    """Raise LenetBenchError for whatever would end the run later."""
    if unknown := [name for name in options.frameworks if name not in TRAINERS]:
        raise LenetBenchError(f"{unknown[0]!r} is none of {', '.join(TRAINERS)}")
    recipe = options.recipe or Recipe()
    check_recipe(recipe, epochs_from=0)
    if options.output.suffix != ".json":
        raise LenetBenchError(f"{options.output}: expected a name that ends in .json")
    check_files(options.output, options.picture)
    import_extras()
    for framework in options.frameworks if recipe.epochs else ():
        check_places(options.of(framework))


def _begun(options: SideBySideOptions, data: str) -> TrainingResult:
    for framework in options.frameworks:
        check_nothing_lost(options.of(framework))
    return TrainingResult(
        version=__version__,
        argv=tuple(sys.argv[1:]),
        started=datetime.now(timezone.utc).isoformat(timespec="seconds"),
        machine=read_environment().to_json(),
        threads=options.threads or 1,
        recipe=options.recipe or Recipe(),
        data_sha256=data,
    )


def _earlier(options: SideBySideOptions) -> TrainingResult:
    """What the output holds, if its run is the one that the options mean."""
    try:
        found = read_training(options.output)
    except ResultError as error:
        raise ResultError(f"{error}; begin without resuming") from None
    if options.recipe is not None:
        check_same_recipe(options.output, found.recipe, options.recipe)
    if options.threads not in (None, found.threads):
        raise LenetBenchError(
            f"{options.output} holds a run with {found.threads} threads, not {options.threads}:"
            " resume it with the options that it began with"
        )
    return found


def _resumed(options: SideBySideOptions, found: TrainingResult, data: str) -> TrainingResult:
    """The rows of frameworks that are done."""
    if found.data_sha256 != data:
        raise LenetBenchError(
            f"{options.output} holds a run on other training images:"
            " resume it with the data that it began with"
        )
    return replace(found, runs=tuple(run for run in found.runs if run.status == "ok"))


def _train(options: SideBySideOptions, framework: str) -> FrameworkRun:
    run = options.of(framework)
    run = replace(run, resume=options.resume and run.checkpoint.exists())
    return train_apart(run, options.timeout_s)


def _with_row(result: TrainingResult, run: FrameworkRun) -> TrainingResult:
    """The result with one more row, in the order of TRAINERS."""
    names = list(TRAINERS)
    runs = sorted([*result.runs, run], key=lambda run: names.index(run.framework))
    return replace(result, runs=tuple(runs))

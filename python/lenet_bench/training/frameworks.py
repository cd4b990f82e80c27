"""The frameworks that can train. They train one after another, each in a process of its own.

All begin with the same weights and learn from the same batches, so what differs is the framework:
its speed and its rounding. A framework that fails costs its own row.
"""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path

import msgspec

from ..choices import FRAMEWORKS, Recipe
from ..errors import Unavailable, WeightsError, first_line
from ..measure.interrupts import interrupts
from ..measure.pinning import thread_variables
from ..mnist import find_mnist, read_mnist
from ..process import Child, Died
from ..registry import environments, find
from ..results.files import check_place
from ..results.portable import portable
from ..weights import read_weights
from .result import FrameworkRun, TrainingResult
from .trainer import Parameters, Trainer

MakeTrainer = Callable[[Recipe, Parameters], Trainer]


def train(
    output: Path,
    frameworks: Sequence[str] = ("keras",),
    *,
    recipe: Recipe,
    data: Path | None = None,
    threads: int | None = None,
    watch: Callable[[FrameworkRun], None] = lambda _: None,
) -> TrainingResult:
    """Train in each framework, and write the weights of each: into a file, or into a folder.

    `data` is MNIST's folder; without it, LENET_BENCH_MNIST, or it is downloaded. Without `threads`
    one framework alone uses as many as it likes, and one of several has one.
    """
    several = len(frameworks) > 1
    in_file = output.suffix == ".safetensors"
    places = {name: output if in_file else output / f"{name}.safetensors" for name in frameworks}
    for place in places.values():
        check_place(place)
        if place.exists() and place.stat().st_size:
            try:
                read_weights(place)
            except WeightsError as error:
                raise WeightsError(f"{error}; give --output another name") from None
    folder = find_mnist(data)
    read_mnist("train", folder)  # what is absent or damaged ends all
    threads = threads or (1 if several else 0)
    task = (asdict(recipe), str(folder), several)
    with interrupts():
        runs = [
            _train(FrameworkRun(name, str(place)), task, threads, watch)
            for name, place in places.items()
        ]
    return TrainingResult(threads, recipe, tuple(runs))


def _train(
    row: FrameworkRun,
    task: tuple[object, ...],
    threads: int,
    watch: Callable[[FrameworkRun], None],
) -> FrameworkRun:
    """The row of a framework after its process has ended, however that ends."""
    watch(row)
    settings = variables(row.framework, threads)
    try:
        with closing(Child(f"{__package__}.loop:serve", variables=settings)) as child:
            child.tell((row.framework, row.weights, *task))
            while row.status == "running":
                row = msgspec.convert(child.hear(), FrameworkRun)
                if row.status == "running":
                    watch(row)
    except Died as died:
        row = replace(row, status="failed", reason=portable(died.sentence))
    if row.reason:
        watch(row)
    return row


def variables(framework: str, threads: int) -> dict[str, str]:
    """What it reads when it is imported: how many threads, and under Keras which backend to use.

    With 0 threads it uses as many as it likes.
    """
    return {**thread_variables(threads), **environments.variables(find(framework)[0], threads)}


def import_trainer(framework: str) -> MakeTrainer:
    """Import a framework; its process has its variables."""
    module, _, trainer = FRAMEWORKS[framework].partition(":")
    try:
        made: MakeTrainer = getattr(import_module(f"{__package__}.{module}"), trainer)
        return made
    except (Exception, SystemExit) as error:  # a half-installed framework raises what it likes
        raise Unavailable(
            f"training in {framework} cannot begin ({first_line(error)});"
            f" fix it with: pip install 'lenet-bench[{find(framework)[0].extra}]'"
        ) from error

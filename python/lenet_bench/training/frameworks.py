"""The frameworks that can train, what trains in each, and the options of a training."""

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

from ..errors import LenetBenchError, Unavailable, first_line
from ..measure.pinning import thread_variables
from ..registry import environments, find
from ..results.files import check_place
from .recipe import Recipe, check_recipe
from .trainer import Parameters, Trainer

MakeTrainer = Callable[[Recipe, Parameters], Trainer]

#: From the one with the most layers above its kernels to the one with the fewest.
TRAINERS = {
    "keras": "keras_trainer:KerasTrainer",
    "keras-jax": "keras_trainer:KerasTrainer",
    "keras-torch": "keras_trainer:KerasTrainer",
    "tensorflow": "tensorflow_trainer:TensorFlowTrainer",
    "torch": "torch_trainer:TorchTrainer",
    "jax": "jax_trainer:JaxTrainer",
}


def import_trainer(framework: str) -> MakeTrainer:
    """Import a framework; its process has its variables."""
    module, _, trainer = TRAINERS[framework].partition(":")
    try:
        made: MakeTrainer = getattr(import_module(f"{__package__}.{module}"), trainer)
        return made
    except (Exception, SystemExit) as error:  # a half-installed framework raises what it likes
        raise Unavailable(
            f"training in {framework} cannot begin ({first_line(error)});"
            f" fix it with: pip install {_packages(framework)}"
        ) from error


def variables(framework: str, threads: int | None) -> dict[str, str]:
    """What it reads when it is imported: how many threads, and under Keras which backend to use.

    Without a number it uses as many threads as it likes.
    """
    backend, _ = find(framework)
    return {**thread_variables(threads or 0), **environments.variables(backend, threads or 0)}


def _packages(framework: str) -> str:
    extra = find(framework)[0].extra
    return f"'lenet-bench[train{',' + extra if extra and extra != 'keras' else ''}]'"


@dataclass(frozen=True)
class TrainOptions:
    """Several frameworks write into a folder, after they have made the steps that are compared."""

    output: Path = Path("lenet.safetensors")  # of several frameworks a folder
    frameworks: tuple[str, ...] = ("keras",)
    recipe: Recipe = field(default_factory=Recipe)
    data: Path | None = None  # MNIST's folder; None: LENET_BENCH_MNIST, or downloaded
    threads: int | None = None  # of each framework; None: as many as it likes
    timeout_s: float = 600.0  # stop waiting for a framework that makes no step for so long

    @property
    def compared(self) -> bool:
        """Whether several frameworks train side by side."""
        return len(self.frameworks) > 1

    def weights(self, framework: str) -> Path:
        return self.output / f"{framework}.safetensors" if self.compared else self.output

    def curve(self, framework: str) -> Path:
        """Its learning curve, beside its weights."""
        weights = self.weights(framework)
        return weights.with_name(f"{weights.stem}-learning-curve.png")


def check_options(options: TrainOptions) -> None:
    """Raise LenetBenchError unless these can be trained together."""
    if unknown := [name for name in options.frameworks if name not in TRAINERS]:
        raise LenetBenchError(
            f"unknown framework {unknown[0]!r}; choose from {', '.join(TRAINERS)}"
        )
    check_recipe(options.recipe)
    if options.compared and options.output.suffix:
        raise LenetBenchError(f"{options.output}: several frameworks need a folder")
    if not options.compared and options.output.suffix != ".safetensors":
        raise LenetBenchError(f"{options.output}: expected a name that ends in .safetensors")


def check_places(options: TrainOptions) -> None:
    """Raise LenetBenchError unless all files can be written."""
    for framework in options.frameworks:
        check_place(options.weights(framework))
        check_place(options.curve(framework))

"""What to train, in which frameworks, and into which files."""

from dataclasses import dataclass, field
from pathlib import Path

from ..errors import LenetBenchError
from ..results.versioned import check_place
from .frameworks import TRAINERS
from .recipe import Recipe, check_recipe


@dataclass(frozen=True)
class TrainOptions:
    """The name of the output decides what is written.

    FILE.safetensors gets the weights of one framework. FILE.json gets the result of any number of
    them, after they have made the steps by which they are compared; their weights go into FILE/.
    """

    output: Path = Path("lenet.safetensors")
    frameworks: tuple[str, ...] = ("keras",)
    recipe: Recipe = field(default_factory=Recipe)
    data: Path | None = None  # MNIST's folder; None: LENET_BENCH_MNIST, or downloaded
    threads: int | None = None  # of each framework; None: as many as it likes
    timeout_s: float = 600.0  # stop waiting for a framework that makes no step for so long

    @property
    def compared(self) -> bool:
        """Whether the output is the result of frameworks side by side."""
        return self.output.suffix == ".json"

    @property
    def picture(self) -> Path:
        """The losses of all, beside the output."""
        return self.output.with_suffix(".png")

    def weights(self, framework: str) -> Path:
        """The weights that this framework learns."""
        folder = self.output.with_suffix("")
        return folder / f"{framework}.safetensors" if self.compared else self.output

    def curve(self, framework: str) -> Path:
        """Its learning curve, beside its weights."""
        weights = self.weights(framework)
        return weights.with_name(f"{weights.stem}-learning-curve.png")


def check_options(options: TrainOptions) -> None:
    """Raise LenetBenchError unless these can be trained together."""
    if unknown := [name for name in options.frameworks if name not in TRAINERS]:
        raise LenetBenchError(f"{unknown[0]!r} is none of {', '.join(TRAINERS)}")
    check_recipe(options.recipe, epochs_from=0 if options.compared else 1)
    if len(options.frameworks) > 1 and not options.compared:
        raise LenetBenchError(
            f"{options.output}: several frameworks need a file that ends in .json"
        )


def check_places(options: TrainOptions) -> None:
    """Raise LenetBenchError unless all files can be written."""
    if options.output.suffix not in (".safetensors", ".json"):
        raise LenetBenchError(
            f"{options.output}: expected a name that ends in .safetensors or .json"
        )
    if options.compared:
        check_place(options.output)
        check_place(options.picture)
    for framework in options.frameworks if options.recipe.epochs else ():
        check_place(options.weights(framework))
        check_place(options.curve(framework))

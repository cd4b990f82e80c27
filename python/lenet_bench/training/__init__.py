"""Training: `lenet-bench train` is one call of `train`, or of `train_side_by_side`.

    from lenet_bench.training import Augmentation, Interrupted, Recipe, TrainOptions, train

    result = train(TrainOptions(output=Path("lenet.safetensors"), recipe=Recipe(seed=7)))
    print(result.test_accuracy, result.chosen.validation_accuracy, result.curve)

    result = train_side_by_side(SideBySideOptions(("torch", "jax"), recipe=Recipe(epochs=2)))
    print(result.run("jax").images_per_s, result.agreement.difference)

Each option of the command line is a field of TrainOptions, SideBySideOptions, Recipe or
Augmentation. Pass `recipe=None` where the user named none, so that `resume=True` takes the
checkpoint's. All options are checked, progress is shown on `console` (standard error unless given),
and LenetBenchError is raised with one sentence; `Interrupted` is the one after a Ctrl-C: exit with
130. Importing this imports no framework; `train` does, `train_side_by_side` never.
"""

from .agreement import Agreement
from .checkpoint import Epoch
from .frameworks import TRAINERS
from .loop import Interrupted
from .options import TrainOptions
from .recipe import Augmentation, Recipe
from .result import FrameworkRun, TrainingResult, digest, read_training
from .run import TrainResult, train
from .side_by_side import SideBySideOptions, train_side_by_side

#: The names of all that can train.
FRAMEWORKS = tuple(TRAINERS)

__all__ = [
    "FRAMEWORKS",
    "Agreement",
    "Augmentation",
    "Epoch",
    "FrameworkRun",
    "Interrupted",
    "Recipe",
    "SideBySideOptions",
    "TrainOptions",
    "TrainResult",
    "TrainingResult",
    "digest",
    "read_training",
    "train",
    "train_side_by_side",
]

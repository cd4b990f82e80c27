"""Training: `lenet-bench train` is one call of `train`, or of `train_side_by_side`.

    from lenet_bench.training import Recipe, TrainOptions, train

    result = train(TrainOptions(output=Path("lenet.safetensors"), recipe=Recipe(seed=7)))
    print(result.run.test_accuracy, result.run.chosen.validation_accuracy, result.curve)

    result = train_side_by_side(SideBySideOptions(("torch", "jax"), recipe=Recipe(epochs=2)))
    print(result.run("jax").images_per_s, result.agreement.difference)

Each option of the command line is a field of TrainOptions, SideBySideOptions or Recipe. `say` gets
a line after each epoch (standard error unless given). LenetBenchError has one sentence;
`Interrupted` is the one after a Ctrl-C. Importing this imports no framework; `train` does,
`train_side_by_side` never.
"""

from .agreement import Agreement
from .frameworks import TRAINERS
from .recipe import Augmentation, Recipe
from .result import Epoch, FrameworkRun, TrainingResult, read_training
from .run import Interrupted, TrainOptions, TrainResult, train
from .side_by_side import SideBySideOptions, train_side_by_side

#: The frameworks that can train.
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
    "read_training",
    "train",
    "train_side_by_side",
]

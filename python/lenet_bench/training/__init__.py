"""Training: `lenet-bench train` is one call of `train`, and what it gives is shown and drawn.

    from lenet_bench.training import Recipe, TrainOptions, train

    result = train(TrainOptions(Path("lenet.safetensors"), recipe=Recipe(seed=7)))
    print(result.run("keras").test_accuracy, result.run("keras").chosen.validation_accuracy)

    result = train(TrainOptions(Path("two"), ("torch", "jax"), Recipe(epochs=2), threads=1))
    print(result.run("jax").images_per_s, result.difference)

Each option of the command line is a field of TrainOptions or Recipe. LenetBenchError has one
sentence about what ends all; what ends a framework is in its row. `watch` gets the rows as they
grow. A framework is imported in a process of its own, never in this one.
"""

from .frameworks import TRAINERS, TrainOptions, check_options
from .recipe import Augmentation, Recipe
from .result import Epoch, FrameworkRun, TrainingResult
from .side_by_side import train

#: The frameworks that can train.
FRAMEWORKS = tuple(TRAINERS)

__all__ = [
    "FRAMEWORKS",
    "Augmentation",
    "Epoch",
    "FrameworkRun",
    "Recipe",
    "TrainOptions",
    "TrainingResult",
    "check_options",
    "train",
]

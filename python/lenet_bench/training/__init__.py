"""Training: `lenet-bench train` is one call of `train`, and what it gives is shown.

    from lenet_bench.training import Recipe, train

    result = train(Path("lenet.safetensors"), recipe=Recipe(seed=7))
    print(result.runs[0].test_accuracy, result.runs[0].chosen.validation_accuracy)

    result = train(Path("two"), ("torch", "jax"), recipe=Recipe(epochs=2), threads=1)
    print(result.runs[1].images_per_s, result.difference)

LenetBenchError has one sentence about what ends all; what ends a framework is in its row. `watch`
gets a row when its framework begins, after each epoch, and when it fails. A framework is imported
in a process of its own, never in this one.
"""

from ..choices import FRAMEWORKS, Augmentation, Recipe
from .frameworks import train
from .result import Epoch, FrameworkRun, TrainingResult

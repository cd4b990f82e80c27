"""Training: `lenet-bench train` is one call of `train`.

    from lenet_bench.training import Augmentation, Interrupted, Recipe, TrainOptions, train

    result = train(TrainOptions(output=Path("lenet.safetensors"), recipe=Recipe(seed=7)))
    print(result.test_accuracy, result.chosen.validation_accuracy, result.curve)

Each option of the command line is a field of TrainOptions, Recipe or Augmentation. Pass
`recipe=None` where the user named none, so that `resume=True` takes the checkpoint's.
`train` checks all options, shows progress on `console` (standard error unless given), and raises
LenetBenchError with one sentence; `Interrupted` is the one after a Ctrl-C: exit with 130.
Importing this imports no framework; `train` does.
"""

from .checkpoint import Epoch
from .loop import Interrupted
from .recipe import Augmentation, Recipe
from .run import TrainOptions, TrainResult, train

__all__ = [
    "Augmentation",
    "Epoch",
    "Interrupted",
    "Recipe",
    "TrainOptions",
    "TrainResult",
    "train",
]

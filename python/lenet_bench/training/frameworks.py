"""The frameworks that can train: backends, and what trains in each."""

from collections.abc import Callable
from importlib import import_module

from ..errors import Unavailable, first_line
from ..measure.pinning import thread_variables
from ..registry import environments, find
from .recipe import Recipe
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
    found = environments.variables(backend, threads or 1)
    if threads:
        return {**thread_variables(threads), **found}
    counts = {name for name, value in backend.variables.items() if "{threads}" in value}
    return {name: value for name, value in found.items() if name not in counts}


def _packages(framework: str) -> str:
    extra = find(framework)[0].extra
    return f"'lenet-bench[train{',' + extra if extra and extra != 'keras' else ''}]'"

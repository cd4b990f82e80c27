"""The frameworks that can train: backends, and what trains in each.

A framework reads how many threads and, under Keras, which backend it shall use when it is imported,
so the environment is set just before that.
"""

import os
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module

from ..errors import Unavailable, first_line
from ..measure.pinning import thread_variables
from ..registry import find
from ..silence import silence
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


def import_trainer(framework: str, threads: int | None = None) -> MakeTrainer:
    """Import a framework with so many threads; without a number it uses as many as it likes."""
    for name, value in variables(framework, threads).items():
        os.environ[name] = value
    module, _, trainer = TRAINERS[framework].partition(":")
    try:
        with quietly():
            made: MakeTrainer = getattr(import_module(f"{__package__}.{module}"), trainer)
            return made
    except (Exception, SystemExit) as error:  # a half-installed framework raises what it likes
        raise Unavailable(
            f"training in {framework} cannot begin ({first_line(error)});"
            f" fix it with: pip install {_packages(framework)}"
        ) from error


def import_extras() -> None:
    """What draws curves; without it, a run would end without its picture."""
    try:
        import_module("vl_convert")
    except ImportError as error:
        raise Unavailable(
            f"training needs vl-convert ({first_line(error)});"
            " fix it with: pip install 'lenet-bench[train]'"
        ) from None


def variables(framework: str, threads: int | None) -> dict[str, str]:
    """What the framework must find in its environment when it is imported."""
    backend, _ = find(framework)
    if threads is None:
        return {
            name: value for name, value in backend.variables.items() if "{threads}" not in value
        }
    return {**thread_variables(threads), **backend.variables_for(threads)}


def quietly() -> AbstractContextManager[None]:
    """Without what frameworks print, which would stand between the lines of the epochs."""
    return nullcontext() if os.environ.get("LENET_BENCH_DEBUG") else silence()


def _packages(framework: str) -> str:
    extra = find(framework)[0].extra
    return f"'lenet-bench[train{',' + extra if extra and extra != 'keras' else ''}]'"

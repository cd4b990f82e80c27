"""What tests of training in several frameworks share: a small recipe, and what is installed."""

from importlib.util import find_spec

import pytest
from lenet_bench.training import FRAMEWORKS, Recipe

#: 40 steps.
RECIPE = Recipe(epochs=2, batch=20, rate=0.01, seed=3, validation=100)
OPTIONS = (
    *("--epochs", "2", "--batch", "20", "--rate", "0.01", "--seed", "3", "--validation", "100"),
)

NAMES = tuple(FRAMEWORKS)
NEEDED = {
    **{name: ("keras", name.partition("-")[2] or "tensorflow") for name in NAMES[:3]},
    **{name: (name,) for name in NAMES[3:]},
}
HERE = [name for name, modules in NEEDED.items() if all(map(find_spec, modules))]

needs_two = pytest.mark.skipif(
    len(HERE) < 2,
    reason="needs two frameworks: pip install 'lenet-bench[keras,torch,jax]'",
)


def named(frameworks):
    """The options that name them."""
    return [word for name in frameworks for word in ("--framework", name)]

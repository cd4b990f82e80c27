"""Other processes that keep a core busy each: they add up 8 MB again and again."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager

import numpy as np

from ..process import Child, Parent, same_modules
from .pinning import on_cores, thread_variables


@contextmanager
def at_work(count: int, cores: Iterable[int]) -> Iterator[None]:
    """So many of them meanwhile, each wherever the system puts it among these cores."""
    with ExitStack() as stack:
        for _ in range(count):
            with on_cores(cores):
                child = Child(
                    f"{__name__}:work", variables={**thread_variables(1), **same_modules()}
                )
            stack.enter_context(closing(child))
            child.hear()
        yield


def work(parent: Parent) -> None:
    """Begin, say so, and go on."""
    memory = np.ones(1_000_000)
    parent.say({})
    while True:
        memory.sum()

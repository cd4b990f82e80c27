"""The memory that a network takes: refused before it starts, and limited while it runs."""

import resource

import psutil

from ..errors import LenetBenchError

_COPIES = 5  # of the weights, in a process that converts and packs them
_SPARE = 1 << 30


def require_memory(who: str, weights: int, largest: int) -> None:
    """Raise LenetBenchError where a process with so many bytes does not fit the free memory.

    `largest` are the bytes of what is computed at once, `who` begins the sentence.
    """
    needs = _COPIES * weights + 2 * largest + _SPARE
    free = psutil.virtual_memory().available
    if needs > free:
        raise LenetBenchError(
            f"{who} may take {needs / 2**30:.1f} GiB, but only "
            f"{free / 2**30:.1f} GiB of memory are free"
        )


def limit_memory() -> None:
    """Let this process have no more memory than is free: a model may ask for any amount."""
    free = psutil.virtual_memory().available
    resource.setrlimit(resource.RLIMIT_DATA, (free, resource.getrlimit(resource.RLIMIT_DATA)[1]))

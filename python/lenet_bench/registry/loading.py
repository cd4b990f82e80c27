"""Load a backend, in this process or in one of its own."""

import os

from ..errors import LenetBenchError
from ..weights import Weights, read_weights
from .backend import Network
from .building import check_needs, load_here, needs_its_own_process
from .rows import find

_MOST_THREADS = 1024


def load(
    name: str,
    *,
    threads: int = 1,
    weights: Weights | str | os.PathLike[str] | None = None,
    hide_output: bool = True,
) -> Network:
    """Build one backend: `load("fused").infer(image)`; `load("torch@gpu")` on a GPU.

    With 0 threads, as many as the API takes by itself. `weights` is a file or what `read_weights`
    gave; without it, the canonical weights.
    Environment variables configure a framework, once in a process: a backend that needs other
    values than an earlier one, another device, or an environment of its own, is built in a
    process of its own. `hide_output` hides what frameworks print while they are built.
    Raises Unavailable, with the command that fixes it, where the backend cannot run.
    """
    row, variant = find(name)
    if not 0 <= threads <= _MOST_THREADS:
        raise LenetBenchError(
            f"expected 1 to {_MOST_THREADS} threads, or 0 for the API's default, got {threads}"
        )
    if not isinstance(weights, Weights):
        weights = read_weights(weights)
    check_needs(row, variant)
    if needs_its_own_process(row, threads):
        from .own_process import InOwnProcess

        return InOwnProcess(name, weights, threads=threads, hide_output=hide_output)
    return load_here(row, variant, weights, threads, hide_output=hide_output)

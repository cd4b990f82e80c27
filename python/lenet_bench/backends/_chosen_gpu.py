"""The GPU that the user chose, for rungs in Python; csrc/cuda/session.cpp has the same rule."""

import os

from ..errors import Unavailable

VARIABLE = "LENET_BENCH_GPU"


def chosen_gpu(count: int) -> int:
    """The number that LENET_BENCH_GPU names among so many GPUs; the first without it."""
    wanted = os.environ.get(VARIABLE, "0")
    if wanted in map(str, range(count)):
        return int(wanted)
    here = "only 0 is" if count == 1 else f"0 to {count - 1} are"
    raise Unavailable(
        f'{VARIABLE}="{wanted}" names no GPU here, where {here}; mend it with: export {VARIABLE}=0'
    )

"""Pictures of digits as MNIST made its own, native: csrc/images/."""

import numpy as np
from numpy.typing import NDArray

def explain(
    picture: NDArray[np.float32],
) -> tuple[list[tuple[int, list[int], NDArray[np.float32]]], bool]: ...

"""The check of a backend's input, native: csrc/bindings/input.hpp."""

from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

def is_ready(images: object) -> TypeGuard[NDArray[np.float32]]: ...

"""What Python backends and the measuring of them need in C++: csrc/bindings/boundary.cpp."""

from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

def is_ready(images: object) -> TypeGuard[NDArray[np.float32]]: ...
def wait_for_gil(away_ns: int) -> bool: ...

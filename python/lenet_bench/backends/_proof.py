"""The proof that a framework told to run on the GPU computes there: no silent fall-back to the CPU.

Rungs on the CPU have nothing to prove, and nothing of this runs there.
"""

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..errors import Unavailable

if TYPE_CHECKING:
    from . import Backend

Array = NDArray[np.float32]


class ProvenOnGpu:
    """An exhibit on the GPU: its first answer comes with the proof, and so does each description.

    A framework places a network when it is built and called first, and none that is told to moves
    it later: so that is when to ask, and once more after a run, and not between timed calls.
    """

    def __init__(self, exhibit: "Backend", name: str) -> None:
        self._exhibit, self._name = exhibit, name
        self._proven = False

    def infer(self, images: Array) -> Array:
        """The exhibit's answer."""
        answer = self._exhibit.infer(images)
        if not self._proven:
            self.describe()
        return answer

    def layers(self, image: Array) -> dict[str, Array]:
        """The exhibit's layers."""
        return self._exhibit.layers(image)

    def describe(self) -> dict[str, str]:
        """The exhibit's description; raises Unavailable where an answer lies elsewhere."""
        described = self._exhibit.describe()
        device = described["device"]
        if not any(word in device.lower() for word in ("gpu", "cuda")):
            raise Unavailable(
                f"{self._name} was told to run on the GPU and computed on {device}: a silent "
                "fall-back; see what the driver says with: nvidia-smi"
            )
        self._proven = True
        return described

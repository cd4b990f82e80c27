"""What every rung accepts, and how it says no: the same words for a Python and a native rung.

A native rung checks for itself what it can check in a moment (csrc/bindings/rung.hpp) and asks
here about the rest.
"""

import numpy as np
from numpy.typing import NDArray

from ..network import IMAGE_SIDE


def check_images(images: object) -> NDArray[np.float32]:
    """The images as every rung reads them, copied where they are not contiguous.

    Raises TypeError unless they are native float32, ValueError unless they are (28, 28) or
    (n, 28, 28) with every value from 0 to 1.
    """
    if not isinstance(images, np.ndarray):
        raise TypeError(
            f"expected a float32 array, got {type(images).__name__}: "
            "make one with numpy.asarray(image, numpy.float32)"
        )
    if images.dtype != np.float32:
        cure = "images.astype(numpy.float32)" + (" / 255" if images.dtype == np.uint8 else "")
        raise TypeError(f"expected native float32, got {images.dtype}: convert with {cure}")
    if images.ndim not in (2, 3) or images.shape[-2:] != (IMAGE_SIDE, IMAGE_SIDE):
        raise ValueError(f"expected shape (28, 28) or (n, 28, 28), got {images.shape}")
    if not ((images >= 0) & (images <= 1)).all():
        raise ValueError(f"expected values from 0 (paper) to 1 (ink), got {_values(images)}")
    return np.require(images, requirements=["C_CONTIGUOUS", "ALIGNED"])


def check_image(image: object) -> NDArray[np.float32]:
    """One image (28, 28), checked as `check_images` checks a batch."""
    checked = check_images(image)
    if checked.ndim != 2:
        raise ValueError(f"expected one image (28, 28), got a batch {checked.shape}")
    return checked


def _values(images: NDArray[np.float32]) -> str:
    if not np.isfinite(images).all():
        return "NaN or infinity"
    found = f"{images.min():g} to {images.max():g}"
    return found + (": divide by 255" if 1 < images.max() <= 255 and images.min() >= 0 else "")

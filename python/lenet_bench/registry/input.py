"""The input that every backend accepts, and the errors for all other input.

Valid images pass the same check in C++ (csrc/bindings/input.hpp), in a native backend's module or
in `_boundary`: in NumPy it took 10 of the 87 us of a call of MNN. Other input is examined here.
"""

import numpy as np

from ..arrays import Floats
from ..network import IMAGE_SIDE

try:
    from .._boundary import is_ready
except ImportError:  # built for another Python than that of an environment, or not at all

    def is_ready(images: object) -> bool:  # type: ignore[misc]
        """The same in NumPy: as integers, the floats from 0 to 1 are those up to 1's bits."""
        return (
            isinstance(images, np.ndarray)
            and images.dtype == np.float32
            and images.ndim in (2, 3)
            and images.shape[-2:] == (IMAGE_SIDE, IMAGE_SIDE)
            and images.flags.c_contiguous
            and images.flags.aligned
            and bool(images.view(np.uint32).max(initial=0) <= 0x3F800000)
        )


def check_images(images: object) -> Floats:
    """The images as every backend reads them, copied where they are not contiguous.

    Raises TypeError unless they are native float32, ValueError unless they are (28, 28) or
    (n, 28, 28) with every value from 0 to 1.
    """
    if is_ready(images):
        return images
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


def check_image(image: object) -> Floats:
    """One image (28, 28), checked as `check_images` checks a batch."""
    checked = check_images(image)
    if checked.ndim != 2:
        raise ValueError(f"expected one image (28, 28), got a batch {checked.shape}")
    return checked


def _values(images: Floats) -> str:
    if not np.isfinite(images).all():
        return "NaN or infinity"
    low, high = images.min(), images.max()
    found = f"{low!s} to {high!s}"  # all digits: 1.0000001
    if low >= 0 and 2 < high <= 255:
        return f"{found}: divide by 255"
    return f"{found}: clip to 0..1 (numpy.clip)" if low > -0.1 and high <= 2 else found

"""Draw these pictures anew: `python images/draw.py`, with MNIST in LENET_BENCH_MNIST."""

import io
import os
import sys
from pathlib import Path

import numpy as np
from lenet_bench.mnist import read_mnist
from PIL import Image

FOLDER = Path(__file__).parent
sys.path.insert(0, str(FOLDER.parent / "tests"))
from digit_photos import photograph  # noqa: E402

#: Which digit in which scene of tests/digit_photos.py, and the seed of all that is random in it.
DIFFICULT = {
    "shaded-0": 7,
    "hairline-1": 7,
    "ruled-2": 7,
    "pencil-3": 7,
    "squared-4": 7,
    "faint-5": 7,
    "chalk-6": 7,
    "desk-7": 7,
    "whiteboard-8": 7,
    "murky-9": 7,
    "transparent-2": 7,
    "marker-5": 7,
    "broken-4": 7,
    "colored-8": 7,
}


def samples() -> None:
    """The first test image of each digit, as it is."""
    digits = read_mnist("test", os.environ["LENET_BENCH_MNIST"])
    for digit in range(10):
        first = int(np.flatnonzero(digits.labels == digit)[0])
        Image.fromarray(digits.images[first]).save(FOLDER / f"digit-{digit}.png")


def difficult() -> None:
    """One picture a scene, in whatever format the scene stores."""
    for name, seed in DIFFICULT.items():
        scene, _, digit = name.partition("-")
        content = photograph(int(digit), scene, seed).content
        form = (Image.open(io.BytesIO(content)).format or "").lower()
        ending = {"jpeg": "jpg", "tiff": "tif"}.get(form, form)
        (FOLDER / f"{name}.{ending}").write_bytes(content)


def special() -> None:
    """What a camera does: twelve megapixels, and a picture that its EXIF data turns upright."""
    photo = Image.open(io.BytesIO(photograph(3, "photo", 11).content)).convert("RGB")
    photo.resize((4000, 3000), Image.Resampling.BICUBIC).save(
        FOLDER / "twelve-megapixels-3.jpg", quality=40
    )
    exif = Image.Exif()
    exif[0x0112] = 6  # "turn me right by 90 degrees"
    turned = Image.open(io.BytesIO(photograph(7, "photo", 12).content)).convert("RGB")
    turned.transpose(Image.Transpose.ROTATE_90).save(FOLDER / "exif-turned-7.jpg", exif=exif)


if __name__ == "__main__":
    samples()
    difficult()
    special()

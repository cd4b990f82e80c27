"""Pictures made to take long, to take memory or to talk cost a sentence, and no other picture."""

import sys
from importlib import import_module

import numpy as np
import pytest
from digits import saved
from lenet_bench.errors import ImageError
from lenet_bench.images import read_image
from PIL import Image

INK = np.zeros((40, 40), bool)
INK[10:30, 18:22] = True
MANY = 2000


@pytest.mark.parametrize("extreme", [np.nan, np.inf, -np.inf, 1e38, -3e38])
def test_floats_that_no_picture_has_are_a_sentence(extreme):
    for paper, ink in [(1, extreme), (extreme, 0), (extreme, -extreme)]:
        picture = np.where(INK, ink, paper).astype(np.float32)
        with pytest.raises(ImageError, match=r"^the image: has infinite or huge values"):
            read_image(saved(picture, "TIFF"))


@pytest.mark.parametrize("most", [1, 255, 2**16 - 1, 2**31])
def test_floats_of_any_scale_are_a_picture(most):
    picture = np.where(INK, 0, most).astype(np.float32)
    bar = np.where(INK, 0, 255).astype(np.uint8)
    np.testing.assert_allclose(
        read_image(saved(picture, "TIFF")), read_image(saved(bar)), atol=0.01
    )


def scans():
    """Thousands of scans of a large picture: two minutes of work in 0.2 MB."""
    content = saved(Image.new("L", (4000, 4000), 255), "JPEG", progressive=True, quality=30)
    return content[:-2] + content[content.rfind(b"\xff\xda") : -2] * MANY + b"\xff\xd9"


LONG = {
    "a JPEG of thousands of scans": scans,
    "a PNM with a long comment": lambda: (
        b"P5\n#" + b"x" * 100_000_000 + b"\n9 9\n255\n" + bytes(81)
    ),
}


@pytest.mark.parametrize("what", LONG)
def test_what_takes_long_is_given_up(what, monkeypatch):
    monkeypatch.setattr(import_module("lenet_bench.images.decode"), "_SECONDS", 2.0)
    with pytest.raises(ImageError, match=r"^the image: cannot be decoded within 2 s$"):
        read_image(LONG[what]())


@pytest.mark.skipif(sys.platform != "linux", reason="this system does not limit memory")
def test_what_takes_memory_is_given_up(monkeypatch):
    content = saved(Image.new("F", (6000, 6000)), "TIFF", compression="tiff_adobe_deflate")
    monkeypatch.setattr(import_module("lenet_bench.images.decode"), "_MEMORY", 128 << 20)
    with pytest.raises(ImageError, match=r"^the image: needs more memory than a picture may take$"):
        read_image(content)


def test_exif_longer_than_a_camera_writes_is_not_read():
    turned = Image.Exif()
    turned[0x0112] = 6
    long = turned.tobytes() + bytes(1 << 16)
    bar = np.where(INK, 0, 255).astype(np.uint8)
    np.testing.assert_array_equal(read_image(saved(bar, exif=long)), read_image(saved(bar)))


def test_libtiff_says_nothing_on_the_terminal(run, tmp_path):
    content = bytearray(saved(INK, "TIFF", compression="group4"))
    content[8:60] = bytes(range(200, 252))
    path = tmp_path / "damaged.tif"
    path.write_bytes(content)
    assert run("infer", path, "-b", "numpy").errors.count("\n") <= 1

"""Damaged files of every format: an answer or an ImageError, and never anything else."""

import io
from importlib import import_module

import numpy as np
import pytest
from digit_photos import BLACK, WHITE, lay, pen, sheet
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from lenet_bench.errors import ImageError
from lenet_bench.images import read_image
from PIL import Image


def _whole(form, mode):
    ink = pen(4, np.random.default_rng(2), 40, 5)
    picture = lay(sheet((60, 60), WHITE), ink, BLACK, (8, 8))
    file = io.BytesIO()
    Image.fromarray((picture * 255).astype(np.uint8)).convert(mode).save(file, form)
    return file.getvalue()


FUZZ = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
FILES = {
    f"{form}-{mode}": _whole(form, mode)
    for form, mode in [
        ("PNG", "L"), ("PNG", "P"), ("PNG", "RGBA"), ("PNG", "1"), ("JPEG", "L"), ("JPEG", "RGB"),
        ("JPEG", "CMYK"), ("PPM", "1"), ("PPM", "L"), ("PPM", "RGB"), ("GIF", "P"), ("BMP", "RGB"),
        ("BMP", "1"), ("TIFF", "L"), ("TIFF", "RGB"), ("TIFF", "1"), ("WEBP", "RGB"),
    ]
}  # fmt: skip


@pytest.fixture(autouse=True)
def in_this_process(monkeypatch):
    """A process a file would take ten times as long."""
    monkeypatch.setattr(import_module("lenet_bench.images.decode"), "_LARGEST_HERE", {})


def read_or_refuse(content):
    try:
        image = read_image(content)
    except ImageError:
        return
    assert image.shape == (28, 28)
    assert np.isfinite(image).all()


@pytest.mark.parametrize("name", FILES)
@settings(FUZZ, max_examples=25)
@given(data=st.data(), rest=st.binary(max_size=300))
def test_a_file_cut_or_changed_anywhere_is_read_or_refused(name, data, rest):
    whole = FILES[name]
    read_or_refuse(whole[: data.draw(st.integers(0, len(whole)))])
    read_or_refuse(whole[:8] + rest)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
@settings(FUZZ, max_examples=40)
@given(data=st.data())
def test_a_file_with_changed_bytes_is_read_or_refused(name, data):
    content = bytearray(FILES[name])
    anywhere = st.integers(0, len(content) - 1)
    in_the_header = st.integers(0, min(len(content), 200) - 1)
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(anywhere | in_the_header)] = data.draw(st.integers(0, 255))
    read_or_refuse(bytes(content))

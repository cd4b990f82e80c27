"""read_image: what goes in, what comes out, and what is refused in one sentence."""

import struct
import sys
import zlib
from contextlib import suppress

import lenet_bench
import numpy as np
import pytest
from digits import BLACK, IMAGES, SAMPLES, WHITE, lay, pen, saved, sheet
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from lenet_bench.errors import ImageError
from lenet_bench.images import explain, read_image
from PIL import Image, ImageDraw


@pytest.fixture(scope="module")
def network():
    return lenet_bench.load("numpy")


def digit_of(network, source):
    return int(network.infer(read_image(source)).argmax())


def five():
    """A five in black on white, 200 pixels high."""
    picture = lay(sheet((200, 180), WHITE), pen(5, 130), BLACK, (35, 40))
    return np.asarray(picture[..., 0] * 255, np.uint8)


def mnist_like():
    """What MNIST makes of the five."""
    return np.asarray(np.round(read_image(saved(five())) * 255), np.uint8)


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_each_sample_is_read_as_the_digit_in_its_name(path, network):
    assert digit_of(network, path) == int(path.stem[-1])


def test_the_answer_is_what_a_backend_takes_with_mnists_geometry():
    image = read_image(saved(five()))
    assert image.shape == (28, 28)
    assert image.dtype == np.float32
    assert image.flags.c_contiguous
    assert image.min() == 0
    assert 0.9 < image.max() <= 1
    ys, xs = np.nonzero(image > 0.13)
    assert 19 <= max(np.ptp(ys), np.ptp(xs)) + 1 <= 22
    mass = image.sum()
    assert image.sum(1) @ np.arange(28) / mass == pytest.approx(14, abs=0.25)
    assert image.sum(0) @ np.arange(28) / mass == pytest.approx(14, abs=0.25)


@pytest.mark.parametrize("form", ["PNG", "PPM", "GIF", "BMP", "TIFF"])
def test_a_picture_in_mnists_format_passes_through_exactly(form):
    pixels = mnist_like()
    assert np.array_equal(read_image(saved(pixels, form)), pixels / np.float32(255))


def test_28x28_dark_on_light_is_turned_over(network):
    assert digit_of(network, saved(255 - mnist_like())) == 5


def test_28x28_off_the_middle_is_centred(network):
    shifted = np.roll(mnist_like(), (3, 4), (0, 1))
    assert digit_of(network, saved(shifted)) == 5
    assert not np.array_equal(read_image(saved(shifted)), shifted / np.float32(255))


FORMS = {
    "PNG": "L RGB 1 P LA RGBA 16", "JPEG": "L RGB CMYK", "PPM": "L RGB 1 16", "GIF": "L RGB P",
    "BMP": "L RGB", "TIFF": "L RGB 1 CMYK F 16", "WEBP": "L RGB RGBA",
}  # fmt: skip


@pytest.mark.parametrize(("form", "mode"), [(f, m) for f, ms in FORMS.items() for m in ms.split()])
def test_each_format_is_read_in_each_mode(form, mode, network):
    picture = five().astype(np.uint16) * 16  # a 12-bit scanner's, of a part of 16 bits' range
    if mode != "16":
        picture = Image.fromarray(five()).convert(mode)
    assert digit_of(network, saved(picture, form)) == 5


@pytest.mark.parametrize("larger", [16, 257])
def test_a_faint_digit_is_read_of_12_or_16_bits_too(larger, network):
    with Image.open(IMAGES / "faint-5.jpg") as image:
        pixels = np.asarray(image.convert("L"), np.uint16)
    assert digit_of(network, saved(pixels * larger)) == 5


@pytest.mark.parametrize("ink", [0, 255])
@pytest.mark.parametrize("hidden", [0, 255])
def test_ink_on_nothing_is_read(ink, hidden, network):
    alpha = 255 - five()
    color = np.where(alpha > 0, ink, hidden).astype(np.uint8)
    assert digit_of(network, saved(np.dstack([color, color, color, alpha]))) == 5


def test_a_transparent_palette_colour_is_paper(network):
    image = Image.fromarray(five()).quantize(2)
    clear = int(np.asarray(image)[0, 0])
    assert digit_of(network, saved(image, "PNG", transparency=clear)) == 5


TURNS = {3: "ROTATE_180", 6: "ROTATE_90", 8: "ROTATE_270"}  # what cameras write


@pytest.mark.parametrize("orientation", TURNS)
def test_exif_turns_the_picture_upright(orientation):
    turn = Image.Transpose[TURNS[orientation]]
    image = Image.fromarray(five()).transpose(turn)
    exif = Image.Exif()
    exif[0x0112] = orientation
    upright = explain(saved(image, "PNG", exif=exif))[0].picture
    assert np.array_equal(upright, five() / np.float32(255))


def test_of_an_animation_the_first_frame_is_read(network):
    first, second = Image.fromarray(five()), Image.new("L", (180, 200), 255)
    assert digit_of(network, saved(first, "GIF", save_all=True, append_images=[second])) == 5


@pytest.mark.parametrize("side", [8, 10, 16, 28, 100, 1000])
def test_each_size_is_read(side, network):
    large = lay(sheet((1000, 1000), WHITE), pen(7, 800), BLACK, (100, 300))[..., 0]
    small = Image.fromarray(large).resize((side, side), Image.Resampling.BOX)
    assert digit_of(network, saved(np.asarray(np.asarray(small) * 255, np.uint8))) == 7


def test_all_sources_of_a_picture_give_one_answer(tmp_path):
    path = tmp_path / "five.png"
    path.write_bytes(saved(five()))
    expected = read_image(path)
    with path.open("rb") as stream:
        for source in (str(path), path.read_bytes(), stream):
            assert np.array_equal(read_image(source), expected)


_side = st.integers(1, 40)


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    arrays.arrays(np.uint8, st.tuples(_side, _side, st.sampled_from([3, 4])))
    | arrays.arrays(np.uint16, st.tuples(_side, _side))
)
def test_any_pixels_give_an_image_or_an_image_error(pixels):
    with suppress(ImageError):
        image = read_image(saved(pixels))
        assert image.shape == (28, 28)
        assert 0 <= image.min() <= image.max() <= 1


@settings(max_examples=60, deadline=None)
@given(
    shift=st.tuples(st.integers(-30, 30), st.integers(-35, 35)),
    paper=st.integers(0, 255),
    contrast=st.integers(25, 230),
)
def test_the_digit_is_the_same_wherever_it_lies_in_any_grey(shift, paper, contrast, network):
    ink = (paper + contrast) % 256
    assume(abs(paper - ink) >= 25)
    grey = np.asarray(paper + (ink - paper) * (1 - five() / 255), np.uint8)
    assert digit_of(network, saved(np.roll(grey, shift, (0, 1)))) == 5


def refusal(source):
    with pytest.raises(ImageError) as refused:
        read_image(source)
    sentence = str(refused.value)
    assert "\n" not in sentence
    assert "object at 0x" not in sentence
    return sentence


def test_what_is_no_picture_is_refused(tmp_path):
    (tmp_path / "empty.png").touch()
    assert refusal(tmp_path / "seven.png") == f"{tmp_path / 'seven.png'}: no such file"
    assert refusal(tmp_path / "empty.png").startswith(f"{tmp_path / 'empty.png'}: ")
    assert "directory" in refusal(tmp_path)
    assert "cannot be read" in refusal("five\0.png")
    assert "curl -s 'https://a.org/7?b&c' | lenet-bench" in refusal("https://a.org/7?b&c")
    assert "empty" in refusal("")
    assert "PNG, JPEG" in refusal(b"seven")
    assert "starts like" in refusal(b"RIFF\x10\0\0\0AVI LIST" + bytes(20))


@pytest.mark.parametrize("shade", [0, 128, 255])
def test_a_blank_picture_shows_no_ink(shade):
    assert "no pen strokes" in refusal(saved(np.full((300, 200), shade, np.uint8)))


@pytest.mark.parametrize("shape", ["ellipse", "rectangle"])
def test_a_filled_shape_shows_no_pen_strokes(shape):
    picture = Image.new("L", (200, 200), 255)
    getattr(ImageDraw.Draw(picture), shape)((80, 70, 120, 110), fill=0)
    assert "no pen strokes" in refusal(saved(picture))


def test_a_truncated_picture_is_refused():
    noisy = np.random.default_rng(1).integers(0, 255, (60, 60), dtype=np.uint8)
    for form in ("PNG", "JPEG", "PPM", "BMP", "TIFF", "WEBP"):
        content = saved(noisy, form)
        assert "damaged" in refusal(content[: len(content) // 2])


def test_a_decompression_bomb_is_refused_before_it_is_decoded():
    content = saved(np.zeros((1, 1), np.uint8))
    header = struct.pack(">4sIIBBBBB", b"IHDR", 8_000, 8_000, 8, 0, 0, 0, 0)
    bomb = content[:12] + header + struct.pack(">I", zlib.crc32(header)) + content[33:]
    assert "too many pixels" in refusal(bomb)


@pytest.mark.parametrize("turns", range(4))
@pytest.mark.parametrize(("bright", "dark"), [(250, 150), (255, 0), (250, 240)])
def test_paper_lit_from_one_side_shows_no_ink(bright, dark, turns):
    lit = np.rot90(np.tile(np.linspace(bright, dark, 400), (400, 1)), turns)
    assert "no pen strokes" in refusal(saved(lit.astype(np.uint8), "JPEG", quality=80))


def test_a_photo_of_paper_shows_no_ink():
    light = np.linspace(230, 120, 500)
    paper = light + np.random.default_rng(5).normal(0, 3, (400, 500))
    assert "no pen strokes" in refusal(saved(paper.astype(np.uint8), "JPEG", quality=80))


def test_without_pillow_no_picture_is_called_damaged(monkeypatch):
    picture = saved(np.zeros((40, 40), np.uint8))
    monkeypatch.setitem(sys.modules, "PIL.PngImagePlugin", None)
    assert "needs Pillow: " in refusal(picture)

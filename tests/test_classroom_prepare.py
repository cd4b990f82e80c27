"""The page prepares a picture as `lenet-bench infer` does: one C++, compiled twice."""

import io
import json
import warnings

import numpy as np
import pytest
from classroom import needs_node, node
from digits import BLACK, SAMPLES, WHITE, lay, pen, saved, sheet
from lenet_bench.errors import ImageError
from lenet_bench.images import NO_INK, explain
from PIL import Image, ImageDraw, ImageOps

CLOSE = 1e-5

pytestmark = needs_node


def png(values):
    return saved(np.asarray(values, np.uint8))


def odd_pictures():
    """Blank, tiny, of extreme shapes, of noise."""
    random = np.random.default_rng(5)
    small = [(1, 1), (2, 2), (3, 3), (1, 400), (400, 1), (5, 700), (28, 28), (9, 28), (150, 120)]
    larger_than_kept = [(60, 3000), (5000, 100), (101, 7001)]
    for height, width in small + larger_than_kept:
        yield f"white {height}x{width}", png(np.full((height, width), 255))
        yield f"noise {height}x{width}", png(random.integers(0, 256, (height, width, 3)))
        ramp = np.arange(height * width).reshape(height, width) % 256
        yield f"ramp {height}x{width}", png(ramp)
        spot = np.full((height, width), 230)
        spot[height // 3 : height // 3 + 2, width // 2 :] = 20
        yield f"spot {height}x{width}", png(spot)
        clear = random.integers(0, 256, (height, width, 4))
        yield f"clear {height}x{width}", png(clear * [1, 1, 1, 0])
        yield f"mottled alpha {height}x{width}", png(clear)
    yield "black", png(np.zeros((50, 70, 3)))
    yield "faint noise", png(200 + random.integers(0, 4, (150, 120)))
    dot = Image.new("L", (90, 120), 255)
    ImageDraw.Draw(dot).ellipse((30, 40, 60, 70), fill=0)
    yield "dot", png(dot)
    ink = pen(4, 1000)
    alpha = lay(sheet((2100, 903), BLACK), ink, WHITE, (400, 200))[..., :1] * 255
    yield "large, transparent", png(np.dstack([np.full((2100, 903, 3), 80), alpha]))
    corners = np.full((300, 200, 4), 225)
    corners[100:200, 90:110, :3] = 40
    corners[:40, :30, 3] = 0
    yield "corners cut off", png(corners)


def python_answer(content):
    """The steps from the decoded picture, None where there is no ink."""
    try:
        return explain(content)[1:]
    except ImageError as error:
        if NO_INK not in str(error):
            raise
        return None


def as_browsers_decode(content):
    """Upright red, green, blue and alpha, at most 2,048 a side, as draw.js hands them over."""
    with warnings.catch_warnings(), Image.open(io.BytesIO(content)) as image:
        warnings.simplefilter("ignore")
        upright = ImageOps.exif_transpose(image).convert("RGBA")
        return np.asarray(upright.reduce(-(-max(upright.size) // 2048)))


def page_answers(contents, folder):
    """What prepare.js makes of the pictures, through node."""
    entries, at = [], 0
    with (folder / "batch.bin").open("wb") as file:
        for content in contents:
            values = as_browsers_decode(content)
            height, width, _ = values.shape
            entries.append({"at": at, "height": height, "width": width})
            at += file.write(values.tobytes())
    (folder / "batch.json").write_text(json.dumps(entries))
    said = node("classroom_prepare.mjs", folder / "batch")
    return [json.loads(line) for line in said.splitlines()]


def difference(steps, answer):
    """What the two answers differ in, None if in nothing."""
    if steps is None or answer is None:
        return None if steps is answer else "only one of them finds ink"
    said = [[step.name, step.summary] for step in steps]
    if said != answer["steps"]:
        return f"{said} became {answer['steps']}"
    apart = np.abs(steps[-1].picture.ravel() - np.array(answer["image"])).max()
    return None if apart <= CLOSE else f"{apart} apart in the end"


def check(pictures, folder):
    """How many have ink, where node and Python answer alike."""
    names, contents = zip(*pictures, strict=True)
    answers = page_answers(contents, folder)
    wrong = {}
    for name, content, answer in zip(names, contents, answers, strict=True):
        if what := difference(python_answer(content), answer):
            wrong[name] = what
    assert wrong == {}
    return sum(answer is not None for answer in answers)


def test_samples_come_out_as_in_python(tmp_path):
    pictures = [(path.name, path.read_bytes()) for path in SAMPLES]
    assert check(pictures, tmp_path) == len(pictures)


@pytest.mark.slow
def test_odd_pictures_come_out_as_in_python(tmp_path):
    pictures = list(odd_pictures())
    assert 0 < check(pictures, tmp_path) < len(pictures)

"""The page prepares a picture as `lenet-bench infer` does: prepare.js against explain."""

import io
import json
import warnings

import numpy as np
import pytest
from classroom import SAMPLES, handwriting, needs_node, node
from digit_photos import BLACK, WHITE, lay, pen, sheet, stored
from digit_scenes import SCENES, photograph
from lenet_bench.errors import ImageError
from lenet_bench.images import explain
from lenet_bench.images.decode import NO_INK
from PIL import Image, ImageOps

CLOSE = 1e-5

pytestmark = needs_node


# --- the pictures ----------------------------------------------------------------------------


def png(values):
    file = io.BytesIO()
    Image.fromarray(np.asarray(values, np.uint8)).save(file, "PNG")
    return file.getvalue()


def odd_pictures():
    """Blank, tiny, of extreme shapes, of noise."""
    random = np.random.default_rng(5)
    shapes = [(1, 1), (2, 2), (3, 3), (1, 400), (400, 1), (5, 700), (28, 28), (9, 28), (60, 3000)]
    for height, width in shapes:
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
    for side in (2049, 4100, 6500):  # more than is kept
        ink = pen(side % 10, random, side // 2, side / 20)
        paper = lay(sheet((side, side // 2 + 3), WHITE), ink, BLACK, (side // 4, 30))
        yield f"large {side}", stored(paper, "PNG")
    ink = pen(4, random, 1500, 80)
    alpha = lay(sheet((2500, 2203), BLACK), ink, WHITE, (400, 500))[..., :1]
    yield "large, transparent", png(np.dstack([255 * np.ones((2500, 2203, 3)) * 0.3, 255 * alpha]))


def mnist_like(count):
    """As they are, and by turns enlarged to black on white."""
    for n, image in enumerate(handwriting(count)):
        large = Image.fromarray(image).resize((28 * (2 + n % 9),) * 2, Image.Resampling.BICUBIC)
        yield f"digit {n} in MNIST's format", png(255 - np.asarray(large) if n % 2 else image)


def scenes(count):
    for n in range(count):
        scene = list(SCENES)[n % len(SCENES)]
        digit = n // len(SCENES) % 10
        yield f"{scene} {digit}, seed {n}", photograph(digit, scene, seed=n)


# --- both answers ----------------------------------------------------------------------------


def python_answer(content):
    """The steps, or None where there is no ink."""
    try:
        return explain(content)
    except ImageError as error:
        if NO_INK in str(error):
            return None
        raise


def as_browsers_decode(content):
    """Upright bytes of red, green, blue and alpha; of deep pictures, which they cut, the floats."""
    with warnings.catch_warnings(), Image.open(io.BytesIO(content)) as image:
        warnings.simplefilter("ignore")
        if image.mode.startswith("I") or image.mode == "F":
            return explain(content)[0].picture
        return np.asarray(ImageOps.exif_transpose(image).convert("RGBA"))


def page_answers(contents, folder):
    """What prepare.js makes of the pictures, through node."""
    entries, at = [], 0
    with (folder / "batch.bin").open("wb") as file:
        for content in contents:
            values = as_browsers_decode(content)
            deep = values.dtype == np.float32
            channels = values.shape[2] if deep and values.ndim == 3 else int(deep)
            height, width = values.shape[:2]
            entries.append({"at": at, "height": height, "width": width, "channels": channels})
            at += file.write(values.tobytes())
    (folder / "batch.json").write_text(json.dumps(entries))
    said = node("classroom_prepare.mjs", folder / "batch")
    return [json.loads(line) for line in said.splitlines()]


def difference(steps, answer):
    """What the two answers differ in, None if in nothing; and by how much the last pictures do."""
    if steps is None or "noInk" in answer:
        same = steps is None and answer.get("noInk") == NO_INK
        return (None if same else "only one of them finds ink"), 0.0
    decoded, *rest = steps
    if tuple(answer["decoded"]["shape"]) != shape(decoded.picture):
        return "decoded to another shape", 1.0
    said = [(step.name, step.summary, shape(step.picture)) for step in rest]
    here = [(name, summary, tuple(made["shape"])) for name, summary, made in answer["steps"]]
    if said != here:
        return f"{said} became {here}", 1.0
    apart = float(np.abs(rest[-1].picture.ravel() - np.array(answer["image"])).max())
    if apart <= CLOSE:
        return None, apart
    sums = [
        (step.name, float(step.picture.sum(dtype=np.float64)) - made["sum"])
        for step, (_, _, made) in zip(rest, answer["steps"], strict=True)
    ]
    return f"{apart} apart; the steps' sums differ by {sums}", apart


def shape(picture):
    return (*picture.shape, 1) if picture.ndim == 2 else picture.shape


def check(pictures, folder):
    names, contents = zip(*pictures, strict=True)
    answers = page_answers(contents, folder)
    found = [
        difference(python_answer(content), answer)
        for content, answer in zip(contents, answers, strict=True)
    ]
    inks = sum("noInk" not in answer for answer in answers)
    worst = max(apart for _, apart in found)
    print(f"{len(names)} pictures, {inks} with ink, worst difference {worst:.3g}")
    wrong = {name: what for name, (what, _) in zip(names, found, strict=True) if what}
    assert not wrong, "\n".join(f"{name}: {what}" for name, what in wrong.items())
    return inks


# --- the tests -------------------------------------------------------------------------------


def test_samples_and_scenes_come_out_as_in_python(tmp_path):
    pictures = [(path.name, path.read_bytes()) for path in SAMPLES]
    pictures += [*scenes(22), *mnist_like(60 - 22 - len(SAMPLES))]
    assert check(pictures, tmp_path) == len(pictures)


def test_odd_pictures_come_out_as_in_python(tmp_path):
    pictures = list(odd_pictures())
    assert 0 < check(pictures, tmp_path) < len(pictures)


@pytest.mark.slow
def test_a_thousand_pictures_come_out_as_in_python(tmp_path):
    check([*scenes(800), *mnist_like(200)], tmp_path)

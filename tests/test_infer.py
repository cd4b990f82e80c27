"""`lenet-bench infer`: pictures in, digits and times out, and one sentence for what is no digit."""

import json
import resource
import sys
from pathlib import Path

import lenet_bench
import numpy as np
import pytest
from conftest import draw_seven, environment
from lenet_bench.questions.infer import (
    Answered,
    OpenBackend,
    all_agree,
    infer,
    to_json,
)
from lenet_bench.registry import names
from PIL import Image
from processes import python, ran


def test_a_seven_is_a_seven_with_ten_bars(run, picture):
    """With the canonical weights."""
    done = run("infer", picture)
    first, *lines = done.output.splitlines()
    assert done.code == 0
    assert first == f"{picture}: 7"
    bars = [line.split()[0] for line in lines if line.endswith(" %")]
    assert bars == [str(digit) for digit in range(10)]
    assert "█" in done.output
    assert "first call" in done.output


def test_json_has_what_the_python_face_answers(run, picture, weights_file):
    arguments = ("--json", "--backend", "reference", "--threads", "2", "--weights", weights_file)
    done = run("infer", picture, *arguments)
    answer = done.answer
    assert done.code == 0
    assert answer["image"] == str(picture)
    assert answer["backend"] == "reference"
    net = lenet_bench.load("reference", weights=weights_file)
    expected = net.infer(lenet_bench.read_image(picture))
    assert np.array_equal(np.float32(answer["probabilities"]), expected)
    assert answer["digit"] == expected.argmax()
    assert answer["first_us"] > 0
    assert answer["steady_us"] > 0


def test_show_draws_what_the_network_saw(run, picture):
    """Two rows of pixels a line: in density characters, and in colour in half blocks."""
    drawn = [line[2:30] for line in run("infer", picture, "--show").output.splitlines()[2:16]]
    seen = lenet_bench.read_image(picture)
    rows = [seen[2 * n : 2 * n + 2].max() > 0.5 for n in range(14)]
    assert [bool(line.strip(" .:")) for line in drawn] == rows
    coloured = run("infer", picture, "--show", FORCE_COLOR="1").output
    assert coloured.count("▀") == 14 * 28
    assert "\x1b[38;5;255;48;5;" in coloured


def test_steps_writes_each_step_of_each_image_as_png(run, tmp_path):
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        draw_seven(tmp_path / folder / "7.png")
    images, steps = (tmp_path / "a/7.png", tmp_path / "b/7.png"), tmp_path / "new/steps"
    output = run("infer", *images, "--steps", steps).output
    assert sum("7.png" in line for line in output.splitlines()) == len(images)
    written = sorted(path.name for path in steps.iterdir())
    first, second = ([n for n in written if n.startswith(f"{name}-")] for name in ("7", "7~2"))
    assert first[0] == "7-1-decode.png"
    assert [name.split("-")[1] for name in first] == [str(n + 1) for n in range(len(first))]
    assert len(second) == len(first)
    assert len(written) == 2 * len(first)
    with Image.open(steps / first[-1]) as last:
        assert last.size == (28, 28)


def test_a_dash_reads_standard_input(run, picture):
    answer = run("infer", "-", "--json", input=picture.read_bytes()).answer
    expected = run("infer", picture, "--json").answer
    assert answer["image"] == "-"
    assert answer["probabilities"] == expected["probabilities"]


def test_an_empty_standard_input_is_one_sentence(refused):
    assert "empty" in refused("infer", "-")


def test_the_name_of_a_file_breaks_no_line(run, tmp_path):
    image = draw_seven(tmp_path / "se\x1b[2J\nven.png")
    done = run("infer", image)
    assert done.code == 0
    assert "\x1b" not in done.output
    assert "ven.png" in done.output.splitlines()[0]


@pytest.mark.slow
def test_all_asks_every_backend_that_runs_here(run, picture):
    done = run("infer", picture, "--json", "--backend", "all")
    answers = done.answers
    answered = [answer["backend"] for answer in answers]
    assert {"fused", "fused:int16", "numpy", "reference"} <= set(answered)
    assert answered == [name for name in names() if name in answered]
    assert len({answer["digit"] for answer in answers}) == 1
    assert done.code == 0


def test_auto_passes_over_a_backend_that_cannot_run(run, picture):
    done = run("infer", picture, "--json", LENET_BENCH_ISA="vax")
    assert done.answer["backend"] != "fused"
    assert "fused" in done.errors
    assert done.code == 0


def test_a_named_backend_that_cannot_run_is_one_sentence(refused, picture):
    assert "vax" in refused("infer", picture, "--backend", "fused", LENET_BENCH_ISA="vax")


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="this system counts no threads")
def test_one_thread_is_one_thread_of_numpys_blas_too(picture):
    program = (
        "import os, sys\n"
        "from lenet_bench.cli import run\n"
        "run(sys.argv[1:])\n"
        "print(len(os.listdir('/proc/self/task')))\n"
    )
    arguments = ["infer", picture, "-b", "numpy", "--json"]
    unset = {n: v for n, v in environment().items() if not n.endswith("_NUM_THREADS")}
    assert python(program, *arguments, env=unset).stdout.splitlines()[-1] == "1"


@pytest.mark.parametrize("name", ["absent.png", "absent.safetensors"])
def test_a_file_that_cannot_be_read_is_one_sentence(refused, picture, tmp_path, name):
    """What else is refused is in test_images.py and test_weights.py."""
    bad = tmp_path / name
    words = (bad,) if bad.suffix == ".png" else (picture, "--weights", bad)
    assert str(bad) in refused("infer", *words)


def test_a_bad_image_costs_no_other_its_answer(run, picture, tmp_path):
    bad = tmp_path / "bad.png"
    bad.write_text("this is no picture")
    done = run("infer", picture, bad, picture, "--json")
    first, failed, last = done.answers
    assert first["image"] == last["image"] == str(picture)
    assert failed.keys() == {"image", "error"}
    assert done.code == 1
    assert done.errors == ""


def test_a_disk_that_fills_up_under_the_steps_leaves_the_answer(picture, tmp_path):
    """A limit on the size of files stands in for the disk: the write fails half-way."""

    def fill():
        resource.setrlimit(resource.RLIMIT_FSIZE, (40, 40))

    arguments = ("infer", picture, "--json", "--steps", tmp_path / "s")
    command = (sys.executable, "-B", "-m", "lenet_bench", *arguments)
    done = ran(*command, code=1, preexec_fn=fill, env=environment())
    assert "digit" in json.loads(done.stdout)
    assert done.stderr.count("\n") == 1
    assert "cannot be written" in done.stderr
    assert list((tmp_path / "s").iterdir()) == []


class Shifted:
    """A backend that is wrong by so much, and remembers what it was shown."""

    def __init__(self, by):
        self._right = lenet_bench.load("reference")
        self._by = by
        self.shown = []

    def infer(self, images):
        self.shown.append(images)
        return np.asarray(self._right.infer(images) + np.float32(self._by), np.float32)

    def layers(self, image):
        return self._right.layers(image)

    def describe(self):
        return {}


@pytest.mark.parametrize(("by", "agrees"), [(1e-7, True), (1e-3, False), (np.nan, False)])
def test_a_backend_must_keep_within_its_tolerance(picture, by, agrees):
    right = lenet_bench.load("reference")
    backends = [OpenBackend("fused", Shifted(by)), OpenBackend("reference", right)]
    outcomes = list(infer([str(picture)], backends))
    (outcome,) = outcomes
    assert isinstance(outcome, Answered)
    assert [answer.agrees for answer in outcome.answers] == [agrees, True]
    assert all_agree(outcomes) == agrees


def test_a_backend_is_timed_once(picture):
    backend = Shifted(0.0)
    opened = OpenBackend("fused", backend)
    first, second = infer([str(picture)] * 2, [opened])
    assert len({image.tobytes() for image in backend.shown}) >= 5
    assert next(to_json(first))["steady_us"] == next(to_json(second))["steady_us"]

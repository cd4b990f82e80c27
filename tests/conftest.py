"""What several tests need: the command as a process, weights, pictures and a small data set."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from lenet_bench import cli
from lenet_bench.network import PARAMETERS
from lenet_bench.weights import write_weights
from patterns import write_part, write_patterns
from PIL import Image, ImageDraw

pytest_plugins = ["browsers", "cuda_children", "shared_results"]

ROOT = Path(__file__).parents[1]

#: Settings of the caller's shell, and of pytest-xdist, that would change what a command does.
_NOT_INHERITED = (
    *("NO_COLOR", "FORCE_COLOR", "LENET_BENCH_DEBUG", "LENET_BENCH_ISA", "COLUMNS"),
    "PYTEST_XDIST_WORKER",
)


@dataclass(frozen=True)
class Done:
    """A command that has ended."""

    code: int
    output: str
    errors: str

    @property
    def answer(self) -> Any:
        """What it printed with --json."""
        return json.loads(self.output)

    @property
    def answers(self) -> list[Any]:
        """The same where each line is one."""
        return [json.loads(line) for line in self.output.splitlines()]


Run = Callable[..., Done]

# A test says itself what is installed beside it, and its children hear Ctrl-C: a shell that starts
# the tests in the background has them ignore it.
if "LENET_BENCH_TEST_ENVIRONMENTS" not in os.environ:
    os.environ["LENET_BENCH_ENVIRONMENTS"] = os.devnull
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
with suppress(ImportError):  # the machine with a GPU does without
    from hypothesis import settings

    settings.register_profile("same", derandomize=True)  # for new ones --hypothesis-profile=default
    settings.load_profile("same")


def environment(**changes):
    """The environment of a command: the caller's without its taste, and these changes."""
    inherited = {name: value for name, value in os.environ.items() if name not in _NOT_INHERITED}
    return {**inherited, **changes}


def pytest_collection_modifyitems(items):
    """Files with slow tests go first, so that no worker is left alone with one in the end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


def pytest_terminal_summary(terminalreporter):
    """Say it loudly where a browser was not found: a skipped test is easily overlooked."""
    skipped = (report.longrepr for report in terminalreporter.getreports("skipped"))
    reasons = {longrepr[2] for longrepr in skipped if isinstance(longrepr, tuple)}
    missing = sorted(reason for reason in reasons if "no browser" in reason)
    if missing:
        terminalreporter.section("PAGES WERE NOT TESTED", "!", red=True, bold=True)
    for reason in missing:
        terminalreporter.write_line(reason.removeprefix("Skipped: "))


@pytest.fixture(scope="session")
def run():
    """`run("infer", "7.png", NO_COLOR="1")`: lenet-bench as a process of its own."""

    def run_command(*arguments, input=b"", **variables):
        options: dict[str, Any] = {"input": input, "env": environment(**variables)}
        command = [sys.executable, "-m", "lenet_bench", *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, timeout=900, **options)
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run_command


@pytest.fixture
def run_here(capsys):
    """The same in this process, where a test may have put something in another's place."""

    def run_command(*arguments):
        code = cli.run(list(map(str, arguments)))
        return Done(code, *capsys.readouterr())

    return run_command


@pytest.fixture(scope="session")
def refused(run):
    """`refused("infer", "none.png")`: the one sentence that a command fails with."""

    def sentence_of(*arguments, **options):
        done = run(*arguments, **options)
        assert done.code == 1, done.errors
        assert done.output == ""
        (sentence,) = done.errors.splitlines()
        assert sentence.startswith("lenet-bench: ")
        assert "this is a bug" not in sentence
        return sentence

    return sentence_of


@pytest.fixture(scope="session")
def weights_file(tmp_path_factory):
    """Random weights, which are not the canonical ones."""
    random = np.random.default_rng(7)
    path = tmp_path_factory.mktemp("weights") / "random.safetensors"
    parameters = {
        name: (random.standard_normal(shape) * 0.05).astype(np.float32)
        for name, shape in PARAMETERS.items()
    }
    write_weights(path, parameters, {})
    return path


@pytest.fixture(scope="session")
def picture(tmp_path_factory):
    """A seven, drawn with a thick pen on white paper."""
    return draw_seven(tmp_path_factory.mktemp("pictures") / "seven.png")


def draw_seven(path, shift=0):
    paper = Image.new("L", (120, 160), 255)
    corners = [(30 + shift, 40), (90 + shift, 40), (55 + shift, 125)]
    ImageDraw.Draw(paper).line(corners, fill=0, width=12, joint="curve")
    paper.save(path)
    return path


@pytest.fixture(scope="session")
def small_mnist(tmp_path_factory):
    """A folder with MNIST's test files, of 30 random images."""
    random = np.random.default_rng(3)
    images = (random.random((30, 28, 28)) * (random.random((30, 28, 28)) < 0.2) * 255).astype("u1")
    labels = random.integers(0, 10, 30).astype("u1")
    return write_part(tmp_path_factory.mktemp("mnist"), "t10k", images, labels)


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A folder with a data set that can be learnt: 500 training and 60 test images."""
    return write_patterns(tmp_path_factory.mktemp("patterns"))

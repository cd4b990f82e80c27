"""The command line as a user meets it: help, exit codes, streams, colours, interruptions."""

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import environment
from lenet_bench.cli import cli
from lenet_bench.cli.train import FRAMEWORKS, RECIPE
from lenet_bench.training import FRAMEWORKS as TRAINABLE
from lenet_bench.training import Augmentation, Recipe

COMMANDS = tuple(cli.commands)
COMMAND = [sys.executable, "-m", "lenet_bench"]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_examples_in_80_columns(run, command):
    done = run(command, "--help")
    assert done.code == 0
    assert "Examples:" in done.output
    assert f"lenet-bench {command}" in done.output
    assert max(map(len, done.output.splitlines())) <= 80


def test_the_help_has_the_exit_codes(run):
    assert "1 a wrong" in run("--help").output


def test_the_version_is_the_packages(run):
    import lenet_bench

    assert run("--version").output == f"lenet-bench {lenet_bench.__version__}\n"


def test_the_installed_command_is_the_module(run):
    command = Path(sys.executable).with_name("lenet-bench")
    output = subprocess.run([command, "--help"], capture_output=True, check=True, text=True).stdout
    assert output == run("--help").output


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("dance",),
        ("infer",),
        ("infer", "--dance", "7.png"),
        ("infer", "--backend", "abacus", "7.png"),
        ("infer", "--threads", "0", "7.png"),
        ("infer", "--threads", "9" * 20, "7.png"),
        ("compare", "--threads", "100000"),
        ("train", "--threads", "100000"),
        ("verify", "--backend", "fused:float8"),
        ("train", "--epochs", "0"),
        ("train", "--rate", "fast"),
        ("train", "--framework", "theano"),
        ("train", "--framework", "all", "-o", "lenet.safetensors"),
        ("completion", "tcsh"),
    ],
)
def test_misuse_exits_with_2(run, arguments):
    done = run(*arguments)
    assert (done.code, done.output) == (2, "")
    assert "Usage: lenet-bench" in done.errors


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="this system does not tell")
def test_more_threads_than_cores_are_refused(run):
    cores = len(os.sched_getaffinity(0))
    errors = run("why", "fused", "--threads", str(cores + 1)).errors
    assert {str(cores), str(cores + 1)} <= set(re.findall(r"\d+", errors))


def test_an_unknown_backend_is_answered_with_the_command_that_lists_all(run):
    errors = run("infer", "--backend", "abacus", "7.png").errors
    assert all(name in errors for name in ("abacus", "`lenet-bench backends`"))


@pytest.mark.parametrize(("slip", "meant"), [("fsued", "fused"), ("torch@tpu", "torch@gpu")])
def test_a_slip_is_answered_with_what_was_meant(run, slip, meant):
    errors = run("infer", "--backend", slip, "7.png").errors
    assert f"did you mean {meant}?" in errors


def test_train_has_the_frameworks_and_the_recipe_of_training():
    choices = {name: default for name, (default, _) in RECIPE.items()}
    assert Recipe(**choices, augmentation=Augmentation()) == Recipe()
    assert set(choices) == {*vars(Recipe())} - {"augmentation"}
    assert FRAMEWORKS == TRAINABLE


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_prints_the_shells_script(run, shell):
    done = run("completion", shell)
    assert done.code == 0
    assert f"_LENET_BENCH_COMPLETE={shell}_complete" in done.output


def test_the_shell_completes_backends(run):
    done = run(
        _LENET_BENCH_COMPLETE="bash_complete",
        COMP_WORDS="lenet-bench infer --backend fu",
        COMP_CWORD="3",
    )
    assert done.output.split() == ["plain,fused", "plain,fused:int16"]


def test_infer_imports_nothing_that_it_does_not_need(picture, weights_file):
    """So that the process ends soon after NumPy and Pillow have been imported."""
    arguments = ["infer", str(picture), "--weights", str(weights_file)]
    command = [sys.executable, "-X", "importtime", "-m", "lenet_bench", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert {"numpy", "PIL.Image", "lenet_bench.questions.infer"} <= imported
    heavy = {"rich", "tensorflow", "keras", "torch", "jax", "matplotlib", "scipy"}
    heavy |= {"urllib.request", "http.client", "ssl", "concurrent.futures", "multiprocessing"}
    heavy |= {"importlib.metadata", "msgspec", "psutil"}
    ours = ("training", "show.page", "mnist", "results", "questions.doctor", "questions.verify")
    heavy |= {f"lenet_bench.{name}" for name in ours}
    assert not heavy & imported


def test_help_imports_no_numpy():
    command = [sys.executable, "-X", "importtime", "-m", "lenet_bench", "infer", "--help"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True)
    assert "numpy" not in {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


@pytest.mark.parametrize("arguments", [["backends", "fused", "--json"], ["--help"]])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_under_the_output_is_one_sentence(arguments):
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, env=environment()
        )
    assert done.returncode == 1
    sentence = b"lenet-bench: the output cannot be written: No space left on device\n"
    assert done.stderr == sentence


def test_a_closed_output_is_not_a_success(picture, weights_file):
    command = f'"{sys.executable}" -m lenet_bench infer "{picture}" --weights "{weights_file}" >&-'
    done = subprocess.run(["sh", "-c", command], capture_output=True, env=environment())
    assert (done.returncode, b"Traceback" in done.stderr) == (1, False)


def test_a_reader_that_leaves_is_no_error_to_tell(picture, weights_file):
    """As in `lenet-bench infer *.png | head -1`."""
    arguments = ["infer", "--json", "--weights", str(weights_file), *[str(picture)] * 500]
    with subprocess.Popen(
        [*COMMAND, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment()
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""


def test_ctrl_c_ends_quietly_with_130(picture, weights_file):
    """The first image has been answered; the second would come from standard input."""
    arguments = ["infer", "--json", "--weights", str(weights_file), str(picture), "-"]
    with subprocess.Popen(
        [*COMMAND, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    ) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert process.stderr.read().strip() == b""


def first_on_the_path(folder, module, source):
    """An environment in which this module is imported instead of the real one."""
    (folder / f"{module}.py").write_text(source)
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


def test_ctrl_c_ends_quietly_while_the_command_line_is_imported(run, tmp_path):
    done = run("backends", **first_on_the_path(tmp_path, "click", "raise KeyboardInterrupt"))
    assert (done.code, done.output, done.errors) == (130, "", "")


def broken_safetensors(folder):
    """A dependency cannot be imported: something nobody provided for."""
    return first_on_the_path(folder, "safetensors", "raise RuntimeError('broken on purpose')\n")


def test_a_bug_is_one_sentence_that_asks_to_report_it(run, tmp_path):
    done = run("infer", "7.png", **broken_safetensors(tmp_path))
    assert done.code == 1
    assert len(done.errors.splitlines()) == 1
    assert "this is a bug" in done.errors


@pytest.mark.parametrize("way", ["option", "variable"])
def test_debug_shows_the_traceback(run, tmp_path, way):
    variables = broken_safetensors(tmp_path)
    if way == "variable":
        done = run("infer", "7.png", LENET_BENCH_DEBUG="1", **variables)
    else:
        done = run("--debug", "infer", "7.png", **variables)
    assert done.code == 1
    assert "Traceback (most recent call last)" in done.errors


def on_a_terminal(*arguments, **variables):
    """What the command draws where its output is a terminal."""
    outer, inner = pty.openpty()
    command = [*COMMAND, *map(str, arguments)]
    settings = environment(**{"TERM": "xterm-256color", **variables})
    with subprocess.Popen(command, stdout=inner, stderr=inner, env=settings) as process:
        os.close(inner)
        drawn = b""
        try:
            while chunk := os.read(outer, 65536):
                drawn += chunk
        except OSError:
            pass  # how Linux says that the last writer has left
        os.close(outer)
        assert process.wait() == 0
    return drawn.decode()


def test_a_terminal_gets_colours(picture, weights_file):
    assert "\x1b[" in on_a_terminal("infer", picture, "--weights", weights_file)


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_colours_can_be_refused(picture, weights_file, variables):
    drawn = on_a_terminal("infer", picture, "--weights", weights_file, "--show", **variables)
    assert "\x1b" not in drawn


def test_a_file_gets_no_colours(run, picture, weights_file):
    done = run("infer", picture, "--show", "--weights", weights_file, TERM="xterm-256color")
    assert "\x1b" not in done.output + done.errors


def test_an_ascii_stream_gets_ascii(run, picture, weights_file):
    done = run("infer", picture, "--weights", weights_file, PYTHONIOENCODING="ascii")
    assert done.code == 0
    assert done.output.isascii()
    assert "#" in done.output


@pytest.mark.parametrize("columns", ["72", "80", "140"])
def test_the_output_fits_the_terminal(run, picture, weights_file, columns):
    for arguments in (["--show"], ["-b", "fused:int16", "-b", "reference"], [picture]):
        done = run("infer", picture, *arguments, "--weights", weights_file, COLUMNS=columns)
        assert max(map(len, done.output.splitlines())) <= int(columns)

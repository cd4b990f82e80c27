"""The command line as a user meets it: help, exit codes, streams, colours, interruptions."""

import os
import pty
import re
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import lenet_bench
import psutil
import pytest
from conftest import environment
from lenet_bench.choices import Recipe
from lenet_bench.cli import cli
from lenet_bench.cli.train import train
from lenet_bench.errors import TEMPORARY, incomplete
from lenet_bench.results import read_result
from processes import as_no_root, linux, python, ran, wait_for

COMMANDS = tuple(cli.list_commands(click.Context(cli)))
COMMAND = [sys.executable, "-m", "lenet_bench"]


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_examples_in_80_columns(run, command):
    done = run(command, "--help")
    assert done.code == 0
    assert "Examples:" in done.output
    assert f"lenet-bench {command}" in done.output
    assert max(map(len, done.output.splitlines())) <= 80


def test_the_installed_command_is_the_module(run):
    assert run("--version").output == f"lenet-bench {lenet_bench.__version__}\n"
    command = Path(sys.executable).with_name("lenet-bench")
    assert ran(command, "--help").stdout == run("--help").output


def test_too_many_threads_are_answered_with_the_cores(run):
    if hasattr(os, "sched_getaffinity"):
        cores = len(os.sched_getaffinity(0))
        errors = run("why", "fused", "--threads", str(cores + 1)).errors
        assert {str(cores), str(cores + 1)} <= set(re.findall(r"\d+", errors))


def test_a_dash_is_answered_with_the_name_of_the_standard_stream(run, result_file):
    for words, instead in {
        "report -": "; give /dev/stdin",
        "compare -o -": "",
        "share m.jsonl -o ''": "",
        "machines -": "; give /dev/stdin",
        "diff - m.jsonl": "; give /dev/stdin",
    }.items():
        done = run(*shlex.split(words))
        assert done.code == 2
        assert " ".join(done.errors.split()).endswith(f"is no name{instead}")
    assert run("report", "/dev/stdin", input=result_file.read_bytes()).code == 0


def test_train_has_the_choices_of_training():
    others = {"named", "output", "data", "threads", "as_json"}
    assert {one.name for one in train.params} - others == {*vars(Recipe())} - {"augmentation"}


def test_completion_prints_the_shells_script(run):
    for shell in ("bash", "zsh", "fish"):
        done = run("completion", shell)
        assert done.code == 0
        assert f"_LENET_BENCH_COMPLETE={shell}_complete" in done.output


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
@pytest.mark.parametrize(
    ("typed", "breaks", "offers"),
    [
        ("lenet-bench compare keras:fu", "' :'", ["function", "function@gpu"]),
        ("lenet-bench compare keras:fu", "' '", ["keras:function", "keras:function@gpu"]),
        ("lenet-bench compare keras fus", "' :'", ["fused", "fused:int16"]),
    ],
)
def test_bash_completes_a_variant_after_its_colon(run, typed, breaks, offers):
    script = run("completion", "bash").output
    at = f"COMP_LINE={shlex.quote(typed)} COMP_POINT={len(typed)} COMP_WORDBREAKS={breaks}"
    show = """_lenet_bench_completion lenet-bench && printf '%s\\n' "${COMPREPLY[@]}" """
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    done = ran("bash", "-c", f"{script}\n{at}\n{show}", env=environment(PATH=path))
    assert done.stdout.split() == offers


def imported(*arguments):
    command = (sys.executable, "-X", "importtime", "-m", "lenet_bench", *arguments)
    done = ran(*command, env=environment())
    return {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}


def test_infer_imports_nothing_that_it_does_not_need(picture):
    """So that the process ends soon after NumPy and Pillow have been imported."""
    assert "numpy" not in imported("infer", "--help")
    found = imported("infer", picture)
    assert {"numpy", "PIL.Image", "lenet_bench.questions.infer"} <= found
    heavy = {"tensorflow", "keras", "torch", "jax", "matplotlib", "scipy"}
    heavy |= {"urllib.request", "http.client", "ssl", "concurrent.futures", "multiprocessing"}
    heavy |= {"importlib.metadata", "msgspec", "psutil"}
    ours = ("training", "show.page", "mnist", "results", "questions.doctor", "questions.verify")
    heavy |= {f"lenet_bench.{name}" for name in ours}
    assert not heavy & found


def shell(command, code=1):
    return ran("sh", "-c", command, code=code, env=environment())


@pytest.mark.parametrize("arguments", [["backends", "fused", "--json"], ["--help"]])
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_under_the_output_is_one_sentence(arguments):
    command = f"{shlex.join([*COMMAND, *arguments])} > /dev/full"
    done = shell(command)
    assert done.stderr.count("\n") == 1
    assert "No space left on device" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_full_disk_under_its_notes_ends_no_command(picture, tmp_path):
    file = tmp_path / "mine.jsonl"
    command = shlex.join([*COMMAND, "compare", "numpy", "--rounds", "1", "-o", str(file)])
    assert "numpy" in shell(f"{command} 2>/dev/full", code=0).stdout
    assert read_result(file).ended == "rounds"
    command = shlex.join([*COMMAND, "infer", str(picture), "--backend", "all"])
    assert "numpy" in shell(f"{command} 2>/dev/full", code=0).stdout


CLOSED = "the output cannot be written: Bad file descriptor"


@pytest.mark.parametrize("arguments", ["infer {picture}", "backends fused", "networks", "--help"])
def test_a_closed_output_is_one_sentence(picture, arguments):
    command = f"{shlex.join(COMMAND)} {arguments.format(picture=picture)} >&-"
    done = shell(command)
    assert done.stderr.splitlines()[-1:] == [f"lenet-bench: {CLOSED}"]
    assert "bug" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"])
def test_a_run_with_a_closed_output_is_saved(tmp_path, closed):
    output = tmp_path / "mine.jsonl"
    command = f"{shlex.join(COMMAND)} compare numpy --rounds 1 -o {output} {closed}"
    done = shell(command)
    assert read_result(output).ended == "rounds"
    assert CLOSED in done.stderr or "2>" in closed


@pytest.mark.parametrize("closed", ["<&-", "</dev/null"])
def test_a_question_that_gets_no_answer_is_misuse(result_file, tmp_path, closed):
    asked = shlex.join([*COMMAND, "share", str(result_file), "-o", str(tmp_path / "shared")])
    done = shell(f"{asked} {closed}", code=2)
    said = "nothing was written: standard input has no answer; give --yes\n"
    assert done.stderr.endswith(f"lenet-bench: {said}")
    assert not (tmp_path / "shared").exists()


def interrupt(process):
    """Send Ctrl-C until it is heard: Python may lose one that comes just before it waits."""
    wait_for(lambda: psutil.Process(process.pid).status() == psutil.STATUS_SLEEPING)
    while process.poll() is None:
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            process.wait(30)


def test_ctrl_c_at_a_question_writes_nothing(result_file, tmp_path):
    with started("share", str(result_file), "-o", str(tmp_path / "shared")) as process:
        while (printed := process.stderr.read(1)) != b"]":  # of the question's [y/N]
            assert printed
        interrupt(process)
        assert process.returncode == 130
        assert process.stderr.read().endswith(b"lenet-bench: nothing was written\n")
    assert not (tmp_path / "shared").exists()


def test_a_page_needs_no_output(result_file, tmp_path):
    page = tmp_path / "page.html"
    command = f"{shlex.join(COMMAND)} report {result_file} -o {page} >&-"
    shell(command, code=0)
    assert page.exists()


def test_ctrl_c_while_it_ends_changes_nothing():
    """Sent to itself after the command is over, before the interpreter ends."""
    code = (
        "import gc, os, signal, sys\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "gc.freeze = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
        "from lenet_bench.cli import main\n"
        "main()"
    )
    done = python(code, "networks", env=environment())
    assert "lenet" in done.stdout
    assert done.stderr == ""


def test_a_reader_that_leaves_is_no_error(picture):
    """As in `lenet-bench infer *.png | head -1`."""
    with started("infer", "--json", *[str(picture)] * 500) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(180) == 0


def started(*arguments):
    """The command, under way."""
    pipes: dict[str, Any] = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    return subprocess.Popen([*COMMAND, *arguments], env=environment(), **pipes)


def test_ctrl_c_ends_quietly_with_130(picture):
    """The first image has been answered; the second would come from standard input."""
    with started("infer", "--json", str(picture), "-") as process:
        process.stdout.readline()
        interrupt(process)
        assert process.returncode == 130
        assert process.stderr.read().strip() == b""


def first_on_the_path(folder, module, source):
    """An environment in which this module is imported instead of the real one."""
    (folder / f"{module}.py").write_text(source)
    return {"PYTHONPATH": os.pathsep.join([str(folder), os.environ.get("PYTHONPATH", "")])}


def test_ctrl_c_ends_quietly_while_the_command_line_is_imported(run, tmp_path):
    done = run("backends", **first_on_the_path(tmp_path, "click", "raise KeyboardInterrupt"))
    assert done.code == 130
    assert done.output == ""
    assert done.errors == ""


def test_without_click_the_installation_is_not_complete(run, tmp_path):
    done = run("backends", **first_on_the_path(tmp_path, "click", "import nosuch"))
    said = incomplete("No module named 'nosuch'")
    assert (done.code, done.errors) == (1, f"lenet-bench: {said}\n")


def broken_safetensors(folder, error="RuntimeError('broken on purpose')"):
    """A dependency cannot be imported: something nobody provided for."""
    return first_on_the_path(folder, "safetensors", f"raise {error}\n")


def test_a_bug_is_one_sentence_that_asks_to_report_it(run, tmp_path):
    done = run("infer", "7.png", **broken_safetensors(tmp_path))
    assert done.code == 1
    assert done.errors.count("\n") == 1
    assert "this is a bug" in done.errors


@pytest.mark.parametrize(
    ("error", "said"),
    [
        ("MemoryError", "out of memory"),
        ("PermissionError(13, 'Permission denied', '/root/x')", "/root/x: Permission denied"),
        ("ImportError('no _it')", incomplete("no _it")),
        ("ImportError('it.so: failed to map segment from shared object')", "out of memory"),
        (
            'RuntimeError("can\'t start new thread")',
            "no thread can be started: a limit of processes is reached (ulimit -u, a container's)",
        ),
        (
            "OSError(24, 'Too many open files')",
            "too many files are open; to raise the limit: ulimit -n 1024",
        ),
        (
            "FileNotFoundError(2, 'No usable temporary directory')",
            f"no temporary file can be made; {TEMPORARY}",
        ),
    ],
)
def test_what_the_machine_refuses_is_no_bug(run, tmp_path, error, said):
    done = run("infer", "7.png", **broken_safetensors(tmp_path, error))
    assert (done.code, done.errors) == (1, f"lenet-bench: {said}\n")


@pytest.fixture
def closed_folder(tmp_path):
    """A folder that nobody may look into."""
    folder = tmp_path / "closed"
    folder.mkdir(mode=0)
    yield folder
    folder.chmod(0o700)


@linux
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("compare numpy -o {0}/x.jsonl", "/x.jsonl: cannot be written: Permission denied"),
        ("train -o {0}/x.safetensors --data {0}", "Permission denied"),
        ("verify -b numpy --data {0}", "/closed: Permission denied; expected a folder"),
        ("verify -b numpy --data {0}/x", "/x: Permission denied; expected a folder"),
        ("machines {0} {0}/x", "/closed: cannot be read: Permission denied"),
        ("machines {0.parent}", "/closed: cannot be read: Permission denied"),
    ],
)
def test_a_closed_folder_is_no_bug(closed_folder, words, said):
    command = [*COMMAND, *words.format(closed_folder).split()]
    done = ran(*command, code=1, env=environment(), preexec_fn=as_no_root)
    assert said in done.stderr
    assert "this is a bug" not in done.stderr


def test_debug_shows_the_traceback(run, tmp_path):
    done = run("--debug", "infer", "7.png", **broken_safetensors(tmp_path))
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


def test_a_page_that_is_drawn_is_told_of(saved):
    drawn = on_a_terminal("report", saved, "-o", saved.with_name("page.html"))
    told = [drawn.index(word) for word in ("reading 1 result", "drawing ", "wrote ")]
    assert told == sorted(told)


def test_a_page_replaces_only_a_page(run, refused, saved):
    measured = saved.read_bytes()
    for command in ("report", "machines", "classroom"):
        said = refused(command, saved, "-o", saved)
        assert "run.jsonl: cannot be written: it is there and of another kind" in said
    assert saved.read_bytes() == measured
    for _ in range(2):
        assert run("report", saved, "-o", saved.with_name("page.html")).code == 0


def test_a_backend_that_is_loaded_for_a_picture_is_told(picture):
    assert "loading numpy" in on_a_terminal("infer", picture, "--backend", "numpy")


@pytest.mark.parametrize("variables", [{}, {"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_only_a_terminal_gets_colours(run, picture, variables):
    arguments = ("infer", picture, "--show")
    drawn = on_a_terminal(*arguments, **variables)
    assert bool(re.search(r"\x1b\[[0-9;]*m", drawn)) == (variables == {})
    done = run(*arguments, **{"TERM": "xterm-256color", **variables})
    assert "\x1b" not in done.output + done.errors


@pytest.mark.parametrize("columns", ["72", "140"])
def test_the_output_fits_the_terminal(run, picture, columns):
    for arguments in (["--show"], ["-b", "fused:int16", "-b", "reference"], [picture]):
        done = run("infer", picture, *arguments, COLUMNS=columns)
        assert max(map(len, done.output.splitlines())) <= int(columns)

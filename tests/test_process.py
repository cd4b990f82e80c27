"""A child process: what is said arrives, however it ends is said, and nothing of it is left."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
from lenet_bench.errors import DataError, Unavailable
from lenet_bench.process import _LARGEST_MESSAGE, Child, Died, Raised
from processes import alive, linux, python, ran, under_way, wait_for

#: Where children find this file, and what they run.
PATH = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parent), *filter(None, sys.path)])}
TIMEOUT_S = 180


def started(function, **options):
    """A child that runs one of scratch_children's."""
    return Child(f"scratch_children:{function}", variables=PATH, **options)


@pytest.fixture
def child():
    """It does what it is told."""
    child = started("obey")
    yield child
    child.close()


def test_data_arrive_as_they_were_said():
    random = np.random.default_rng(0)
    said = {"text": "µ", "numbers": [1, 2.5, None], "number": np.float32(0.5)}
    said["large"] = random.random((300, 28, 28), "f4")
    child = started("echo")
    for _ in range(3):
        heard = child.ask(said, TIMEOUT_S)
        np.testing.assert_array_equal(heard.pop("large"), said["large"])
        assert heard == {"text": "µ", "numbers": [1, 2.5, None], "number": 0.5}
        assert type(heard["number"]) is float
    child.close()


def test_what_it_raises_is_raised_here_and_it_goes_on():
    child = started("divide")
    with pytest.raises(DataError, match=r"^a number is missing$"):
        child.answer((1, None), TIMEOUT_S)
    with pytest.raises(Raised, match=r"^ZeroDivisionError: division by zero$"):
        child.answer((1, 0), TIMEOUT_S)
    assert child.answer((1, 2), TIMEOUT_S) == 0.5
    child.close()


def test_nothing_that_it_imports_reports_or_warns(child):
    child.tell("import os; parent.say([os.environ['ORT_DISABLE_TELEMETRY'], sys.warnoptions])")
    assert child.hear() == ["1", []]
    child.tell("parent.say(sys.modules['openvino_telemetry'])")
    assert child.hear() is None


def test_it_hears_what_is_larger_than_what_it_may_say(child):
    child.tell("parent.say(parent.hear().size)")
    assert child.ask(np.zeros(_LARGEST_MESSAGE + 1, np.uint8), TIMEOUT_S) == _LARGEST_MESSAGE + 1


def test_what_it_prints_is_kept_without_its_middle():
    child = started("chatter")
    assert child.ask("message", TIMEOUT_S) == "message"
    assert child.output().startswith("one more line")
    assert child.output().endswith("from below Python\n")
    assert "bytes left out" in child.output()
    assert len(child.output()) < 20_000
    child.close()


def test_one_that_says_what_is_no_plain_data_dies(child):
    """Other ways to die are in test_compare.py."""
    with pytest.raises(Died, match="exit code 1") as caught:
        child.ask("parent.say(time.gmtime())", TIMEOUT_S)
    assert caught.value.how == "dead"
    assert not alive(child.pid)


def test_one_that_cannot_start_is_missing():
    with pytest.raises(Died, match="cannot be started") as caught:
        Child("scratch_children:echo", python="/nowhere/python")
    assert caught.value.how == "missing"


def test_without_a_folder_for_temporary_files_it_says_how_to_name_one(monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", "/nowhere")
    with pytest.raises(Unavailable, match=r"No such file.*export TMPDIR=DIR"):
        started("echo")


@linux
def test_one_that_is_paused_does_not_answer_until_it_goes_on(child):
    child.ask("parent.say(None)", TIMEOUT_S)
    child.pause()
    wait_for(lambda: "T (stopped)" in Path(f"/proc/{child.pid}/status").read_text())
    child.tell("parent.say('awake')", TIMEOUT_S)
    child.go_on()
    assert child.hear(TIMEOUT_S) == "awake"
    child.pause()
    child.end()
    assert not alive(child.pid)


@pytest.mark.parametrize(
    "does",
    [
        "time.sleep(3600)",
        "os.kill(os.getpid(), 19)",
        # the length of a message and no message
        "os.write(parent._connection.fileno(), b'\\0\\0\\1\\0'); time.sleep(3600)",
        None,  # it does not listen
    ],
)
def test_one_that_hangs_is_late(child, does):
    child.ask("parent.say('ready')", TIMEOUT_S)
    if does is None:
        os.kill(child.pid, signal.SIGSTOP)
    with pytest.raises(Died) as caught:
        child.ask(does, 0.3) if does else child.tell(np.zeros(10_000_000), 0.3)
    assert caught.value.how == "late"
    assert does is None or not alive(child.pid)


@pytest.mark.parametrize("ends", ["", "os.kill(os.getpid(), 9)\n"])
def test_temporary_files_of_a_child_go_when_its_parent_ends(ends, tmp_path):
    code = (
        "import os, tempfile\n"
        "from test_process import TIMEOUT_S, started\n"
        "children = [started('keeping') for _ in range(2)]\n"
        "folders = {child.ask('x', TIMEOUT_S) for child in children}\n"
        "children[0].close()\n"
        "assert len(folders) == 1 and tempfile.gettempdir() not in folders\n"
    )
    variables = {**os.environ, **PATH, "TMPDIR": str(tmp_path)}
    python(code + ends, code=-9 if ends else 0, env=variables)
    wait_for(lambda: not list(tmp_path.iterdir()))


def test_a_parent_that_is_killed_before_anybody_would_remove_their_folder_leaves_none(tmp_path):
    code = (
        "import os, subprocess\n"
        "from test_process import started\n"
        "subprocess.Popen = lambda *_, **__: os.kill(os.getpid(), 9)\n"
        "started('echo')\n"
    )
    python(code, code=-9, env={**os.environ, **PATH, "TMPDIR": str(tmp_path)})
    assert not list(tmp_path.iterdir())


def test_ctrl_c_while_the_parent_ends_changes_nothing(tmp_path):
    """Sent to itself where its temporary folder is removed."""
    code = (
        "import os, shutil, signal\n"
        "from test_process import TIMEOUT_S, started\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "def interrupted(*arguments, remove=shutil.rmtree, **options):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    remove(*arguments, **options)\n"
        "shutil.rmtree = interrupted\n"
        "child = started('keeping')\n"
        "print(child.ask('x', TIMEOUT_S))\n"
        "child.close()\n"
    )
    done = python(code, env={**os.environ, **PATH, "TMPDIR": str(tmp_path)})
    assert done.stderr == ""
    assert str(tmp_path) in done.stdout
    assert not list(tmp_path.iterdir())


@linux
def test_what_left_its_session_ends_with_it(child):
    daemon = (
        "import subprocess\n"
        "command = ['setsid', 'sh', '-c', 'sleep 3597 >/dev/null & echo $!']\n"
        "parent.say(int(subprocess.run(command, stdout=subprocess.PIPE).stdout))"
    )
    pid = child.ask(daemon, TIMEOUT_S)
    wait_for(lambda: psutil.Process(pid).name() == "sleep")  # no shell any more
    child.end()
    assert not alive(pid)
    assert child.left == ("sleep",)


@linux
def test_it_is_ended_where_it_kills_the_process_above_it(child):
    with pytest.raises(Died):
        child.ask("os.kill(os.getppid(), 9); time.sleep(3600)", TIMEOUT_S)
    wait_for(lambda: not alive(child.pid))


@linux
@pytest.mark.parametrize("does", ["time.sleep(3600)", "parent.hear()"])
@pytest.mark.parametrize("stopped", [False, True])
def test_what_it_started_dies_with_its_parent(does, stopped):
    """Also where the process between the two is stopped."""
    code = (
        "import sys, test_process\n"
        "child = test_process.started('obey')\n"
        'begun = \'import subprocess as s; parent.say(s.Popen(["setsid", "sleep", "3599"]).pid)\'\n'
        "started = child.ask(begun)\n"
        "child.tell(sys.argv[1], 60)\n"
        "print(child.pid, started, flush=True)\n"
        "sys.stdin.read()\n"
    )
    command = (sys.executable, "-c", code, does)
    own = {**os.environ, **PATH}
    with under_way(*command, stdin=subprocess.PIPE, stderr=None, env=own) as parent:
        pids = list(map(int, parent.stdout.readline().split()))
        pids += (one.pid for one in psutil.Process(pids[0]).parents()[:1])
        if stopped:
            os.kill(pids[-1], signal.SIGSTOP)
        parent.kill()
    assert len(pids) == 3
    wait_for(lambda: not any(map(alive, pids)))


def test_no_module_of_the_working_directory_is_imported(tmp_path):
    """Python 3.10 has no safe path; the command is the installed one, as a user's is."""
    here = tmp_path / "downloads"
    here.mkdir()
    for name in ("json.py", "numpy.py", "lenet_bench/__init__.py"):
        (here / name).parent.mkdir(exist_ok=True)
        (here / name).write_text(f"open({str(tmp_path / 'ran')!r}, 'w')\n")
    ran(Path(sys.executable).with_name("lenet-bench"), "doctor", "numpy", cwd=here)
    assert not (tmp_path / "ran").exists()

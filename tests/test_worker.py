"""One worker process and the pipes to it."""

import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
import scratch_rungs as scratch
from lenet_bench.measure import inputs
from lenet_bench.measure.pinning import Cores, thread_variables
from lenet_bench.measure.process import WorkerError, WorkerProcess
from lenet_bench.measure.protocol import Channel, ClosedError, decode, encode

TIMEOUT_S = 60


@pytest.fixture
def two_ends():
    """A conversation within this process."""
    (a_read, b_write), (b_read, a_write) = os.pipe(), os.pipe()
    a, b = Channel(a_read, a_write), Channel(b_read, b_write)
    yield a, b
    for end in (a, b):
        end.close()


@pytest.fixture
def worker():
    """A worker's process that has not been told anything."""
    process = WorkerProcess(sys.executable, thread_variables(1), Cores((), ()))
    yield process
    process.close()


def begin(worker, weights_file, factory=scratch.Honest):
    """Tell it which rung to build."""
    entry = scratch.entry(factory)
    images = inputs.strokes(10, seed=1)
    rest = {"name": entry.name, "factory": entry.factory, "path": entry.path, "threads": 1}
    rest |= {"device": entry.device, "weights": str(weights_file), "image": encode(images[0])}
    reply = worker.ask("start", TIMEOUT_S, spawned_ns=worker.spawned_ns, **rest)
    worker.ask("keep", TIMEOUT_S, images=encode(images))
    return reply


def turn(worker, warm_s=0.001, timed_s=0.02, most=None):
    """One turn."""
    return worker.ask("turn", TIMEOUT_S, warm_s=warm_s, timed_s=timed_s, most=most, interval_s=None)


def test_a_message_arrives_as_it_was_sent(two_ends):
    a, b = two_ends
    a.send({"text": "µ", "numbers": [1, 2.5, None]})
    assert b.receive(1) == {"text": "µ", "numbers": [1, 2.5, None]}


def test_messages_keep_their_order(two_ends):
    a, b = two_ends
    for number in range(50):
        a.send({"number": number})
    assert [b.receive(1)["number"] for _ in range(50)] == list(range(50))


def test_a_message_larger_than_a_pipe_arrives(two_ends):
    a, b = two_ends
    sender = threading.Thread(target=a.send, args=({"samples": list(range(200_000))},))
    sender.start()
    assert len(b.receive(10)["samples"]) == 200_000
    sender.join()


def test_silence_times_out(two_ends):
    with pytest.raises(TimeoutError):
        two_ends[0].receive(0.01)


def test_a_peer_that_does_not_read_times_out(two_ends):
    with pytest.raises(TimeoutError):
        two_ends[0].send({"samples": "x" * (1 << 20)}, 0.01)


@pytest.mark.parametrize("tail", [b"", b"LNB1\x07"])
def test_a_peer_that_hangs_up_is_told_from_a_silent_one(tail):
    (read, their_write), (their_read, write) = os.pipe(), os.pipe()
    os.write(their_write, tail)
    os.close(their_write)
    channel = Channel(read, write)
    with pytest.raises(ClosedError):
        channel.receive(1)
    os.close(their_read)
    with pytest.raises(ClosedError):
        channel.send({})
    channel.close()


def test_nonsense_is_not_taken_for_a_message():
    (read, their_write), (their_read, write) = os.pipe(), os.pipe()
    os.write(their_write, b"100 % done, 3 of 3\n")
    channel = Channel(read, write)
    with pytest.raises(ClosedError):
        channel.receive(1)
    channel.close()
    os.close(their_read)
    os.close(their_write)


def test_arrays_travel_bit_by_bit():
    array = np.random.default_rng(0).random((3, 28, 28), np.float32)
    np.testing.assert_array_equal(decode(encode(array), -1, 28, 28), array)


def test_the_cold_start_adds_up_to_the_time_until_the_first_answer(worker, weights_file):
    parts = begin(worker, weights_file)["cold_start"]
    passed_s = (time.monotonic_ns() - worker.spawned_ns) / 1e9
    assert set(parts) == {"process_s", "import_s", "weights_s", "build_s", "first_s"}
    assert 0 < sum(parts.values()) < passed_s


def test_a_turn_lasts_as_long_as_it_was_told(worker, weights_file):
    begin(worker, weights_file)
    assert turn(worker, timed_s=0.05)["wall_ns"] >= 50_000_000


def test_the_samples_of_a_turn_fill_it(worker, weights_file):
    begin(worker, weights_file)
    reply = turn(worker, timed_s=0.05)
    assert 0.8 * reply["wall_ns"] < sum(reply["samples_ns"]) <= reply["wall_ns"]


def test_a_turn_times_some_calls_however_slow_they_are(worker, weights_file):
    begin(worker, weights_file)
    assert len(turn(worker, timed_s=1e-9)["samples_ns"]) == 10


def test_a_turn_goes_through_all_the_images(worker, weights_file):
    begin(worker, weights_file)
    assert sorted(turn(worker, timed_s=0.05)["answered"]) == list(range(10))


def test_a_turn_can_be_limited_by_calls(worker, weights_file):
    begin(worker, weights_file)
    assert len(turn(worker, timed_s=1.0, most=30)["samples_ns"]) == 30


def test_cpu_time_is_that_of_the_timed_calls(worker, weights_file):
    begin(worker, weights_file)
    reply = turn(worker, timed_s=0.05)
    assert 0 < reply["cpu_ns"] <= 1.5 * reply["wall_ns"]


def test_what_is_printed_breaks_nothing_and_is_kept_without_its_middle(worker, weights_file):
    begin(worker, weights_file, scratch.PrintsMuch)
    turn(worker, timed_s=0, most=20)
    assert worker.output().startswith("one more image ")
    assert worker.output().endswith("from below Python\n")
    assert "bytes left out" in worker.output()
    assert len(worker.output()) < 20_000


def test_to_look_at_what_was_printed_does_not_move_where_it_goes(worker, weights_file):
    """Both processes have one position in the file, and a rung's threads may print any time."""
    begin(worker, weights_file, scratch.PrintsMuch)
    os.lseek(worker._output.fileno(), 5, os.SEEK_SET)
    worker.output()
    assert os.lseek(worker._output.fileno(), 0, os.SEEK_CUR) == 5


def test_the_environment_is_pinned_before_the_first_import(weights_file):
    variables = {"OPENBLAS_NUM_THREADS": "1", "PYTHONPROFILEIMPORTTIME": "1"}
    worker = WorkerProcess(sys.executable, variables, Cores((), ()))
    begin(worker, weights_file)
    assert "import time:" in worker.output()
    worker.close()


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system cannot pin")
def test_a_worker_is_born_on_its_core():
    core = max(os.sched_getaffinity(0))
    worker = WorkerProcess(sys.executable, {}, Cores((core,), ()))
    assert os.sched_getaffinity(worker.pid) == {core}
    worker.close()


def test_an_interpreter_that_is_not_there_makes_the_rung_unavailable():
    with pytest.raises(WorkerError, match="cannot be started") as caught:
        WorkerProcess("/nowhere/python", {}, Cores((), ()))
    assert caught.value.status == "unavailable"


def test_an_interpreter_without_the_package_says_so(tmp_path):
    python = tmp_path / "python"
    python.write_text("#!/bin/sh\necho 'No module named lenet_bench' >&2\nexit 1\n")
    python.chmod(0o755)
    worker = WorkerProcess(str(python), {}, Cores((), ()))
    with pytest.raises(WorkerError, match="exit code 1"):
        worker.ask("start", TIMEOUT_S)
    assert "No module named lenet_bench" in worker.output()
    worker.close()


def test_kill_9_of_a_worker_is_noticed_at_once(worker, weights_file):
    begin(worker, weights_file)
    os.kill(worker.pid, signal.SIGKILL)
    with pytest.raises(WorkerError, match="killed by SIGKILL"):
        turn(worker)


def test_a_stopped_worker_times_out_and_is_ended(worker, weights_file):
    begin(worker, weights_file)
    os.kill(worker.pid, signal.SIGSTOP)
    with pytest.raises(WorkerError, match="did not answer"):
        worker.ask("turn", 0.1, warm_s=0, timed_s=0, most=None)
    with pytest.raises(ProcessLookupError):
        os.kill(worker.pid, 0)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux ends orphans by itself")
@pytest.mark.parametrize("factory", ["HangsWhenStarted", "Honest"])
def test_a_worker_dies_with_its_parent_whatever_it_does(factory, weights_file, tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, sys\n"
        "sys.path.insert(0, sys.argv[1])\n"
        "import scratch_rungs, test_worker\n"
        "from lenet_bench.measure.pinning import Cores\n"
        "from lenet_bench.measure.process import WorkerProcess\n"
        "worker = WorkerProcess(sys.executable, {}, Cores((), ()))\n"
        "print(worker.pid, flush=True)\n"
        "test_worker.begin(worker, sys.argv[2], getattr(scratch_rungs, sys.argv[3]))\n"
        "test_worker.turn(worker, timed_s=3600)\n"
    )
    here = os.path.dirname(__file__)  # noqa: PTH120
    command = [sys.executable, str(script), here, str(weights_file), factory]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as parent:
        pid = int(parent.stdout.readline())
        time.sleep(1)
        parent.kill()
    end = time.monotonic() + 30
    while os.path.exists(f"/proc/{pid}"):  # noqa: PTH110
        assert time.monotonic() < end, "the worker outlived its parent"
        time.sleep(0.01)


def test_images_are_the_same_for_the_same_seed_and_all_different():
    images = inputs.strokes(20, seed=3)
    np.testing.assert_array_equal(images, inputs.strokes(20, seed=3))
    assert len({image.tobytes() for image in images}) == 20


@pytest.mark.parametrize("images", [inputs.strokes(20, seed=3), inputs.edge_cases()])
def test_images_are_what_a_rung_accepts(images):
    assert images.dtype == np.float32
    assert images.shape[1:] == (28, 28)
    assert 0 <= images.min() <= images.max() <= 1


def test_images_have_about_as_much_ink_as_mnists():
    inked = (inputs.strokes(200, seed=0) > 0).mean()
    assert 0.12 < inked < 0.28

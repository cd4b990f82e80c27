"""The file of a comparison: a run that is killed leaves it whole, and another goes on with it."""

import gzip
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from itertools import count
from random import Random

import pytest
import scratch_backends as scratch
from conftest import environment
from lenet_bench import CompareOptions, compare
from lenet_bench.errors import ResultError, WeightsError
from lenet_bench.measure.options import check_same
from lenet_bench.results import Appended, read_log, read_result
from lenet_bench.results.machine import Machine, Software
from lenet_bench.subjects.lenet import LeNet
from processes import alive, children, linux, python, under_way, wait_for
from sample_results import blocks, log, sample_log
from scratch_backends import measured
from test_fuzz import FIRST, SECONDS

TIMEOUT_S = 180

#: Whoever runs the tests in the background or under nohup has these ignored, and so has a child.
AS_IN_A_TERMINAL = (
    "import signal;"
    "signal.signal(signal.SIGINT, signal.default_int_handler);"
    "signal.signal(signal.SIGTERM, signal.SIG_DFL);"
    "signal.signal(signal.SIGHUP, signal.SIG_DFL)"
)
KILLS = (signal.SIGKILL, signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
UNDER_NOHUP = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)"


@pytest.fixture
def output(tmp_path):
    return tmp_path / "result.jsonl"


def test_missing_weights_are_said_before_anything_starts(tmp_path, output):
    with pytest.raises(WeightsError):
        compare(CompareOptions(("numpy",), subject=LeNet(str(tmp_path / "none")), output=output))
    assert not output.exists()


def test_a_file_that_is_no_result_is_left_as_it_was(output):
    output.write_text("earlier")
    with pytest.raises(ResultError, match=output.name):
        measured(scratch.Honest, output=output, rounds=1)
    assert output.read_text() == "earlier"


def test_a_run_goes_on(output):
    """Of its file, cut in the middle of a block, no block is measured twice and none is lost."""
    pair = (scratch.Honest, scratch.Prints)
    measured(*pair, output=output, rounds=2)
    lines = output.read_bytes().splitlines(keepends=True)
    output.write_bytes(b"".join(lines[:3]) + lines[3][:99])
    kept = read_log(output).blocks

    result = measured(*pair, output=output, rounds=2)
    assert read_log(output).blocks[: len(kept)] == kept
    assert [len(row.blocks) for row in result.backends] == [2, 2]
    assert len(read_log(output).blocks) == 2 * 3, "and the empty backend"
    assert not any("incomplete" in warning for warning in result.warnings)

    longer = measured(*pair, output=output, rounds=3)
    assert [len(row.blocks) for row in longer.backends] == [3, 3]


def test_a_run_that_goes_on_tries_again_what_failed(output, monkeypatch):
    first = measured(scratch.RaisesUnlessWell, output=output, rounds=1)
    assert first.backends[0].status == "crashed"
    monkeypatch.setenv("LENET_BENCH_TEST_WELL", "1")
    row = measured(scratch.RaisesUnlessWell, output=output, rounds=1).backends[0]
    assert row.status == "ok"
    assert row.failures == 1


def test_no_start_is_compared_with_one_of_an_earlier_session(output, monkeypatch):
    pair = (scratch.Honest, scratch.RaisesUnlessWell)
    measured(*pair, output=output, rounds=2)
    monkeypatch.setenv("LENET_BENCH_TEST_WELL", "1")
    honest, mended = measured(*pair, output=output, rounds=4).backends
    assert [block.round for block in honest.starts] == [0, 1, 2, 3]
    assert [block.round for block in mended.starts] == [1, 2, 3]  # 1 was the last one


def test_a_run_that_decides_does_not_go_on_as_another():
    then, now = (log(blocks("numpy", 9), confidence=one).header for one in (0.95, 0.99))
    with pytest.raises(ResultError, match=r"\(confidence: 0.95, now 0.99\)"):
        check_same(then, now, "r.jsonl")


def test_a_run_of_other_settings_or_backends_is_refused(output):
    measured(scratch.Honest, output=output, rounds=1)
    before = output.read_bytes()
    with pytest.raises(ResultError, match="another --output"):
        measured(scratch.Honest, output=output, rounds=2, threads=2)
    with pytest.raises(ResultError, match="Honest"):
        measured(scratch.Prints, output=output, rounds=2)
    assert output.read_bytes() == before


@pytest.mark.parametrize("package", ["python", "numpy", "keras", "numpy of mxnet", "torch", "mnn"])
def test_a_run_with_another_version_is_refused_where_it_matters(package):
    def header(**changed):
        versions = {"python": "3.11", "numpy": "2.4", "keras": "3.15", "mnn": "3.6"}
        versions |= {"numpy of mxnet": "1.23.5", **changed}
        software = Software(python=versions.pop("python"), packages=versions)
        return log(blocks("keras:call", 9), machine=Machine(software=software)).header

    def goes_on():
        check_same(header(), header(**{package: "4.0"}), "r.jsonl")

    if package in ("torch", "mnn"):  # new, or of a backend that is not compared
        goes_on()
    else:
        with pytest.raises(ResultError, match=rf"\(version of {package}: [\d.]+, now 4.0\)"):
            goes_on()


def test_a_run_in_another_environment_is_refused():
    now, then = (
        log(blocks("openblas", 9), machine=Machine(software=Software(variables=given))).header
        for given in ({"OPENBLAS_CORETYPE": "Prescott"}, {})
    )
    with pytest.raises(ResultError, match=r"\(\$OPENBLAS_CORETYPE: none, now Prescott\)"):
        check_same(then, now, "r.jsonl")


def test_of_a_compressed_run_it_is_said_how_to_unpack_it(tmp_path):
    output = tmp_path / "result.jsonl.gz"
    measured(scratch.Honest, output=output, rounds=1)
    whole = output.read_bytes()
    output.write_bytes(compressed := gzip.compress(whole))
    with pytest.raises(ResultError, match="cannot be continued") as caught:
        measured(scratch.Honest, output=output, rounds=2)
    assert output.read_bytes() == compressed
    subprocess.run(str(caught.value).split("`")[1], shell=True, check=True)
    result = measured(scratch.Honest, output=output.with_suffix(""), rounds=2)
    assert [len(row.blocks) for row in result.backends] == [2]


def test_a_file_that_a_run_is_writing_is_refused_to_another(output):
    with Appended(output) as file:
        file.begin(sample_log().header)
        before = output.read_bytes()
        with pytest.raises(ResultError, match="another run is writing this file"):
            measured(scratch.Honest, output=output, rounds=2)
    assert output.read_bytes() == before


def test_a_pipe_as_output_is_refused_before_it_is_opened(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for output in (pipe, "/dev/null"):
        with pytest.raises(ResultError, match="not a plain file"):
            measured(scratch.Honest, output=output, rounds=1)


@linux
def test_kill_9_leaves_whole_blocks(output):
    with started(output) as process:
        wait_for(lambda: has_blocks(output) and children(process.pid))
        workers = children(process.pid)
        process.kill()
        process.wait(TIMEOUT_S)
        wait_for(lambda: not any(map(alive, workers)))
    result = read_result(output)
    assert result.ended == "running"
    assert result.backend("numpy").status in ("ok", "unmeasured")


@linux
def test_no_kill_at_any_moment_loses_a_block(output):
    """Each run goes on with what those before it left; `make fuzz` kills more of them."""
    until = time.monotonic() + SECONDS
    for number in count(FIRST):
        random = Random(f"kill {number}")
        before = blocks_of(output)
        with started(output) as process:
            wait_for(lambda known=before: len(blocks_of(output)) > len(known))
            with suppress(subprocess.TimeoutExpired):
                process.wait(random.uniform(0, 1))
            workers = children(process.pid)
            process.send_signal(random.choice(KILLS))
            process.communicate(timeout=TIMEOUT_S)
            wait_for(lambda left=workers: not any(map(alive, left)))
        assert blocks_of(output)[: len(before)] == before, f"kill {number}"
        if number > FIRST and time.monotonic() > until:
            break


@linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_ends_the_run_with_all_that_was_measured(output, number):
    with started(output) as process:
        wait_for(lambda: has_blocks(output, "numpy"))
        process.send_signal(number)
        printed, _ = process.communicate(timeout=TIMEOUT_S)
        assert process.returncode == 130
        assert "numpy" in printed
    result = read_result(output)
    assert result.ended == "interrupted"
    assert result.backend("numpy").summary is not None


@linux
def test_a_run_under_nohup_outlives_its_terminal(output):
    with started(output, UNDER_NOHUP) as process:
        wait_for(lambda: has_blocks(output))
        process.send_signal(signal.SIGHUP)
        before = len(read_log(output).blocks)
        wait_for(lambda: len(read_log(output).blocks) > before + 1)
        assert process.poll() is None


@linux
def test_a_disk_that_fills_up_leaves_the_whole_blocks(output):
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, 20_000));"
        "from lenet_bench.cli import main; main()"
    )
    words = ("compare", "numpy", "--rounds", "30", "-o", output)
    done = python(limited, *words, code=1, env=environment(), timeout=TIMEOUT_S)
    assert "File too large" in done.stderr
    assert "Traceback" not in done.stderr
    assert read_result(output).ended == "running", "its whole blocks are readable"


@contextmanager
def started(output, before=AS_IN_A_TERMINAL):
    """The command, measuring for ever, until the test is over."""
    code = f"{before}; from lenet_bench.cli import main; main()"
    words = ("compare", "numpy", "--rounds", "1000000", "-o", output)
    process = under_way(sys.executable, "-c", code, *words, env=environment())
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=TIMEOUT_S)


def has_blocks(path, backend=None):
    """Whether one is over, of that backend."""
    return any(block.backend == (backend or block.backend) for block in blocks_of(path))


def blocks_of(path):
    """Empty while its first line is being written."""
    if not path.exists() or b"\n" not in path.read_bytes():
        return ()
    return read_log(path).blocks

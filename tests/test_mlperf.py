"""A rung under MLPerf's real LoadGen, and what its logs say."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from conftest import environment
from lenet_bench.errors import LenetBenchError, ResultError
from lenet_bench.measure import Entry
from lenet_bench.mlperf import mlperf, read_digits, read_summary
from lenet_bench.mnist import read_mnist

pytest.importorskip("mlperf_loadgen", reason="pip install 'lenet-bench[mlperf]'")

HERE = os.path.dirname(__file__)  # noqa: PTH120 - an import path


@pytest.fixture(scope="module")
def done(run, small_mnist, weights_file, tmp_path_factory):
    """A short run over thirty labelled images, from the command line."""
    folder = tmp_path_factory.mktemp("mlperf") / "logs"
    options = ("--duration", "200ms", "--data", small_mnist, "--weights", weights_file)
    return run("mlperf", "-b", "fused", "--json", "-o", folder, *options), folder


@pytest.fixture(scope="module")
def found(done):
    """What it printed."""
    return json.loads(done[0].output)


def test_it_is_labelled_as_no_submission(found):
    assert found["label"] == "MLPerf-style, not a submission"


def test_loadgens_verdict_is_told(found, done):
    text = (done[1] / "performance" / "mlperf_log_summary.txt").read_text()
    assert ("Result is : VALID" in text) == found["performance"]["valid"]
    assert found["performance"]["queries"] >= 1024


def test_the_rung_itself_takes_a_part_of_what_loadgen_sees(found):
    performance = found["performance"]
    assert performance["minimum_us"] > 0
    assert 0 < found["call_us"] < performance["p50_us"] <= performance["p90_us"]
    assert 0 < found["overhead_us"] < performance["p50_us"]


def test_every_image_is_answered_and_judged_by_its_label(found, done, small_mnist, weights_file):
    from lenet_bench import load

    digits = read_mnist("test", small_mnist)
    expected = load("reference", weights=weights_file).infer(digits.ink()).argmax(axis=1)
    assert read_digits(done[1] / "accuracy") == dict(enumerate(expected))
    right = int((expected == digits.labels).sum())
    assert (found["accuracy"]["correct"], found["accuracy"]["images"]) == (right, 30)
    assert found["accuracy"]["passed"]


def test_the_logs_and_the_configuration_are_kept(done):
    kept = {path.relative_to(done[1]).as_posix() for path in done[1].rglob("*.*")}
    assert {"result.json", "performance/user.conf", "accuracy/mlperf_log_detail.txt"} <= kept


def test_the_exit_code_is_loadgens_verdict_and_the_accuracys(found, done):
    assert done[0].code == (0 if found["passed"] else 1)


def slow(name, weights_file, folder):
    """A run of one of the rungs made for tests."""
    entry = Entry("scratch", factory=f"scratch_rungs:{name}", path=(HERE,))
    return mlperf(entry, folder, duration_s=0.1, weights=weights_file)


def test_a_rung_that_is_wrong_is_not_timed(weights_file, tmp_path):
    with pytest.raises(LenetBenchError, match=r"scratch: wrong: .*differ from the reference"):
        slow("AnswersWrongly", weights_file, tmp_path)
    assert not (tmp_path / "performance").exists()


def test_a_rung_that_dies_under_loadgen_is_one_sentence(weights_file, tmp_path):
    with pytest.raises(
        LenetBenchError, match="scratch: crashed: asked by LoadGen: RuntimeError: not for"
    ):
        slow("RaisesUnderLoadGen", weights_file, tmp_path)


def test_a_rung_that_is_absent_is_one_sentence(run, tmp_path):
    done = run("mlperf", "-b", "caffe", "-o", tmp_path / "logs")
    assert (done.code, done.output) == (1, "")
    assert "Traceback" not in done.errors


def test_a_folder_that_is_a_file_is_refused(run, tmp_path):
    (tmp_path / "file").write_text("")
    done = run("mlperf", "-b", "fused", "-o", tmp_path / "file")
    assert done.code in (1, 2)
    assert "Traceback" not in done.errors


def test_ctrl_c_ends_it_and_leaves_no_process(tmp_path):
    command = [sys.executable, "-m", "lenet_bench", "mlperf", "-b", "fused", "--duration", "60s"]
    process = subprocess.Popen(
        [*command, "-o", str(tmp_path / "logs")],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    for line in process.stderr:
        if "performance" in line:
            break
    time.sleep(0.5)
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert workers
    assert not any(os.path.exists(f"/proc/{pid}") for pid in workers)  # noqa: PTH110


def children(pid):
    """The processes that it started."""
    done = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True)
    return [int(word) for word in done.stdout.split()]


def test_without_loadgen_the_extra_is_named(tmp_path):
    """A finder that hides the module, in the worker too."""
    (tmp_path / "mlperf_loadgen.py").write_text("raise ImportError\n")
    command = [sys.executable, "-m", "lenet_bench", "mlperf", "-b", "fused"]
    variables = environment(PYTHONPATH=str(tmp_path))
    done = subprocess.run(
        [*command, "-o", str(tmp_path / "logs")], capture_output=True, text=True, env=variables
    )
    assert done.returncode == 1
    assert "mend it with: pip install 'lenet-bench[mlperf]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_verdict_of_invalid_names_what_was_not_satisfied(tmp_path):
    (tmp_path / "mlperf_log_summary.txt").write_text(INVALID)
    summary = read_summary(tmp_path)
    assert not summary.valid
    assert summary.unsatisfied == ("Min duration satisfied",)
    assert summary.recommendations == ("Decrease the expected latency.",)
    assert (summary.p50_us, summary.p90_estimate_us) == (1.217, 1.551)


@pytest.mark.parametrize("content", ["", "Result is : VALID\n"])
def test_a_log_that_is_none_is_refused(tmp_path, content):
    (tmp_path / "mlperf_log_summary.txt").write_text(content)
    with pytest.raises(ResultError, match="not a summary of LoadGen's"):
        read_summary(tmp_path)


def test_digits_come_from_the_accuracy_log(tmp_path):
    log = [{"seq_id": 0, "qsl_idx": 4, "data": "07"}, {"seq_id": 1, "qsl_idx": 2, "data": "00"}]
    (tmp_path / "mlperf_log_accuracy.json").write_text(json.dumps(log))
    assert read_digits(tmp_path) == {4: 7, 2: 0}
    assert np.array(list(read_digits(tmp_path).values())).max() == 7


#: As LoadGen writes it.
INVALID = """Scenario : SingleStream
Mode     : PerformanceOnly
Result is : INVALID
  Min duration satisfied : NO
  Min queries satisfied : Yes
Recommendations:
 * Decrease the expected latency.
Early Stopping Result:
 * Processed at least 64 queries (80001).
 * Early stopping 90.0th percentile estimate: 1551

QPS w/ loadgen overhead         : 84046.32
Min latency (ns)                : 1029
Max latency (ns)                : 28101349
Mean latency (ns)               : 7482
50.00 percentile latency (ns)   : 1217
90.00 percentile latency (ns)   : 1545
95.00 percentile latency (ns)   : 1712
99.00 percentile latency (ns)   : 2731
99.90 percentile latency (ns)   : 14798
"""

"""A backend under MLPerf's real LoadGen, and what its logs say."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace

import lenet_bench.questions.mlperf
import pytest
import scratch_backends as scratch
from conftest import environment
from lenet_bench import units
from lenet_bench.errors import LenetBenchError, ResultError
from lenet_bench.measure.start import Start
from lenet_bench.mnist import read_mnist
from lenet_bench.questions.mlperf import mlperf, read, read_digits, read_summary
from lenet_bench.show.terminal.mlperf import mlperf as in_words
from lenet_bench.show.terminal.screen import Screen
from processes import alive, children, python, wait_for

pytest.importorskip("mlperf_loadgen", reason="pip install 'lenet-bench[mlperf]'")

pytestmark = pytest.mark.slow


def run_of(backend, weights_file, folder):
    return mlperf(backend, folder, duration_s=0.3, weights=weights_file)


@pytest.fixture(scope="module")
def done(run, small_mnist, weights_file, tmp_path_factory):
    """A short run over thirty labelled images, from the command line."""
    folder = tmp_path_factory.mktemp("mlperf") / "logs"
    options = ("--duration", "200ms", "--data", small_mnist, "--weights", weights_file)
    return run("mlperf", "-b", "fused", "--json", "-o", folder, *options), folder


@pytest.fixture(scope="module")
def found(done):
    return json.loads(done[0].output)


def test_what_was_printed_is_kept_and_said_to_be_no_submission(found, done):
    assert "not a submission" in found["label"]
    assert found["performance"]["least_s"] == found["duration_s"] == 0.2
    assert done[0].code == (0 if found["passed"] else 1)
    assert json.loads(json.dumps(read(done[1] / "result.json").to_json())) == found
    content = json.loads((done[1] / "result.json").read_text())
    assert content["machine"]["processor"]["logical"] >= 1
    kept = {path.relative_to(done[1]).as_posix() for path in done[1].rglob("*.*")}
    logs = {f"{name}/mlperf_log_detail.txt" for name in ("performance", "accuracy", "nothing")}
    assert {"result.json", "performance/user.conf", *logs} <= kept
    assert not any('"is_error": true' in (done[1] / log).read_text() for log in logs)


def test_loadgens_verdict_and_median_stand_beside_the_same_call_back_to_back(found, done):
    """The query holds the call, so it cannot be much shorter."""
    text = (done[1] / "performance" / "mlperf_log_summary.txt").read_text()
    assert ("Result is : VALID" in text) == found["performance"]["valid"]
    assert found["performance"]["queries"] >= 100
    assert len(found["turns_us"]) == 8
    assert min(found["turns_us"]) <= found["call_us"] <= max(found["turns_us"])
    assert found["performance"]["p50_us"] > 0.5 * min(found["turns_us"])
    run = read(done[1] / "result.json")
    assert replace(run, turns_us=(20.0, 30.0)).disturbed
    assert not replace(run, turns_us=(20.0, 20.5)).disturbed


def test_a_call_has_a_time_by_loadgens_figures_alone(found, done, tmp_path):
    nothing = read_summary(done[1] / "nothing")
    assert nothing.queries >= 20_000
    assert found["nothing"]["p50_us"] == nothing.p50_us < found["performance"]["p50_us"]
    query = read_summary(done[1] / "performance")
    assert found["loadgen_us"] == pytest.approx(query.p50_us - nothing.p50_us)
    content = json.loads((done[1] / "result.json").read_text())
    del content["nothing"]
    (tmp_path / "result.json").write_text(json.dumps(content))
    assert read(tmp_path / "result.json").loadgen_us is None


def test_the_answer_for_people_has_the_verdict_and_both_medians(done):
    run = read(done[1] / "result.json")
    for columns in (40, 100):
        lines = list(in_words(run, Screen(columns, colour=False)))
        text = " ".join(" ".join(lines).split())
        assert units.time(run.performance.p50_us) in text
        assert units.time(run.call_us) in text
        assert ("invalid" in text) != run.performance.valid


def test_every_image_is_answered_and_judged_by_its_label(found, done, small_mnist, weights_file):
    from lenet_bench import load

    digits = read_mnist("test", small_mnist)
    expected = load("reference", weights=weights_file).infer(digits.ink()).argmax(axis=1)
    assert read_digits(done[1] / "accuracy") == dict(enumerate(expected))
    right = int((expected == digits.labels).sum())
    assert (found["accuracy"]["correct"], found["accuracy"]["images"]) == (right, 30)
    assert found["accuracy"]["passed"]


def test_a_backend_that_takes_over_a_minute_for_all_images_is_asked_the_first_ones(
    small_mnist, weights_file, tmp_path, monkeypatch
):
    monkeypatch.setattr(lenet_bench.questions.mlperf, "_ACCURACY_S", 0.0)
    monkeypatch.setattr(lenet_bench.questions.mlperf, "_FEWEST_IMAGES", 20)
    digits = read_mnist("test", small_mnist)
    asked = mlperf("fused", tmp_path, duration_s=0.1, weights=weights_file, digits=digits)
    assert asked.accuracy.images == 20
    assert len(read_digits(tmp_path / "accuracy")) == 20


def test_a_slow_backend_is_waited_for(weights_file, tmp_path, monkeypatch):
    """It sleeps a millisecond a query."""
    waited_s = {}

    def ask(start, do, longer_s=0.0, ask=Start.ask, **rest):
        if do == "loadgen":
            waited_s[rest["test"]["purpose"]] = longer_s
        return ask(start, do, longer_s, **rest)

    monkeypatch.setattr(Start, "ask", ask)
    run_of(scratch.entry(scratch.Sleeps), weights_file, tmp_path)
    assert waited_s["accuracy"] > 1
    assert waited_s["performance"] >= 0.3


def test_a_backend_that_is_wrong_or_fails_is_a_sentence(run, weights_file, tmp_path):
    with pytest.raises(LenetBenchError, match=r"^AnswersWrongly: wrong"):
        run_of(scratch.entry(scratch.AnswersWrongly), weights_file, tmp_path)
    assert not (tmp_path / "performance").exists()
    with pytest.raises(LenetBenchError, match="crashed: under LoadGen"):
        run_of(scratch.entry(scratch.RaisesUnderLoadGen), weights_file, tmp_path)
    done = run("mlperf", "-b", "caffe", "-o", tmp_path / "logs")
    assert (done.code, done.output) == (1, "")
    assert "Traceback" not in done.errors
    (tmp_path / "file").write_text("")
    done = run("mlperf", "-b", "fused", "-o", tmp_path / "file")
    assert done.code in (1, 2)
    assert "Traceback" not in done.errors


@pytest.fixture(scope="module")
def interrupted(tmp_path_factory):
    """Ctrl-C while LoadGen asks for ten minutes: the process, its workers, its words, its folder.

    Of a slow backend, whose queries need little memory.
    """
    folder = tmp_path_factory.mktemp("interrupted") / "logs"
    command = [sys.executable, "-m", "lenet_bench", "mlperf", "-b", "reference", "--full"]
    process = subprocess.Popen(
        [*command, "-o", str(folder)],
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    for line in process.stderr:
        if "performance" in line:
            break
    log = folder / "performance" / "mlperf_log_detail.txt"
    wait_for(lambda: log.exists() and "effective_min_duration_ms" in log.read_text())
    workers = children(process.pid)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    return process, workers, errors, folder


def test_ctrl_c_leaves_no_process_and_loses_nothing_that_was_measured_before(interrupted):
    process, workers, errors, folder = interrupted
    assert process.returncode == 130
    assert "Traceback" not in errors
    assert workers
    assert not any(map(alive, workers))
    kept = read(folder / "result.json")
    assert kept.performance is None
    assert kept.accuracy.passed
    assert kept.call_us > 0
    assert kept.loadgen_us is None
    assert str(folder / "result.json") in errors
    # LoadGen reads its rules, as for --full, with the first configuration of a process only
    detail = (folder / "performance" / "mlperf_log_detail.txt").read_text()
    assert '"effective_min_duration_ms", "value": 600000' in detail


def test_without_loadgen_the_extra_is_named(run, tmp_path):
    """A module that hides it, in the worker too. Told before anything is started or written."""
    (tmp_path / "mlperf_loadgen.py").write_text("raise ImportError\n")
    done = run("mlperf", "-b", "fused", "-o", tmp_path / "logs", PYTHONPATH=str(tmp_path))
    assert done.code == 1
    assert "lenet-bench[mlperf]" in done.errors
    assert "Traceback" not in done.errors
    assert not (tmp_path / "logs").exists()


def test_loadgen_may_be_the_commands_own(weights_file, tmp_path):
    """As an isolated environment does: its interpreter finds none, but could load it."""
    (tmp_path / "mlperf_loadgen.py").write_text("raise ImportError\n")
    variables = {"PYTHONPATH": os.pathsep.join([str(tmp_path), *filter(None, sys.path)])}
    entry = scratch.entry(scratch.Honest, variables=variables)
    assert run_of(entry, weights_file, tmp_path / "logs").accuracy.passed

    hidden = "sys.modules['mlperf_loadgen'] = None"
    code = (
        f"import sys; {hidden}; from lenet_bench.measure.loadgen import AtHand, run; "
        f"run(None, [], None, None, AtHand({str(tmp_path)!r}, '6'))"
    )
    done = python(code, code=None)
    assert "not installed" in done.stderr
    assert f"{sys.executable} -m pip install mlcommons-loadgen" in done.stderr


def test_logs_are_read_and_one_that_is_none_is_refused(tmp_path):
    (tmp_path / "mlperf_log_summary.txt").write_text(INVALID)
    summary = read_summary(tmp_path)
    assert not summary.valid
    assert summary.unsatisfied == ("Min duration satisfied",)
    assert summary.recommendations == ("Decrease the expected latency.",)
    assert (summary.p50_us, summary.p90_estimate_us) == (1.217, 1.551)
    for content in ("", "Result is : VALID\n"):
        (tmp_path / "mlperf_log_summary.txt").write_text(content)
        with pytest.raises(ResultError, match="not a summary"):
            read_summary(tmp_path)
    log = [{"seq_id": 0, "qsl_idx": 4, "data": "07"}, {"seq_id": 1, "qsl_idx": 2, "data": "00"}]
    (tmp_path / "mlperf_log_accuracy.json").write_text(json.dumps(log))
    assert read_digits(tmp_path) == {4: 7, 2: 0}


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

"""`why --trace`: one call, function by function, as Trace Event JSON."""

import json
from itertools import pairwise

import numpy as np
import pytest
from lenet_bench.measure.anatomy import spans

IMAGE = np.zeros((28, 28), np.float32)


def fails():
    """An exception on the way is an end too."""
    raise KeyError


def infer(image):
    """Python and native functions within each other, and one after the other."""
    try:
        fails()
    except KeyError:
        sorted([len(image), 3], key=abs)


@pytest.fixture(scope="module")
def traced(run, weights_file, tmp_path_factory):
    """A command of three names, one of which cannot run, and its file."""
    path = tmp_path_factory.mktemp("trace") / "new" / "calls.json"
    names = ("numpy", "mxnet", "fused")
    done = run("why", *names, "--trace", path, "--weights", weights_file, "--json")
    return done, json.loads(path.read_text())


def strictly_nested(events):
    """Whether each ends before what it began within does."""
    open_ends = []
    for event in events:
        begin, end = event["ts"], event["ts"] + event["dur"]
        while open_ends and open_ends[-1] <= begin:
            open_ends.pop()
        if open_ends and end > open_ends[-1] + 1e-6:
            return False
        open_ends.append(end)
    return True


def test_a_call_has_its_python_and_native_functions():
    found = spans(infer, IMAGE)
    names = [name.rpartition(":")[2] for name, *_ in found]
    assert names == ["fails", "len", "sorted", "infer", "call"]
    assert [native for _, native, *_ in found] == [False, True, True, False, False]
    whole = found[-1]
    assert all(whole[2] <= begin <= end <= whole[3] for _, _, begin, end in found)


def test_each_backend_is_a_process_whose_functions_lie_within_those_that_call_them(traced):
    done, trace = traced
    assert done.code == 1  # of the one that cannot run
    assert "env create mxnet" in done.errors
    assert "Traceback" not in done.errors
    named = [event["args"]["name"] for event in trace["traceEvents"] if event["ph"] == "M"]
    assert named == ["numpy", "fused"]
    assert {event["pid"] for event in trace["traceEvents"]} == {1, 2}
    for process in (1, 2):
        events = [e for e in trace["traceEvents"] if e["pid"] == process and e["ph"] == "X"]
        assert events[0]["ts"] == 0
        assert all(one["ts"] <= other["ts"] for one, other in pairwise(events))
        assert strictly_nested(events)
        assert {event["cat"] for event in events} == {"python", "native"}
    names = {event["name"] for event in trace["traceEvents"]}
    assert "lenet_bench.backends.numpy:convolve" in names
    assert any(name.endswith(":infer") and "_fused" in name for name in names)
    assert json.loads(done.output)["calls"] == trace["otherData"]["calls"]
    for call in trace["otherData"]["calls"]:  # and what each takes without it
        assert call["functions"] >= 1
        assert call["median_us"] > 0
        assert call["traced_us"] > 0


def test_a_place_that_cannot_be_written_is_refused_before_a_backend_starts(run, tmp_path):
    done = run("why", "numpy", "--trace", tmp_path)
    assert done.code in (1, 2)
    assert "directory" in done.errors
    assert len(done.errors.splitlines()) <= 4

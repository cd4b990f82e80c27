"""`why`: what a call is made of, on backends whose making is known."""

import functools
import json
import re
from dataclasses import replace as renamed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import toy_backends as toys
from conftest import Run
from lenet_bench import CompareOptions, read_weights
from lenet_bench.backends import reference
from lenet_bench.errors import ResultError
from lenet_bench.measure.anatomy import NATIVE, dissect
from lenet_bench.measure.comparison import compare
from lenet_bench.network import LAYERS
from lenet_bench.probes import COUNTS, CUTS, IMAGES, probes_of
from lenet_bench.questions.why import digest, why
from lenet_bench.registry import find, load
from lenet_bench.results import Breakdown, Experiment, Function, breakdowns, read_result
from lenet_bench.results.breakdown import AFTER, DISPATCH, STAGES, UNEXPLAINED, grouped
from lenet_bench.results.model import Anatomy
from lenet_bench.results.statistics import FEWEST_STARTS
from lenet_bench.show.terminal.screen import Screen
from lenet_bench.show.why import answer, closely
from lenet_bench.show.why import calls as table
from lenet_bench.show.why import parts as rows
from msgspec.structs import replace
from sample_results import blocks, experiments, failed, result

IMAGE_LIST = [np.full((28, 28), n / 10, np.float32) for n in range(3)]
WIDE = Screen(columns=200, colour=False)


def one(_: object) -> None:
    two()
    two()


def two() -> None:
    len(())


def anatomy(infer: Any) -> dict[str, Any]:
    return dissect(infer, IMAGE_LIST, 0.02)


def test_calls_are_counted_by_package_and_depth_and_those_of_native_code_apart() -> None:
    found, native = anatomy(one), anatomy(memoryview)
    assert (found["python_calls"], found["builtin_calls"]) == ({"test_why": 3}, 2)
    assert (found["depth"], found["tower"]) == (2, ["test_why"])
    assert (native["python_calls"], set(native["shares"])) == ({}, {NATIVE})


def test_the_tree_says_who_calls_whom() -> None:
    def outer(_: object) -> None:
        toys.spin(2000)

    (top,) = anatomy(outer)["tree"]
    assert top["call"].endswith("outer")
    assert top["calls"][0]["call"] == "toy_backends:spin"
    assert top["share"] >= top["calls"][0]["share"] > 0.5


def apart(call_us: float, rounds: int = FEWEST_STARTS, made: Any = None, **sizes: float) -> Any:
    """A backend of that median and of these experiments."""
    rows = blocks("made", call_us, rounds, experiments=made or experiments(**sizes))
    return breakdowns(result(rows))[0]


def figures(found: Breakdown) -> dict[str, float]:
    return {part.name: part.us for part in found.parts}


def entering(us: float, operations: int = 1) -> tuple[Experiment, ...]:
    """A way of that many operations, and trivial ones of a microsecond each, ten beside them."""
    trivial = (Experiment("operations", str(n), 10 + n, 9, n) for n in COUNTS)
    return (Experiment("way", "entering", us, 9, operations, "so"), *trivial)


def stage(name: str, us: float, operations: int) -> Experiment:
    return Experiment("stage", name, us, 9, operations)


def together(**us: float) -> tuple[Experiment, ...]:
    """The sample's first and last way, in one call with what the name says."""
    names = {name.replace("_", " "): one for name, one in us.items()}
    return tuple(Experiment("together", name, one, 9) for name, one in names.items())


def slower(us: float, *kinds: str) -> tuple[Experiment, ...]:
    """The sample's experiments, those of these kinds that much longer."""
    return tuple(
        replace(one, us=one.us + us * (one.kind in kinds and one.name != "softmax"))
        for one in experiments()
    )


class Made(NamedTuple):
    """What a backend was asked, and what comes of it beside what is unexplained."""

    asked: tuple[Experiment, ...]
    parts: dict[str, float] = {  # noqa: RUF012 - nobody changes it
        **{"Python": 5, "entering": 10, DISPATCH: 14},
        **dict.fromkeys(STAGES, 7),
    }
    call_us: float = 100
    operation_us: float | None = 2


SAMPLE = Made(experiments())
NOTHING = stage("nothing", 14 + 3, 2)  # where more than ten floats are given
SOFTMAX = replace(experiments()[-1], us=experiments()[-1].us + 3)
CUT = 10 + 6 * 2 + 6 * 7  # what comes before the softmax
AFTER_IT = together(Python=CUT + 14 + 5 + 3 + 8, entering=CUT + 14 + 3)
ENTERED_TWICE = together(entering_after_Python=14 + 2)
WALKED = together(Python_after_a_walk=40 + 14 + 5 + 5, entering_after_a_walk=40 + 14 + 1)

#: As `experiments`, without the two operations that read ten floats, which here take 30 more.
IN_FULL = tuple(
    replace(one, us=one.us - 2 * 2, operations=one.operations - 2)
    if one.name in CUTS[:-1]
    else replace(one, us=one.us + 30 * (one.name != "fc2"))
    for one in experiments()
)

MADE = {
    "the sample": SAMPLE,
    "parts that are more than the call": Made(SAMPLE.asked, call_us=50),
    "a stage below zero": Made(
        experiments(stage=-3), {**SAMPLE.parts, **dict.fromkeys(STAGES, -3)}, 50
    ),
    "a hand-over beside the ways, which is not in entering": Made(
        (*SAMPLE.asked, *(Experiment("hand-over", str(us), us, 9, 2, "so") for us in (30, 26))),
        {**SAMPLE.parts, "hand-over": 4, "entering": 6},
    ),
    "stages that one kernel computes, which are one part": Made(
        (*entering(11), stage("conv1 to pool2", 10 + 1 + 20, 1), stage("fc1", 10 + 2 + 25, 2)),
        {"entering": 10, DISPATCH: 2, "conv1 to pool2": 20, "fc1": 5},
        *(40, 1),
    ),
    "a kernel in the last way, which is dispatched once": Made(
        (*entering(11), stage("fc2", 10 + 1 + 5, 1), stage("softmax", 10 + 1 + 5, 1)),
        {"entering": 10, DISPATCH: 2, "fc2": 5, "softmax": 5},
        *(22, 1),
    ),
    "what a GPU's clock tells, where nothing is dispatched": Made(
        (entering(3, 0)[0], Experiment("told", "conv1 to softmax", 2, 9, 0, "a clock")),
        {"entering": 3, "conv1 to softmax": 2},
        *(6, None),
    ),
    "a way that finds its caches cold after the network": Made(
        (*SAMPLE.asked, *AFTER_IT), {**SAMPLE.parts, "caches": 8}
    ),
    "and that is entered twice there, which a call does once": Made(
        (*SAMPLE.asked, *AFTER_IT, *ENTERED_TWICE), {**SAMPLE.parts, "caches": 6}
    ),
    "a control that walks over memory in the network's place": Made(
        (*SAMPLE.asked, *AFTER_IT, *ENTERED_TWICE, *WALKED),
        {**SAMPLE.parts, AFTER: 6},
    ),
    "ten floats that take longer to read than operations do, where no cut reads them": Made(
        (stage("nothing in full", 10, 0), *IN_FULL)
    ),
    "more than ten floats, from what stages are compared with too": Made(
        (*slower(3, "stage", "operations")[:-1], SOFTMAX, NOTHING)
    ),
    "more than ten floats, which take longer after a network": Made(
        (*slower(5, "stage")[:-1], SOFTMAX, NOTHING, stage("fc2 alone", SAMPLE.asked[-2].us, 2))
    ),
}


@pytest.mark.parametrize("made", MADE)
def test_each_part_is_found_and_all_add_up_to_the_median(made: str) -> None:
    asked, parts, call_us, operation_us = MADE[made]
    found, explained = apart(call_us, made=asked), sum(parts.values())
    expected = {**parts, UNEXPLAINED: call_us - explained}
    assert figures(found) == pytest.approx(expected, rel=0.01, abs=0.05)
    assert sum(figures(found).values()) == pytest.approx(found.median_us)
    assert found.explained == pytest.approx(explained / call_us, rel=0.01)
    assert (found.operation_us and found.operation_us.us) == pytest.approx(operation_us)
    assert not operation_us or found.operations == parts[DISPATCH] / operation_us
    if "conv1 to pool2" in parts:  # it counts as what is most of it, and says how it was cut
        assert grouped(found.parts)["convolutions"] == pytest.approx(20)
        assert "pool2" in found.parts[2].evidence


def test_intervals_grow_with_the_starts_that_they_are_over_and_few_starts_have_none() -> None:
    few, enough = apart(100, FEWEST_STARTS - 1), apart(100)
    assert {part.low_us for part in few.parts} == {few.explained_low} == {None}
    for part in enough.parts:
        assert part.low_us - 1e-6 <= part.us <= part.high_us + 1e-6
    random = np.random.default_rng(3)
    rows = blocks("made", 100, 12)
    tries = [experiments(stage=7 + random.normal()) for _ in rows]
    made = [replace(row, experiments=tried) for row, tried in zip(rows, tries, strict=True)]
    (found,) = breakdowns(result(tuple(made)))
    widths = {p.name: p.high_us - p.low_us for p in found.parts if p.high_us and p.low_us}
    assert widths["conv2"] > 10 * widths["Python"]


@functools.cache
def made(name: str) -> dict[tuple[str, str], Any]:
    return {(p.kind, p.name): p for p in probes_of(*find(name), read_weights(), 1)}


@pytest.mark.parametrize("name", ["numpy", "onnxruntime"])
def test_a_cut_network_computes_what_lenet_does_and_trivial_operations_are_done(name: str) -> None:
    layers = reference.build(read_weights())(IMAGES)
    for cut in CUTS:
        expected = layers[cut][0]
        if name == "numpy" and expected.ndim == 3:
            expected = expected.transpose(1, 2, 0)
        answer = np.ravel(made(name)["stage", cut].infer(IMAGES[0]))[:10]
        assert answer == pytest.approx(expected.ravel()[:10], abs=1e-4), cut
    expected = IMAGES.ravel()[:10]
    for count in range(1, COUNTS[-1] + 1):
        expected = np.tanh(expected)
        if count in COUNTS:
            answer = made(name)["operations", str(count)].infer(IMAGES[0])
            assert np.ravel(answer) == pytest.approx(expected, abs=1e-5)


def test_onnx_runtime_folds_none_of_them_away(tmp_path: Path) -> None:
    import onnx
    import onnxruntime as ort
    from lenet_bench.probes.onnx_models import Models

    for count in COUNTS:
        options = ort.SessionOptions()
        options.optimized_model_filepath = str(tmp_path / "kept.onnx")
        options.log_severity_level = 3
        ort.InferenceSession(Models(read_weights()).trivial(count), options)
        nodes = onnx.load(tmp_path / "kept.onnx").graph.node
        assert sum(node.op_type == "Tanh" for node in nodes) == count


def test_onednns_probe_with_all_layers_is_lenet() -> None:
    module = pytest.importorskip("lenet_bench._onednn")
    whole = module.OneDnnProbe(read_weights(), 1, list(LAYERS), 0)
    expected = load("onednn").infer(IMAGES[0])
    assert whole.infer(IMAGES[0]) == pytest.approx(expected)
    assert made("onednn")["operations", "64"].operations == 64
    assert made("onednn")["stage", "conv1"].operations < whole.operations


def test_openblas_probe_calls_blas_as_often_as_asked() -> None:
    pytest.importorskip("lenet_bench._openblas")
    for count in COUNTS:
        sum_of = made("openblas")["operations", str(count)].infer(IMAGES[0])
        assert sum_of == pytest.approx((1 + count) * IMAGES.ravel()[:10], rel=1e-5)


TAKEN_APART = ("numpy", "onednn", "openblas", "onnxruntime:iobinding")
#: What is left whole, and a word of the reason.
WHOLE = {
    "reference": "no experiments",
    "BrokenProbes": "no such network",
    "CrashingProbes": "SIGABRT",
}


@pytest.fixture(scope="module")
def found() -> dict[str, Breakdown]:
    """All of these, each in a process of its own."""
    broken = (toys.entry(toys.BrokenProbes), toys.entry(toys.CrashingProbes))
    run = why(CompareOptions((*TAKEN_APART, "reference", *broken), rounds=1))
    return {one.name: one for one in run}


@pytest.mark.parametrize("name", TAKEN_APART)
def test_a_backend_is_taken_apart_in_its_own_process(found: Any, name: str) -> None:
    taken = found[name]
    assert (taken.reason, taken.explained is None) == (None, False)
    parts = [part.name for part in taken.parts if part.name != "softmax"]
    assert parts[-8:] == [DISPATCH, *STAGES[:-1], UNEXPLAINED]
    assert sum(figures(taken).values()) == pytest.approx(taken.median_us)


@pytest.mark.parametrize("name", WHOLE)
def test_what_has_no_experiments_is_left_whole_with_its_reason(found: Any, name: str) -> None:
    whole = found[name]
    assert (whole.status, whole.parts, whole.explained) == ("ok", (), None)
    assert WHOLE[name] in whole.reason
    assert whole.median_us
    assert name != "reference" or sum(whole.anatomy.python_calls.values()) > 10


def test_parts_are_shown_with_a_bar_where_the_last_one_ended_and_are_in_the_json() -> None:
    lines = list(rows(apart(100), WIDE))
    assert [line.split()[0] for line in lines[3:]] == list(figures(apart(100)))
    ends = [len(line[: line.index("█")]) for line in lines if "█" in line]
    assert ends == sorted(ends)
    (backend,) = json.loads(json.dumps(digest([apart(100)])))["backends"]
    assert {"name", "median_us", "parts", "explained"} <= set(backend)
    for part, line in zip(backend["parts"], lines[3:], strict=True):
        assert set(part) == {"name", "us", "low_us", "high_us", "evidence"}
        assert part["evidence"]
        assert part["evidence"] in line


def test_the_answer_names_the_largest_parts_and_what_the_slowest_adds() -> None:
    slow = renamed(apart(300, python=205), name="slow")
    first, second, both = answer([slow, apart(100)])
    assert re.search("made .*100 µs.*unexplained 22.0 µs.*dispatch 14.0 µs.*78 %", first)
    assert "Python 205 µs (68 %)" in second
    assert re.search("slow .*200 µs.*made.*Python 200 µs", both)
    assert len(list(answer([slow]))) == 1


def test_a_narrow_terminal_keeps_name_time_and_share_and_no_function_that_hands_on() -> None:
    for lines in (table([apart(100)], Screen(40, False)), rows(apart(100), Screen(40, False))):
        assert all(len(line) <= 40 for line in lines)
    row = list(table([apart(100)], Screen(40, False)))[1]
    assert row.split()[:5] == ["made", "100", "µs", "78", "%"]

    inner = Function("a.c:g", 0.9, (Function("a.d:h", 0.9),))
    tree = (Function("a:main", 1.0, (Function("a.b:f", 0.9, (inner,)),)),)
    known = Breakdown("x", "ok", anatomy=Anatomy({"a": 4}, 0, 4, ("a",), tree=tree))
    assert [line.split()[-1] for line in list(closely(known, WIDE))[-2:]] == ["a:main", "a…d:h"]


def test_what_is_not_taken_apart_and_what_cannot_run_is_shown_with_its_reason() -> None:
    missing = result(failed("cuda", "unavailable", "no GPU"), failed("cupy", "unavailable", "none"))
    whole = Breakdown("tvm", "ok", "nobody", 5.0)
    lines = list(table([apart(50), whole, *breakdowns(missing)], WIDE, named=["cupy"]))
    assert any("tvm" in line and line.endswith("nobody") for line in lines)
    assert not any("made is not" in line for line in lines)
    assert "cupy: unavailable" in "\n".join(lines)
    assert "cuda;" in lines[-1]


def test_the_call_on_two_cores_is_shown_and_in_no_sum() -> None:
    call, two = (
        Experiment("call", name, us, 9) for name, us in [("call", 100), ("on two cores", 60)]
    )
    rows = blocks("made", 100, FEWEST_STARTS, experiments=(call, *experiments(), two))
    (found,) = breakdowns(result((*rows[:-1], replace(rows[-1], experiments=experiments()))))
    assert (found.median_us, found.two_cores_us) == (100, 60)
    assert figures(found) == pytest.approx(figures(apart(100)), rel=1e-3)
    assert "60.0 µs" in next(line for line in table([found], WIDE) if "made" in line)
    assert digest([found])["backends"][0]["two_cores_us"] == 60
    assert "on two cores" not in next(table([apart(100)], WIDE))


def test_the_command_goes_on_with_its_file_and_with_no_other(run: Run, tmp_path: Path) -> None:
    path, comparison = tmp_path / "why.jsonl", tmp_path / "compare.jsonl"
    first = run("why", "numpy", "--rounds", "1", "-o", path, "--json")
    again = run("why", "-o", path, "--rounds", "2", "--tree")
    assert (first.code, again.code) == (0, 0), first.errors + again.errors
    assert json.loads(first.output)["backends"][0]["parts"]
    assert "lenet_bench…numpy:" in again.output
    assert len(read_result(path).row("numpy").blocks) == 2
    compare(CompareOptions(("numpy",), rounds=1, output=comparison))
    with pytest.raises(ResultError, match="taken apart"):
        why(CompareOptions(("numpy",), rounds=2, output=comparison))

    done = run("why", "numpy", "-o", tmp_path)
    assert (done.code, done.output) == (1, "")
    assert str(tmp_path) in done.errors

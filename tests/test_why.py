"""`why`: what a call is made of, on backends whose making is known."""

import json
import re
from dataclasses import replace as renamed
from typing import Any, NamedTuple

import numpy as np
import pytest
import scratch_backends as scratch
import toy_backends as toys
from lenet_bench import CompareOptions, read_weights
from lenet_bench.backends import reference
from lenet_bench.errors import ResultError, Unsupported
from lenet_bench.experiment_names import COUNTS
from lenet_bench.measure.anatomy import dissect
from lenet_bench.measure.comparison import compare
from lenet_bench.measure.experiments import Experiments
from lenet_bench.network import LAYERS, STAGES
from lenet_bench.networks import NETWORKS, network
from lenet_bench.networks.pieces import Form, pieces, stages
from lenet_bench.questions.why import digest, why
from lenet_bench.registry import find, load, usable_cores
from lenet_bench.results import Breakdown, Experiment, Function, breakdowns, read_result
from lenet_bench.results.breakdown import (
    AFTER,
    AMONG,
    BUILT,
    DISPATCH,
    UNEXPLAINED,
    WITH,
    grouped,
    kind,
)
from lenet_bench.results.model import Anatomy
from lenet_bench.results.statistics import FEWEST_STARTS
from lenet_bench.show.comparison import render
from lenet_bench.show.terminal.screen import Screen
from lenet_bench.show.why import answer, closely, difference, in_terminal
from lenet_bench.show.why import calls as table
from lenet_bench.show.why import parts as rows
from lenet_bench.subjects.network import OtherNetwork
from lenet_bench.why import Case, Probe, probes_of
from msgspec.structs import replace
from networks import loaded
from sample_results import blocks, experiments, failed, result

IMAGE_LIST = [np.full((28, 28), n / 10, np.float32) for n in range(3)]
IMAGE = np.random.default_rng(0).random((28, 28), np.float32)
WIDE = Screen(columns=200, colour=False)


def one(_):
    two()
    two()


def two():
    len(())


def anatomy(infer):
    return dissect(infer, IMAGE_LIST, 0.02)


def test_calls_are_counted_by_package():
    found, native = anatomy(one), anatomy(memoryview)
    assert found["python_calls"] == {"test_why": 3}
    assert native == {"python_calls": {}, "tree": []}


def test_the_tree_says_who_calls_whom():
    def outer(_):
        toys.spin(2000)

    (top,) = anatomy(outer)["tree"]
    assert top["call"].endswith("outer")
    assert top["calls"][0]["call"] == "toy_backends:spin"
    assert top["share"] >= top["calls"][0]["share"] > 0.5


def run_of(call_us, rounds=FEWEST_STARTS, made=None, **sizes):
    """A run of one backend of that median and of these experiments."""
    made = made or experiments(**sizes)
    return result(blocks("made", call_us, rounds, experiments=made), apart=True)


def taken(*run, **sizes):
    return breakdowns(run_of(*run, **sizes))[0]


def figures(found):
    return {part.name: part.us for part in found.parts}


def entering(us, operations=1):
    """A way of that many operations, and trivial ones of a microsecond each, ten beside them."""
    trivial = (Experiment("operations", str(n), 10 + n, 9, n) for n in COUNTS)
    return (Experiment("way", "entering", us, 9, operations, "so"), *trivial)


def stage(name, us, operations):
    return Experiment("stage", name, us, 9, operations)


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
    "what a GPU's clock tells, where nothing is dispatched": Made(
        (entering(3, 0)[0], Experiment("told", "conv1 to softmax", 2, 9, 0, "a clock")),
        {"entering": 3, "conv1 to softmax": 2},
        *(6, None),
    ),
    "what only follows a network, which is in a part": Made(experiments(after=3)),
    "what comes with this network, which is in no part": Made(experiments(with_network=3)),
}


def slow_by_turns():
    """A call of 127 us: in each start another stage is slow, by 40, so no stage's median is."""
    whole_us, starts = 10 + 11 * len(STAGES) + 40, []
    for number, block in enumerate(blocks("made", whole_us, FEWEST_STARTS)):
        us, cuts = 10, []
        for place, name in enumerate(STAGES):
            us += 1 + (50 if place == number % len(STAGES) else 10)
            cuts.append(stage(name, us, place + 1))
        starts.append(replace(block, experiments=(*entering(11), *cuts)))
    return breakdowns(result(tuple(starts), apart=True))[0]


def test_what_the_parts_add_up_to_is_found_in_each_start():
    found = slow_by_turns()
    assert figures(found)["conv1"] == pytest.approx(10, rel=0.01)
    assert found.explained == pytest.approx(1, rel=0.001)
    low, high = found.explained_low, found.explained_high
    assert (low, high) == pytest.approx((1, 1), rel=0.001)


@pytest.mark.parametrize("made", MADE)
def test_all_parts_add_up_to_the_median(made):
    asked, parts, call_us, operation_us = MADE[made]
    found, explained = taken(call_us, made=asked), sum(parts.values())
    expected = {**parts, UNEXPLAINED: call_us - explained}
    assert figures(found) == pytest.approx(expected, rel=0.01, abs=0.05)
    assert sum(figures(found).values()) == pytest.approx(found.median_us)
    assert found.explained == pytest.approx(explained / call_us, rel=0.01)
    assert (found.operation_us and found.operation_us.us) == pytest.approx(operation_us)
    assert not operation_us or found.operations == parts[DISPATCH] / operation_us
    if "conv1 to pool2" in parts:  # it counts as what is most of it
        assert grouped(found.parts)["convolutions"] == pytest.approx(20)


def test_what_the_sum_can_be_wrong_in_stands_beside_it():
    call = Experiment("call", "call", 100, 9)
    found = taken(90, made=(call, *experiments(after=3, with_network=4)))
    beside = {part.name: part.us for part in found.beside}
    expected = {AFTER: 3, WITH: 4, BUILT: 100 - 78 - 4, AMONG: 10}
    assert beside == pytest.approx(expected, abs=0.05)
    assert beside[WITH] + beside[BUILT] == pytest.approx(figures(found)[UNEXPLAINED])


def test_few_starts_have_no_intervals():
    few = taken(100, FEWEST_STARTS - 1)
    assert {part.low_us for part in (*few.parts, *few.beside)} == {few.explained_low} == {None}


def test_each_part_lies_in_its_interval():
    for part in taken(100).parts:
        assert part.low_us is not None
        assert part.high_us is not None
        assert part.low_us - 1e-6 <= part.us <= part.high_us + 1e-6


def test_what_differs_from_start_to_start_has_the_wider_interval():
    random = np.random.default_rng(3)
    rows = blocks("made", 100, 12)
    tries = [experiments(stage=7 + random.normal()) for _ in rows]
    made = [replace(row, experiments=tried) for row, tried in zip(rows, tries, strict=True)]
    (found,) = breakdowns(result(tuple(made)))
    widths = {p.name: p.high_us - p.low_us for p in found.parts if p.high_us and p.low_us}
    assert widths["conv2"] > 10 * widths["Python"]


@pytest.mark.parametrize("name", NETWORKS)
def test_all_that_follows_a_cut_reads_its_last_layer_alone(name):
    whole = network(name)
    names = [layer.name for layer in whole.layers]
    found = stages(whole)
    assert found[-1][1] == names[-1]
    assert len({stage for stage, _ in found}) == len(found) <= 12
    for stage, end in found:
        later = whole.layers[names.index(end) + 1 :]
        read = {name for layer in later for name in layer.inputs}
        assert not read & set(names[: names.index(end)])
        assert kind(stage) == "mathematics", stage


@pytest.mark.parametrize("name", ["numpy", "onnxruntime"])
def test_a_cut_network_computes_what_lenet_does(name):
    case = Case(*find(name), network("lenet"), read_weights(), 1)
    layers = reference.build(case.weights)(case.images)
    made = probes_of(case.row, case.variant, case.network, case.weights, 1)
    cuts = {one.name: one for one in made if one.kind == "stage"}
    for stage, key in zip(STAGES, LAYERS, strict=True):
        expected = layers[key][0]
        if name == "numpy" and expected.ndim == 3:
            expected = expected.transpose(1, 2, 0)
        answer = cuts[stage].infer(IMAGE)
        (answer,) = answer.values() if name == "numpy" else answer
        assert np.ravel(answer)[:10] == pytest.approx(expected.ravel()[:10], abs=1e-4), stage


def test_onnx_runtime_folds_no_trivial_layer_away(tmp_path):
    import onnx
    import onnxruntime as ort
    from lenet_bench.networks.builders.onnx import in_place

    for piece in pieces(network("lenet"), Form()):
        if piece.kind == "operations":
            assert piece.network is not None
            options = ort.SessionOptions()
            options.optimized_model_filepath = str(tmp_path / "kept.onnx")
            options.log_severity_level = 3
            model = in_place(piece.network, read_weights())["onnx_model"]
            ort.InferenceSession(model, options)
            nodes = onnx.load(tmp_path / "kept.onnx").graph.node
            assert sum(node.op_type == "Softmax" for node in nodes) == int(piece.name)


def in_cpp(name):
    loaded(name)
    made = probes_of(*find(name), network("lenet"), read_weights(), 1)
    return {(one.kind, one.name): one for one in made}


def test_onednns_last_piece_is_lenet():
    made = in_cpp("onednn")
    expected = load("onednn").infer(IMAGE)
    assert made["stage", "softmax"].infer(IMAGE) == pytest.approx(expected)
    assert made["operations", "64"].operations == 64
    assert made["stage", "conv1"].operations < made["stage", "softmax"].operations


def test_openblas_probe_calls_blas_as_often_as_asked():
    made = in_cpp("openblas")
    for count in COUNTS:
        sum_of = made["operations", str(count)].infer(IMAGE)
        assert sum_of == pytest.approx((1 + count) * IMAGE.ravel()[:10], rel=1e-5)


@pytest.mark.parametrize(
    ("name", "of", "reason"),
    [
        ("torch:int8", "lenet", "it is int8 weights, and other networks are measured in float32"),
        ("torch:cpp", "lenet", "it is written for LeNet only"),
        ("onednn", "mlp", "it is taken apart with LeNet only"),
        ("cudnn", "mlp", "it is taken apart with LeNet only"),
    ],
)
def test_what_cannot_be_taken_apart_has_its_own_reason(name, of, reason):
    with pytest.raises(Unsupported, match=reason):
        probes_of(*find(name), network(of), read_weights(), 1)


TAKEN_APART = ("numpy", "onednn", "openblas", "onnxruntime:iobinding")
#: What is left whole, and a word of the reason.
WHOLE = {
    "reference": "it is written for LeNet only",
    "fused": "no experiments",
    "BrokenProbes": "no such network",
    "CrashingProbes": "SIGABRT",
}


@pytest.fixture(scope="module")
def found():
    """All of these, each in a process of its own."""
    broken = (toys.entry(toys.BrokenProbes), toys.entry(toys.CrashingProbes))
    run = why(CompareOptions((*TAKEN_APART, "reference", "fused", *broken), rounds=1))
    return {one.name: one for one in run}


@pytest.mark.parametrize("name", TAKEN_APART)
def test_a_backend_is_taken_apart_in_its_own_process(found, name):
    one = found[name]
    assert (one.reason, one.explained is None) == (None, False)
    parts = [part.name for part in one.parts]
    own = STAGES[:-1] if name == "openblas" else STAGES
    assert parts[-len(own) - 2 :] == [DISPATCH, *own, UNEXPLAINED]
    assert sum(figures(one).values()) == pytest.approx(one.median_us)
    assert usable_cores() == 1 or 0 <= one.gil_share <= 1


@pytest.mark.parametrize("name", WHOLE)
def test_what_has_no_experiments_is_left_whole_with_its_reason(found, name):
    whole = found[name]
    assert (whole.status, whole.parts, whole.explained) == ("ok", (), None)
    assert WHOLE[name] in whole.reason
    assert whole.median_us
    assert name != "reference" or sum(whole.anatomy.python_calls.values()) > 10


def test_another_networks_stages_are_its_layers():
    (found,) = why(CompareOptions(("numpy",), rounds=1, subject=OtherNetwork("mlp")))
    assert found.reason is None
    assert {"fc1", "fc2", "fc3", "softmax"} <= set(figures(found))


def test_a_bar_begins_where_the_last_one_ended():
    lines = list(rows(taken(100), WIDE))
    shown = [*figures(taken(100)), "beside", *(part.name for part in taken(100).beside)]
    assert [line.split()[0] for line in lines[3:]] == [name.split()[0] for name in shown]
    ends = [len(line[: line.index("█")]) for line in lines if "█" in line]
    assert ends == sorted(ends)


def test_the_json_has_each_part_with_its_evidence():
    (backend,) = json.loads(json.dumps(digest(run_of(100))))["backends"]
    assert {"name", "median_us", "parts", "beside", "explained"} <= set(backend)
    for part, line in zip(backend["parts"], list(rows(taken(100), WIDE))[3:], strict=False):
        assert set(part) == {"name", "us", "low_us", "high_us", "evidence"}
        assert part["evidence"]
        assert part["evidence"] in line


def test_the_answer_names_what_the_slowest_adds():
    slow = renamed(taken(300, python=205), name="slow")
    first, second, both = answer([slow, taken(100)])
    assert re.search("made .*100 µs.*unexplained 22.0 µs.*dispatch 14.0 µs.*78 %", first)
    assert "Python 205 µs (68 %)" in second
    assert re.search("slow .*200 µs.*made.*Python 200 µs", both)
    assert len(list(answer([slow]))) == 1


def test_what_of_a_difference_is_in_no_part_is_named():
    assert re.search(r"in no part .* 40\.0 µs and all else", difference(taken(27), slow_by_turns()))
    assert "in no part" not in difference(taken(27), taken(127))


def test_few_starts_name_no_cause():
    run = run_of(100, FEWEST_STARTS - 1)
    found = breakdowns(run)
    for sentence in answer([*found, renamed(taken(300, python=205), name="slow")]):
        if "made" in sentence:
            assert "5 starts, of 6" in sentence
            assert "%" not in sentence
    row = next(line for line in table(found, WIDE) if line.startswith("made"))
    assert row.split()[:4] == ["made", "100", "µs", "-"]


def test_the_warnings_of_a_run_are_its_answers_too():
    run = result(blocks("made", 100, 2, experiments=experiments()), ended="interrupted", apart=True)
    text = " ".join(" ".join(in_terminal(run, WIDE)).split())
    assert any("interrupted" in warning for warning in run.warnings)
    assert any("too few starts for an interval" in warning for warning in run.warnings)
    assert "verdict" not in text
    assert all(warning in text for warning in run.warnings)
    assert digest(run)["warnings"] == list(run.warnings)


@pytest.mark.parametrize("form", ["text", "markdown", "json"])
def test_report_prints_of_a_run_what_why_prints(form):
    text = render(run_of(100), form=form)
    assert "explained" in text
    if form == "json":
        assert json.loads(text) == json.loads(json.dumps(digest(run_of(100))))
    else:
        assert "100 µs" in text


def test_a_narrow_terminal_keeps_the_share():
    for lines in (table([taken(100)], Screen(40, False)), rows(taken(100), Screen(40, False))):
        assert all(len(line) <= 40 for line in lines)
    row = list(table([taken(100)], Screen(40, False)))[1]
    assert row.split()[:5] == ["made", "100", "µs", "78", "%"]


def test_a_function_that_only_hands_on_is_left_out():
    inner = Function("a.c:g", 0.9, (Function("a.d:h", 0.9),))
    tree = (Function("a:main", 1.0, (Function("a.b:f", 0.9, (inner,)),)),)
    known = Breakdown("x", "ok", anatomy=Anatomy({"a": 4}, tree=tree))
    assert [line.split()[-1] for line in list(closely(known, WIDE))[-2:]] == ["a:main", "a…d:h"]


def test_what_is_not_taken_apart_has_its_reason():
    missing = result(failed("cuda", "unavailable", "no GPU"), failed("cupy", "unavailable", "none"))
    whole = Breakdown("tvm", "ok", "nobody", 5.0)
    lines = list(table([taken(50), whole, *breakdowns(missing)], WIDE, named=["cupy"]))
    assert any("tvm" in line and line.endswith("nobody") for line in lines)
    assert not any("made is not" in line for line in lines)
    assert "cupy: unavailable" in "\n".join(lines)
    assert "cuda;" in lines[-1]


def test_the_call_on_two_cores_is_in_no_sum():
    call, two = (
        Experiment("call", name, us, 9) for name, us in [("call", 100), ("on two cores", 60)]
    )
    rows = blocks("made", 100, FEWEST_STARTS, experiments=(call, *experiments(), two))
    run = result((*rows[:-1], replace(rows[-1], experiments=experiments())))
    (found,) = breakdowns(run)
    assert (found.median_us, found.two_cores_us) == (100, 60)
    assert figures(found) == pytest.approx(figures(taken(100)), rel=1e-3)
    assert "60.0 µs" in next(line for line in table([found], WIDE) if "made" in line)
    assert digest(run)["backends"][0]["two_cores_us"] == 60


def test_the_share_that_a_call_waits_is_wall_time_less_processor_time():
    rows = blocks("made", 100, FEWEST_STARTS, experiments=experiments(), cpu_ns=91, wall_ns=100)
    run = result(rows)
    waiting = {row.name: row.waiting_share for row in breakdowns(run)}
    assert waiting == {"made": pytest.approx(0.09)}
    assert "on two cores" not in next(table([taken(100)], WIDE))


def test_a_call_gives_up_its_core_as_often_as_all_calls_did():
    """Also where few of them count: each gave it up once."""
    slices = ((10, 30_000), (40, 40_000))
    (found,) = breakdowns(result(blocks("a", 20, slices=slices, made=80, waited=80)))
    assert found.waits == 1


def test_the_command_goes_on_with_its_file(run, tmp_path):
    path = tmp_path / "why.jsonl"
    first = run("why", "numpy", "--rounds", "1", "-o", path, "--json")
    again = run("why", "-o", path, "--rounds", "2", "--tree")
    assert (first.code, again.code) == (0, 0), first.errors + again.errors
    assert first.answer["backends"][0]["parts"]
    assert "lenet_bench…numpy:" in again.output
    assert len(read_result(path).backend("numpy").blocks) == 2


def test_a_long_start_tells_of_its_experiments():
    told = []
    why(CompareOptions(("numpy",), rounds=1), lambda progress: told.append(progress.doing))
    assert "numpy, building its experiments" in told
    assert "numpy, turn 1 of 8 of its experiments, which end after 120 s" in told


def test_why_does_not_go_on_with_a_comparison(tmp_path):
    comparison = tmp_path / "compare.jsonl"
    compare(CompareOptions(("numpy",), rounds=1, output=comparison))
    with pytest.raises(ResultError, match="taken apart"):
        why(CompareOptions(("numpy",), rounds=2, output=comparison))


def test_the_time_that_is_left_follows_from_the_turns_done():
    updates: list[Any] = []
    compare(CompareOptions(("numpy",), rounds=1, budget_s=300, breakdown=True), updates.append)
    turns = [one for one in updates if "of its experiments" in one.doing]
    assert len(turns) >= 8
    assert all(0 < one.left_s < 300 - one.elapsed_s for one in turns[1:])
    assert turns[1].left_s != turns[-1].left_s


@pytest.mark.slow
def test_experiments_end_with_the_budget_and_the_calls_are_kept():
    """Eight turns of its experiment take 128 s, since it sleeps for 4 in each of four calls."""
    slow = scratch.entry(scratch.HasASlowExperiment)
    result = compare(CompareOptions((slow,), budget_s=40, breakdown=True, rounds=1))
    (block,) = result.backends[0].blocks
    assert block.experiments or "budget" in (block.no_experiments_reason or "")
    assert result.elapsed_s < 128


def test_no_turn_begins_after_the_budget():
    every = Experiments([Probe("call", "call", lambda _: None)], lambda _: None, IMAGE_LIST)
    every.turn(0.0)
    assert every.turns.done == 0

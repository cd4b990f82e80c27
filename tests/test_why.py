"""`why`: what a call is made of, on backends whose making is known."""

import json
from pathlib import Path
from typing import Any

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
from lenet_bench.results import Experiment, Function, TakenApart, read_result, taken_apart
from lenet_bench.results.apart import DISPATCH, STAGES, UNEXPLAINED, grouped
from lenet_bench.results.model import Anatomy
from lenet_bench.results.statistics import FEWEST_STARTS
from lenet_bench.show.terminal.screen import Screen
from lenet_bench.show.terminal.why import calls as table
from lenet_bench.show.terminal.why import closely
from lenet_bench.show.terminal.why import parts as rows
from lenet_bench.show.why import answer
from msgspec.structs import replace
from sample_results import blocks, experiments, failed, result

IMAGE_LIST = [np.full((28, 28), n / 10, np.float32) for n in range(3)]
WIDE = Screen(columns=200, colour=False)

# What a call does in Python


def one(_: object) -> None:
    two()
    two()


def two() -> None:
    len(())


def anatomy(infer: Any) -> dict[str, Any]:
    return dissect(infer, IMAGE_LIST, 0.02)


def test_python_calls_are_counted_by_package() -> None:
    assert anatomy(one)["python_calls"] == {"test_why": 3}


def test_calls_of_what_is_no_python_are_counted_apart() -> None:
    assert anatomy(one)["builtin_calls"] == 2


def test_the_deepest_way_down_is_known() -> None:
    found = anatomy(one)
    assert (found["depth"], found["tower"]) == (2, ["test_why"])


def test_time_in_native_code_alone_is_called_so() -> None:
    found = anatomy(memoryview)
    assert (found["python_calls"], set(found["shares"])) == ({}, {NATIVE})


def test_the_tree_says_who_calls_whom() -> None:
    def outer(_: object) -> None:
        toys.spin(2000)

    (top,) = anatomy(outer)["tree"]
    assert top["call"].endswith("outer")
    assert top["calls"][0]["call"] == "toy_backends:spin"
    assert top["share"] >= top["calls"][0]["share"] > 0.5


# Parts


def apart(call_us: float, rounds: int = FEWEST_STARTS, **made: float) -> TakenApart:
    """A backend of that median and of those experiments."""
    rows = blocks("made", call_us, rounds, experiments=experiments(**made))
    return taken_apart(result(rows))[0]


def figures(found: TakenApart) -> dict[str, float]:
    return {part.name: part.us for part in found.parts}


def test_each_part_is_found() -> None:
    found = figures(apart(100))
    expected = {"Python": 5, "entering": 10, DISPATCH: 14, **dict.fromkeys(STAGES, 7)}
    assert found == pytest.approx({**expected, UNEXPLAINED: 100 - 78}, rel=0.01)


@pytest.mark.parametrize("call_us", [50, 78, 200])
def test_the_parts_add_up_to_the_median(call_us: float) -> None:
    found = apart(call_us)
    assert sum(figures(found).values()) == pytest.approx(found.median_us)
    assert found.explained == pytest.approx(78 / call_us, rel=0.01)


def test_what_is_explained_twice_is_below_zero_and_not_clipped() -> None:
    found = apart(50)
    assert found.explained is not None
    assert found.explained > 1
    assert figures(found)[UNEXPLAINED] < -20
    assert figures(apart(50, stage=-3))["conv1"] == pytest.approx(-3)


def test_a_hand_over_that_is_measured_beside_the_ways_is_not_in_entering() -> None:
    beside = [Experiment("hand-over", str(us), us, 9, 2, "so") for us in (30, 26)]
    rows = blocks("made", 100, experiments=(*experiments(), *beside))
    found = figures(taken_apart(result(rows))[0])
    assert (found["hand-over"], found["entering"]) == pytest.approx((4, 6))
    assert found[UNEXPLAINED] == pytest.approx(22, rel=0.01)


def test_stages_that_one_kernel_computes_are_one_part() -> None:
    made = [
        Experiment("way", "entering", 11, 9, 1, "so"),
        *(Experiment("operations", str(n), 10 + n, 9, n) for n in COUNTS),
        Experiment("stage", "conv1 to pool2", 10 + 1 + 20, 9, 1),
        Experiment("stage", "fc1", 10 + 2 + 25, 9, 2),
    ]
    (found,) = taken_apart(result(blocks("made", 40, experiments=tuple(made))))
    expected = {"entering": 10, DISPATCH: 2, "conv1 to pool2": 20, "fc1": 5, UNEXPLAINED: 3}
    assert figures(found) == pytest.approx(expected, rel=0.01)
    assert grouped(found.parts)["convolutions"] == pytest.approx(20)
    assert found.parts[2].evidence.startswith("LeNet cut after pool2, less nothing")


def test_what_a_gpus_clock_tells_is_a_part_and_nothing_is_dispatched() -> None:
    made = (
        Experiment("way", "entering", 3, 9, 0, "a floor"),
        Experiment("told", "conv1 to softmax", 2, 9, 0, "a clock"),
    )
    (found,) = taken_apart(result(blocks("made", 6, experiments=made)))
    parts = {"entering": 3, "conv1 to softmax": 2, UNEXPLAINED: 1}
    assert figures(found) == pytest.approx(parts, rel=0.01)
    assert found.operation_us is None
    assert "a clock" in "\n".join(rows(found, WIDE))


def test_a_kernel_that_the_last_way_has_is_dispatched_once_and_counted_once() -> None:
    """On a GPU: ten microseconds to enter, one a kernel, five for each of two stages of one."""
    made = [
        Experiment("way", "entering", 10 + 1, 9, 1, "so"),
        *(Experiment("operations", str(n), 10 + n, 9, n) for n in COUNTS),
        Experiment("stage", "fc2", 10 + 1 + 5, 9, 1),
        Experiment("stage", "softmax", 10 + 1 + 5, 9, 1),
    ]
    (found,) = taken_apart(result(blocks("made", 22, experiments=tuple(made))))
    expected = {"entering": 10, DISPATCH: 2, "fc2": 5, "softmax": 5, UNEXPLAINED: 0}
    assert figures(found) == pytest.approx(expected, rel=0.01, abs=0.05)
    assert found.operations == 2


def test_a_way_that_finds_its_caches_cold_after_the_network_takes_longer() -> None:
    cut, last, first = 10 + 6 * 2 + 6 * 7, 14, 14 + 5
    both = [Experiment("together", "", cut + us, 9) for us in (first + 3 + 8, last + 3)]
    rows = blocks("made", 100, FEWEST_STARTS, experiments=(*experiments(), *both))
    assert figures(taken_apart(result(rows))[0])["caches"] == pytest.approx(8)
    # to enter once more, after the first way, takes 2 longer, and a call enters once
    again = Experiment("together", "", 14 + 2, 9)
    rows = blocks("made", 100, FEWEST_STARTS, experiments=(*experiments(), *both, again))
    assert figures(taken_apart(result(rows))[0])["caches"] == pytest.approx(6)


def test_stages_are_compared_with_nothing_called_as_they_are() -> None:
    """Where the cut networks give more than ten floats, and so does what they are compared with."""
    more = [replace(one, us=one.us + 3) for one in experiments() if one.kind != "way"]
    nothing = Experiment("stage", "nothing", 14 + 3, 9, 2)
    ways = [one for one in experiments() if one.kind == "way"]
    rows = blocks("made", 100, FEWEST_STARTS, experiments=(*ways, nothing, *more))
    assert figures(taken_apart(result(rows))[0]) == pytest.approx(figures(apart(100)))


def test_giving_more_than_ten_floats_after_a_network_is_in_no_stage() -> None:
    """It takes longer there than after nothing, as the last cut tells that is also called alone."""
    more = [replace(one, us=one.us + 5) for one in experiments() if one.kind == "stage"]
    more[-1] = replace(more[-1], us=more[-1].us - 2)  # the softmax: after nothing
    alone = Experiment("stage", "fc2 alone", more[-2].us - 5, 9, 2)
    nothing = Experiment("stage", "nothing", 14 + 3, 9, 2)
    others = [one for one in experiments() if one.kind != "stage"]
    rows = blocks("made", 100, FEWEST_STARTS, experiments=(*others, nothing, alone, *more))
    assert figures(taken_apart(result(rows))[0]) == pytest.approx(figures(apart(100)))


def test_an_operation_has_a_figure_of_its_own() -> None:
    found = apart(100)
    assert found.operation_us is not None
    assert found.operation_us.us == pytest.approx(2)
    assert found.operations == 7


def test_every_part_says_what_was_measured_for_it() -> None:
    assert all(part.evidence for part in apart(100).parts)


def test_intervals_are_over_starts_and_few_starts_have_none() -> None:
    few, enough = apart(100, FEWEST_STARTS - 1), apart(100)
    assert {part.low_us for part in few.parts} == {few.explained_low} == {None}
    for part in enough.parts:
        assert part.low_us is not None
        assert part.high_us is not None
        assert part.low_us <= part.us + 1e-6
        assert part.us <= part.high_us + 1e-6


def test_an_interval_grows_with_the_starts_that_it_is_over() -> None:
    random = np.random.default_rng(3)
    rows = blocks("made", 100, 12)
    tries = [experiments(stage=7 + random.normal()) for _ in rows]
    made = [replace(row, experiments=tried) for row, tried in zip(rows, tries, strict=True)]
    (found,) = taken_apart(result(tuple(made)))
    widths = {p.name: p.high_us - p.low_us for p in found.parts if p.high_us and p.low_us}
    assert widths["conv2"] > 10 * widths["Python"]


# Planted causes


@pytest.fixture(scope="module")
def planted(weights_file: Path) -> dict[str, dict[str, float]]:
    """The parts of the toy, and of each toy with a delay in it."""
    kinds = (toys.Toy, toys.SlowPython, toys.SlowHandOver, toys.SlowNode, toys.SlowStage)
    entries = tuple(map(toys.entry, kinds))
    # The median of three: one that a busy machine disturbs does not count.
    found = why(CompareOptions(entries, rounds=3, weights=weights_file))
    return {one.name: figures(one) for one in found}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("toy", "part", "times"),
    [
        ("SlowPython", "Python", 1),
        ("SlowHandOver", "hand-over", 1),
        ("SlowNode", DISPATCH, len(STAGES)),
        ("SlowStage", "conv2", 1),
    ],
)
def test_a_planted_delay_is_found_in_its_part_and_nowhere_else(
    planted: dict[str, dict[str, float]], toy: str, part: str, times: int
) -> None:
    added = {name: us - planted["Toy"][name] for name, us in planted[toy].items()}
    own, delay = added.pop(part), times * toys.PLANTED_US
    assert own == pytest.approx(delay, rel=0.5)
    assert max(map(abs, added.values())) < own / 2


# The networks of each API, in this environment


def layer(name: str) -> Any:
    """The reference's, of the image that experiments are made with."""
    return reference.build(read_weights())(IMAGES)[name][0]


def made(name: str) -> dict[tuple[str, str], Any]:
    return {(p.kind, p.name): p for p in probes_of(*find(name), read_weights(), 1)}


@pytest.mark.parametrize("name", ["numpy", "onnxruntime"])
def test_a_cut_network_computes_what_lenet_does_until_there(name: str) -> None:
    channels_last = name == "numpy"
    for cut in CUTS:
        answer = np.ravel(made(name)["stage", cut].infer(IMAGES[0]))[:10]
        expected = layer(cut)
        moved = np.moveaxis(expected, 0, -1) if channels_last and expected.ndim == 3 else expected
        assert answer == pytest.approx(moved.ravel()[:10], abs=1e-4), cut


@pytest.mark.parametrize("name", ["numpy", "onnxruntime"])
@pytest.mark.parametrize("count", COUNTS)
def test_trivial_operations_are_all_done(name: str, count: int) -> None:
    expected = IMAGES.ravel()[:10]
    for _ in range(count):
        expected = np.tanh(expected)
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


@pytest.mark.parametrize("name", ["numpy", "onednn", "openblas", "onnxruntime:iobinding"])
def test_a_backend_is_taken_apart_in_its_own_process(name: str) -> None:
    (found,) = why(CompareOptions((name,), rounds=2))
    assert found.reason is None
    assert [part.name for part in found.parts if part.name != "softmax"][-8:] == [
        *(DISPATCH, *STAGES[:-1], UNEXPLAINED)
    ]
    assert sum(figures(found).values()) == pytest.approx(found.median_us)
    largest = max(found.parts, key=lambda part: part.us)
    assert largest.name in ("conv1", "conv2", "fc1")
    assert found.explained is not None


def test_a_backend_without_experiments_says_so_and_keeps_its_counts() -> None:
    (found,) = why(CompareOptions(("reference",), rounds=1))
    assert (found.status, found.parts, found.explained) == ("ok", (), None)
    assert "no experiments" in (found.reason or "")
    assert found.median_us
    assert found.anatomy
    assert sum(found.anatomy.python_calls.values()) > 10


@pytest.mark.parametrize(
    ("toy", "reason"), [(toys.BrokenProbes, "no such network"), (toys.CrashingProbes, "SIGABRT")]
)
def test_experiments_that_fail_leave_the_call_whole(
    weights_file: Path, toy: type, reason: str
) -> None:
    (found,) = why(CompareOptions((toys.entry(toy),), rounds=1, weights=weights_file))
    assert (found.status, found.parts) == ("ok", ())
    assert reason in (found.reason or "")
    assert found.median_us


# What is shown


def test_the_parts_are_shown_with_a_bar_where_the_last_one_ended() -> None:
    lines = list(rows(apart(100), WIDE))
    assert [line.split()[0] for line in lines[3:]] == list(figures(apart(100)))
    ends = [len(line[: line.index("█")]) for line in lines if "█" in line]
    assert ends == sorted(ends)


def test_the_answer_names_the_largest_parts_and_what_the_slowest_adds() -> None:
    slow = replace_name(apart(300, python=205), "slow")
    first, second, both = answer([slow, apart(100)])
    assert first.startswith("made takes 100 µs: unexplained 22.0 µs (22 %), dispatch 14.0 ")
    assert "78 % of it explained (78 % to 78 %)" in first
    assert "Python 205 µs (68 %)" in second
    assert "slow takes 200 µs longer than made: Python 200 µs, " in both
    assert len(list(answer([slow]))) == 1


def replace_name(found: TakenApart, name: str) -> TakenApart:
    return TakenApart(**{**vars(found), "name": name})


def test_what_is_not_taken_apart_is_told_below_the_table() -> None:
    text = " ".join(table([apart(50), TakenApart("tvm", "ok", "nobody", 5.0)], WIDE))
    assert "tvm is not taken apart: nobody" in text
    assert "made is not" not in text


def test_a_narrow_terminal_keeps_the_name_the_time_and_the_share() -> None:
    for lines in (table([apart(100)], Screen(40, False)), rows(apart(100), Screen(40, False))):
        assert all(len(line) <= 40 for line in lines)
    row = list(table([apart(100)], Screen(40, False)))[1]
    assert row.split()[:5] == ["made", "100", "µs", "78", "%"]


def test_a_function_that_only_hands_on_is_missing() -> None:
    inner = Function("a.c:g", 0.9, (Function("a.d:h", 0.9),))
    tree = (Function("a:main", 1.0, (Function("a.b:f", 0.9, (inner,)),)),)
    known = TakenApart("x", "ok", anatomy=Anatomy({"a": 4}, 0, 4, ("a",), tree=tree))
    assert [line.split()[-1] for line in list(closely(known, WIDE))[-2:]] == ["a:main", "a…d:h"]


def test_what_was_asked_for_and_cannot_run_is_told_with_its_reason() -> None:
    made = result(failed("cuda", "unavailable", "no GPU"), failed("cupy", "unavailable", "none"))
    lines = list(table(taken_apart(made), WIDE, named=["cupy"]))
    assert "cupy: unavailable: none" in lines
    assert "cuda;" in lines[-1]


def test_json_has_the_parts_with_their_bounds_and_evidence() -> None:
    (backend,) = json.loads(json.dumps(digest([apart(100)])))["backends"]
    assert {"name", "median_us", "parts", "explained"} <= set(backend)
    for part in backend["parts"]:
        assert set(part) == {"name", "us", "low_us", "high_us", "evidence", "engine_us"}


# The command


def test_the_command_goes_on_with_its_file(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "why.jsonl"
    first = run("why", "numpy", "--rounds", "1", "-o", path, "--json")
    again = run("why", "-o", path, "--rounds", "2", "--tree")
    assert (first.code, again.code) == (0, 0), first.errors + again.errors
    assert json.loads(first.output)["backends"][0]["parts"]
    assert "lenet_bench…numpy:" in again.output
    assert len(read_result(path).row("numpy").blocks) == 2


def test_a_comparison_is_not_gone_on_with(tmp_path: Path) -> None:
    path = tmp_path / "compare.jsonl"
    compare(CompareOptions(("numpy",), rounds=1, output=path))
    with pytest.raises(ResultError, match="taken apart"):
        why(CompareOptions(("numpy",), rounds=2, output=path))


def test_a_file_that_cannot_be_written_is_told_before_anything_is_measured(
    run: Run, tmp_path: Path
) -> None:
    done = run("why", "numpy", "-o", tmp_path)
    assert (done.code, done.output) == (1, "")
    assert str(tmp_path) in done.errors

"""What engines say themselves of their stages, and oneDNN of its kernels."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest
import toy_backends as toys
from lenet_bench import CompareOptions
from lenet_bench.errors import Unavailable
from lenet_bench.measure.options import Entry
from lenet_bench.measure.start import _heard, alone
from lenet_bench.probes.engines import medians
from lenet_bench.probes.onednn_verbose import HOLD_IT, version_in
from lenet_bench.questions.why import digest, why
from lenet_bench.results import Kernel, taken_apart
from lenet_bench.results.apart import STAGES
from lenet_bench.show.terminal.screen import Screen
from lenet_bench.show.why import parts
from sample_results import blocks, experiments, result, write_log
from sample_results import log as made_log

sys.path.insert(0, str(Path(__file__).parents[1] / "bench"))
from kernels import kernels

SAYING = {
    "onnxruntime": "ONNX Runtime",
    "onnxruntime:iobinding": "ONNX Runtime",
    "onednn": "oneDNN",
    "openvino": "OpenVINO",
    "torch": "PyTorch",
    "tensorflow:concrete": "TensorFlow",
    "keras:predict_on_batch": "TensorFlow",
}
CHEAP = ("onnxruntime", "onnxruntime:iobinding", "onednn", "openvino")
LOOSE = 20  # times a call, which its stages may take on a busy machine; a wrong unit is more


def heard(name: str) -> tuple[list[Kernel], float]:
    """All that is said of a backend, and the median of its calls in the same process, us."""
    try:
        with alone(Entry.of_backend(name, 1), 1, None) as start:
            samples_ns = start.time(0.02, 0.1)["samples_ns"]
            found = _heard(start)
    except Unavailable as error:
        pytest.skip(str(error))
    assert found["unheard"] is None
    return list(found["kernels"]), float(np.median(samples_ns)) / 1000


@pytest.mark.parametrize(
    "name",
    [name if name in CHEAP else pytest.param(name, marks=pytest.mark.slow) for name in SAYING],
)
def test_an_engine_times_the_seven_stages_and_no_more_than_the_call(name: str) -> None:
    found, call_us = heard(name)
    own = [kernel for kernel in found if kernel.by.startswith(SAYING[name])]
    assert list(dict.fromkeys(kernel.stage for kernel in own)) == list(STAGES)
    assert all(kernel.us >= 0 for kernel in own)
    assert 0 < sum(kernel.us for kernel in own) < LOOSE * call_us
    inside = [kernel for kernel in found if kernel.by.startswith("oneDNN")]
    assert bool(inside) == (name.partition(":")[0] in HOLD_IT)
    for kernel in inside:
        assert re.fullmatch(r"oneDNN \d+\.\d+\.\d+", kernel.by)
        assert kernel.stage in STAGES
        assert kernel.shapes
        if kernel.name == "gemm_api":
            assert kernel.by_hand_us is None or kernel.by_hand_us > 0


def test_what_has_no_profiler_or_is_from_elsewhere_says_nothing(weights_file: Path) -> None:
    (found,) = why(CompareOptions((toys.entry(toys.Toy),), rounds=1, weights=weights_file))
    assert (found.engine, found.kernels, found.unheard) == (None, (), None)
    for name in ("numpy", "litert"):
        assert heard(name)[0] == []


def test_the_usual_call_counts_and_versions_are_read_from_what_is_printed() -> None:
    calls = [[("a", 1.0), ("a", 2.0)], [("a", 3.0), ("a", 4.0)], [("a", 9.0)]]
    assert medians(calls) == {"a": {"us": 5.0, "times": 2}}
    assert version_in("onednn_verbose,v1,info,oneDNN v3.7.3 (commit N/A)") == "oneDNN 3.7.3"
    assert version_in("oneDNN 3.2.0") == "oneDNN 3.2.0"


def said(by: str, us: float, stages: tuple[str, ...] = STAGES) -> tuple[Kernel, ...]:
    return tuple(Kernel(by, stage, f"n{stage}", us, shapes="1x1") for stage in stages)


OF_TWO = said("Engine", 8) + said("oneDNN 3.7.3", 5, ("conv1", "conv2"))


def test_the_engine_stands_beside_each_stage_in_no_sum_and_judges_no_call_of_some_stages() -> None:
    rows = blocks("made", 100, experiments=experiments(), kernels=OF_TWO)
    (found,) = taken_apart(result(rows))
    assert found.engine == "Engine"
    assert {part.name for part in found.parts if part.engine_us == 8} == set(STAGES)
    assert sum(part.us for part in found.parts) == pytest.approx(found.median_us)
    assert {kernel.by for kernel in found.kernels} == {"Engine", "oneDNN 3.7.3"}
    (backend,) = digest([found])["backends"]
    assert [k["us"] for k in backend["kernels"]] == [8.0] * 7 + [5.0] * 2
    shown = "\n".join(parts(found, Screen(columns=200, colour=False)))
    assert "the engine says" in shown
    assert "own profiler" in shown

    rows = blocks("made", 100, experiments=experiments(), kernels=OF_TWO[-2:], unheard="so")
    (found,) = taken_apart(result(rows))
    assert found.engine is None
    assert {part.engine_us for part in found.parts} == {None}
    shown = "\n".join(parts(found, Screen(columns=200, colour=False)))
    assert "the engine says" not in shown
    assert "so" in shown.splitlines()


def test_the_table_has_a_kernel_beside_its_node_and_by_hand(tmp_path: Path) -> None:
    bare = said("oneDNN 3.2.0", 3)
    rows = [
        blocks("onednn", 50, experiments=experiments(), kernels=bare),
        blocks("torch", 100, experiments=experiments(), kernels=OF_TWO),
    ]
    write_log(tmp_path / "run.jsonl", made_log(*rows))
    lines = list(kernels(tmp_path / "run.jsonl"))
    of_torch = lines[lines.index("### torch: oneDNN 3.7.3") :]
    (row,) = [line for line in of_torch if line.startswith("| conv1")]
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells == ["conv1", "8.00 µs", "3.00 µs", "5.00 µs", "nconv1 1x1", "3.00 µs"]

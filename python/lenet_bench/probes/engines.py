"""Times of nodes by the engines' own profilers, to check the stages that `why` measures.

Each builds the backend anew, with the engine's profiler on. A call is left out if LeNet's seven
steps are not separate in it, since a compiler fused some. TensorFlow's profiler names the kernels
of graphs, but not those that Python calls one by one. LiteRT's wheel has no profiler in Python.
"""

import json
import re
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import median
from types import ModuleType, SimpleNamespace
from typing import Any

from ..registry.adapter import Adapter
from ..registry.backend import Backend
from ..weights import Weights
from . import CUTS, SOFTMAX, Case, Image, Infer

#: A node that ran: its name, its operation, what computed it, and for how many microseconds.
Node = tuple[str, str, str, float]
Build = Callable[..., Adapter]  # the backend, with others in place of what its file names
Profiler = Callable[[Build, Sequence[Image]], Iterator[Node]]

_MOST, _FEWEST, _SECONDS = 100, 20, 1.0  # calls, and when few are enough
_BUILDS = 5
_STEPS = (*CUTS, SOFTMAX)
_STEP = re.compile("conv|pool|linear|gemm|matmul|fullyconnected|softmax", re.I)
_GOES_WITH_THE_LAST = re.compile("relu|bias|reorderoutput", re.I)
_GOES_WITH_THE_NEXT = re.compile("reorder|reshape|flatten", re.I)
_TENSORFLOWS_NODE = re.compile(r"([^:]+):(\w+)$")

_kept: list[Adapter] = []  # OpenVINO does not live through the end of one


def engine_kernels(
    row: Backend, variant: str, weights: Weights, threads: int, images: Sequence[Image]
) -> list[dict[str, Any]]:
    """Its nodes by stage, as plain data; empty where it has no profiler."""
    engine, profiler, variants = _PROFILERS.get(row.name, ("", None, ()))
    if row.device == "gpu" or profiler is None or variant not in variants:
        return []
    nodes = profiler(Case(row, variant, weights, threads).varied, images)
    return [
        {"by": engine, "stage": stage, "name": name, "implementation": what, **took}
        for (stage, name, what), took in medians(map(_staged, _calls(nodes))).items()
    ]


def calls_of(infer: Infer, images: Sequence[Image]) -> Iterator[None]:
    """Call it a few hundred times, and yield after each."""
    end = time.perf_counter() + _SECONDS
    for number in range(_MOST):
        if number >= _FEWEST and time.perf_counter() > end:
            return
        infer(images[number % len(images)])
        yield


def medians(calls: Iterable[Iterable[tuple[Any, float]]]) -> dict[Any, dict[str, Any]]:
    """For each node, the median over the calls of its summed time, and how often a call has it."""
    sums: dict[Any, list[float]] = {}
    for call in calls:
        found: defaultdict[Any, list[float]] = defaultdict(list)
        for key, us in call:
            found[key].append(us)
        for key, every in found.items():
            sums.setdefault((key, len(every)), []).append(sum(every))
    usual = {key: max(len(us) for (k, _), us in sums.items() if k == key) for key, _ in sums}
    return {
        key: {"us": median(us), "times": times}
        for (key, times), us in sums.items()
        if len(us) == usual[key]
    }


def _calls(nodes: Iterable[Node]) -> Iterator[list[Node]]:
    """A call ends with its softmax."""
    call: list[Node] = []
    for node in nodes:
        call.append(node)
        if SOFTMAX in node[1].lower():
            yield call
            call = []


def _staged(call: Sequence[Node]) -> Iterator[tuple[tuple[str, str, str], float]]:
    """Each node of a call with its stage; nodes without a stage are left out."""
    if sum(_is_step(node) for node in call) != len(_STEPS):
        return
    reached = 0
    for node in call:
        name, operation, what, us = node
        if _is_step(node):
            yield (_STEPS[reached], name, what), us
            reached += 1
        elif _GOES_WITH_THE_LAST.search(operation) and reached:
            yield (_STEPS[reached - 1], name, what), us
        elif _GOES_WITH_THE_NEXT.search(operation) and reached < len(_STEPS):
            yield (_STEPS[reached], name, what), us


def _is_step(node: Node) -> bool:
    return bool(_STEP.search(node[1]))


def _with(module: ModuleType, **others: Any) -> SimpleNamespace:
    """A copy of the module with other objects in place of some of its names."""
    return SimpleNamespace(**{**vars(module), **others})


def _onnxruntime(build: Build, images: Sequence[Image]) -> Iterator[Node]:
    import onnxruntime as ort

    with tempfile.TemporaryDirectory() as folder:

        class Profiling(ort.SessionOptions):
            def __init__(self) -> None:
                super().__init__()
                self.enable_profiling = True
                self.profile_file_prefix = f"{folder}/"

        adapter = build(ort=_with(ort, SessionOptions=Profiling))
        for _ in calls_of(adapter.infer, images):
            pass
        events = json.loads(Path(adapter.inside()["session"].end_profiling()).read_text())
    for event in events:
        if event["cat"] == "Node":
            name = event["name"].removesuffix("_kernel_time").strip()
            yield name, event["args"]["op_name"], event["args"]["op_name"], event["dur"]


def _openvino(build: Build, images: Sequence[Image]) -> Iterator[Node]:
    """It gives the mean over all calls of a build, so there are several builds."""
    import openvino as ov

    def core() -> Any:
        made = ov.Core()
        made.set_property("CPU", {"PERF_COUNT": True})
        return made

    for _ in range(_BUILDS):
        adapter = build(ov=_with(ov, Core=core))
        _kept.append(adapter)
        for _ in calls_of(adapter.infer, images):
            pass
        for node in adapter.inside()["request"].profiling_info:
            if node.status == node.Status.EXECUTED:
                us = node.real_time.total_seconds() * 1e6
                yield node.node_name, node.node_type, node.exec_type, us


def _torch(build: Build, images: Sequence[Image]) -> Iterator[Node]:
    """The operators that are not called by another one."""
    from torch.profiler import ProfilerActivity, profile

    infer = build().infer
    infer(images[0])
    with profile(activities=[ProfilerActivity.CPU]) as profiled:
        for _ in calls_of(infer, images):
            pass
    for event in profiled.events():
        above = event.cpu_parent.name if event.cpu_parent else ""
        if event.name.startswith("aten::") and not above.startswith("aten::"):
            yield event.name, event.name, event.name, event.time_range.elapsed_us()


def _tensorflow(build: Build, images: Sequence[Image]) -> Iterator[Node]:
    """The kernels, by the profiler that TensorBoard shows; Keras' too."""
    import tensorflow as tf
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    infer = build().infer
    infer(images[0])
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        for _ in calls_of(infer, images):
            pass
        tf.profiler.experimental.stop()
        spaces = [
            xplane_pb2.XSpace.FromString(path.read_bytes())
            for path in Path(folder).rglob("*.xplane.pb")
        ]
    for plane in (plane for space in spaces for plane in space.planes):
        events = (
            (line.timestamp_ns * 1000, event) for line in plane.lines for event in line.events
        )
        for _, event in sorted(events, key=lambda one: one[0] + one[1].offset_ps):
            name = plane.event_metadata[event.metadata_id].name
            if found := _TENSORFLOWS_NODE.match(name):
                yield found[1].rpartition("/")[2], found[2], found[2], event.duration_ps / 1e6


#: By backend: the engine, the function that runs its profiler, and the variants.
_PROFILERS: Mapping[str, tuple[str, Profiler, tuple[str, ...]]] = {
    "onnxruntime": ("ONNX Runtime", _onnxruntime, ("run", "iobinding")),
    "openvino": ("OpenVINO", _openvino, ("infer", "tensors")),
    "torch": ("PyTorch", _torch, ("eager", "torchscript")),
    "tensorflow": ("TensorFlow", _tensorflow, ("function", "concrete", "session")),
    "keras": ("TensorFlow", _tensorflow, ("predict", "predict_on_batch")),
}

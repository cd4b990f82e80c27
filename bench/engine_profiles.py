"""What an engine's own profiler says of LeNet's stages, beside the stages that `why` measures.

python bench/engine_profiles.py [BACKEND...]     of onednn, onnxruntime, tensorflow and keras

A profiler runs in a process of its own, and its times include its own cost. A call is left out
where LeNet's seven steps are not separate in it, since a compiler fused some.
"""

import ctypes
import json
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median

import psutil
from lenet_bench import CompareOptions, load, read_image
from lenet_bench.network import STAGES
from lenet_bench.questions.why import why
from lenet_bench.show.markdown import table
from lenet_bench.units import time

CALLS, STARTS = 200, 6
IMAGE = Path(__file__).parents[1] / "images" / "digit-3.png"

Node = tuple[str, float]  # what ran, in the engine's word, and its microseconds

STEP = re.compile("conv|pool|linear|gemm|matmul|inner_product|softmax", re.I)
GOES_WITH_THE_LAST = re.compile("relu|bias|reorderoutput", re.I)
GOES_WITH_THE_NEXT = re.compile("reorder|reshape|flatten", re.I)
ONEDNNS_LINE = re.compile(r"^onednn_verbose,.*?exec,cpu,(\w+),.*,([\d.]+)$", re.M)
TENSORFLOWS_NODE = re.compile(r"[^:]+:(\w+)$")


def prepared(name: str) -> Callable[[], None]:
    """The backend, called once; a call of this calls it some hundred times."""
    network, image = load(name), read_image(IMAGE)
    network.infer(image)

    def calls() -> None:
        for _ in range(CALLS):
            network.infer(image)

    return calls


def by_onednn(name: str) -> None:
    """A line for each primitive, from the library that the backend loaded."""
    calls = prepared(name)
    library = next(one.path for one in psutil.Process().memory_maps() if "libdnnl." in one.path)
    ctypes.CDLL(library).dnnl_set_verbose(1)
    calls()


def by_onnxruntime(name: str) -> Iterator[Node]:
    """ONNX Runtime writes a file for each session of this process."""
    import onnxruntime as ort

    plain, folder = ort.SessionOptions, tempfile.mkdtemp()

    def profiling() -> ort.SessionOptions:
        options = plain()
        options.enable_profiling = True
        options.profile_file_prefix = f"{folder}/"
        return options

    ort.SessionOptions = profiling
    prepared(name)()  # the session writes its file when it ends, and that is here
    for path in Path(folder).iterdir():
        for event in json.loads(path.read_text()):
            if event["cat"] == "Node":
                yield event["args"]["op_name"], event["dur"]


def by_tensorflow(name: str) -> Iterator[Node]:
    """The profiler that TensorBoard shows. It names the kernels of a graph only."""
    calls, folder = prepared(name), tempfile.mkdtemp()
    import tensorflow as tf  # after `load`, which computes in another process if it is imported
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    tf.profiler.experimental.start(folder)
    calls()
    tf.profiler.experimental.stop()
    for path in Path(folder).rglob("*.xplane.pb"):
        for plane in xplane_pb2.XSpace.FromString(path.read_bytes()).planes:
            events = (
                (line.timestamp_ns * 1000 + event.offset_ps, event)
                for line in plane.lines
                for event in line.events
            )
            for _, event in sorted(events, key=lambda one: one[0]):
                if found := TENSORFLOWS_NODE.match(plane.event_metadata[event.metadata_id].name):
                    yield found[1], event.duration_ps / 1e6


PROFILERS = {"onnxruntime": by_onnxruntime, "tensorflow": by_tensorflow, "keras": by_tensorflow}


def nodes(name: str) -> list[Node]:
    """The nodes of all calls, in their order, from a process of its own."""
    command = (sys.executable, __file__, "--profile", name)
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    printed = [(primitive, float(ms) * 1000) for primitive, ms in ONEDNNS_LINE.findall(output)]
    return printed or [(operation, us) for operation, us in json.loads(output.splitlines()[-1])]


def by_stage(call: Sequence[Node]) -> dict[str, float]:
    """The time of each stage of a call; nodes that belong to no stage are left out."""
    found, reached = dict.fromkeys(STAGES, 0.0), 0
    for operation, us in call:
        if STEP.search(operation):
            found[STAGES[reached]] += us
            reached += 1
        elif GOES_WITH_THE_LAST.search(operation) and reached:
            found[STAGES[reached - 1]] += us
        elif GOES_WITH_THE_NEXT.search(operation) and reached < len(STAGES):
            found[STAGES[reached]] += us
    return found


def medians(every: Sequence[Node]) -> dict[str, float]:
    """The median time of each stage over the calls that have all seven."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    call: list[Node] = []
    for node in every:
        call.append(node)
        if STAGES[-1] in node[0].lower():  # which ends a call
            if sum(bool(STEP.search(operation)) for operation, _ in call) == len(STAGES):
                for stage, us in by_stage(call).items():
                    found[stage].append(us)
            call = []
    return {stage: median(us) for stage, us in found.items()}


def main(*names: str) -> None:
    names = names or ("onednn", "onnxruntime", "tensorflow:concrete")
    for one in why(CompareOptions(names, rounds=STARTS)):
        measured, said = {part.name: part.us for part in one.parts}, medians(nodes(one.name))
        rows = [(stage, time(measured.get(stage)), time(said.get(stage))) for stage in STAGES]
        print("", one.name, "", *table(("stage", "why", "profiler"), rows, ("stage",)), sep="\n")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--profile"]:
        profiler = PROFILERS.get(sys.argv[2].partition(":")[0], by_onednn)
        print("\n" + json.dumps(list(profiler(sys.argv[2]) or ())))
    else:
        main(*sys.argv[1:])

"""One call of Keras' predict and one of oneDNN as spans in time, for the classroom's page.

python bench/opened.py [FILE]    record both on this machine, into FILE or the package

VizTracer records Python, TensorFlow's profiler its C++, oneDNN's verbose mode the kernels; all on
one clock. It needs `pip install viztracer`, Keras, TensorFlow, and a quiet machine.
"""

import argparse
import ctypes
import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timezone
from importlib.metadata import version
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory, TemporaryFile
from time import perf_counter_ns, time_ns
from typing import Any

import numpy as np
from lenet_bench import load, read_image
from lenet_bench.experiment_names import HANDING_OVER, MATHEMATICS, PREPARING
from lenet_bench.measure.environment import read_machine
from lenet_bench.registry import find
from lenet_bench.registry.environments import variables
from lenet_bench.show.classroom.names import called
from lenet_bench.show.classroom.opened import RECORDED
from lenet_bench.show.classroom.opened import opened as recorded
from lenet_bench.show.figures.records import Record, brief
from lenet_bench.show.figures.vega import LEGEND, Spec, always, colour, layer, where, whole
from lenet_bench.show.sentences import processor
from lenet_bench.units import time

IMAGE = Path(__file__).parent.parent / "images/desk-7.jpg"
CALLS = ("keras", "onednn")
WARM, TURNS = 30, 41
MOST, SHORTEST_US = 1000, 2.0  # spans of a call that are kept
SAME = 0.9  # a span whose one child takes so much of it says nothing of its own
TICK_MS = 1 / 4096  # in which oneDNN counts
ROWS, ROOM = 8, 0.012  # of the picture, and of a letter in it
STAGES = ("conv1", "pool1", "conv2", "pool2", "fc1", "fc2", "softmax")
#: What surrounds the model's run in Keras' call, and is no preparation.
STEP = "one_step_on_data_distributed"
PYTHON, COMPUTING, DATA = "Python's thread", "TensorFlow's computing thread", "tf.data's threads"
VERBOSE = {"ONEDNN_VERBOSE": "profile_exec", "ONEDNN_VERBOSE_TIMESTAMP": "1"}

#: Milliseconds since 1970, what kind of operation, by which implementation, and its milliseconds.
EXECUTED = re.compile(
    r"onednn_verbose,(?:v1,)?([\d.]+),(?:primitive,)?exec,cpu,(\w+),([^,]+),.*,([\d.e-]+)$"
)


@dataclass(frozen=True)
class Span:
    """Times in nanoseconds since 1970 while it is recorded, in microseconds of the call at last."""

    at: float
    us: float
    name: str
    track: str
    layer: str  # of software
    file: str = ""
    line: int = 0
    stage: str = ""
    kind: str = ""
    depth: int = 0

    @property
    def until(self) -> float:
        return self.at + self.us

    def has(self, other: "Span") -> bool:
        return self is not other and self.at <= other.at and other.until <= self.until


@dataclass
class Call:
    """A recorded call; `spans` are of its time when nobody records."""

    name: str
    human: str
    us: float  # the median of calls that nobody records
    recorded_us: float
    events: int
    each_us: float  # what recording an event costs between the spans
    shortened: float  # the share by which the spans themselves took longer
    tracks: list[str] = field(default_factory=list)
    spans: list[dict[str, Any]] = field(default_factory=list)


def recorded_in_turns(name: str) -> dict[str, Any]:
    """The call of the median length among those that are recorded, each after one that is not."""
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    infer, image = load(name).infer, read_image(IMAGE)
    # lenet-bench's own library prints only when it is told to; TensorFlow's prints in all calls
    verbose: Any = its_library().dnnl_set_verbose if name == "onednn" else lambda _: None
    for _ in range(WARM):
        infer(image)
    alone: list[int] = []
    calls: list[dict[str, Any]] = []
    for _ in range(TURNS):
        infer(image)  # the recorder has left the caches to others
        began = perf_counter_ns()
        infer(image)
        alone.append(perf_counter_ns() - began)
        verbose(1)
        calls.append(recorded_once(infer, image, name))
        verbose(0)
    calls.sort(key=lambda one: float(one["us"]))
    return calls[TURNS // 2] | {"timed_us": median(alone) / 1000}


def its_library() -> ctypes.CDLL:
    mapped = Path("/proc/self/maps").read_text().splitlines()
    return ctypes.CDLL(next(line.split()[-1] for line in mapped if "libdnnl" in line))


def recorded_once(infer: Any, image: Any, name: str) -> dict[str, Any]:
    from viztracer import VizTracer

    tracer = VizTracer(tracer_entries=1_000_000, verbose=0)
    marks: list[int] = []
    with TensorFlowsProfiler(name == "keras") as profiler, TemporaryFile() as file:
        kept = os.dup(1)
        os.dup2(file.fileno(), 1)
        tracer.start()
        for _ in range(5):
            mark(marks)
        began = time_ns()
        infer(image)
        ended = time_ns()
        tracer.stop()
        ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        os.close(kept)
        file.seek(0)
        kernels = list(of_onednn(file.read().decode()))
    tracer.parse()
    spans = [*of_python(tracer.data["traceEvents"], marks), *profiler.spans()]
    inside = [one for one in spans if began <= one.at + one.us / 2 <= ended]
    kernels = [one for one in kernels if began <= one.at <= ended]
    events = [asdict(one) for one in (*inside, *kernels)]
    return {"began": began, "us": (ended - began) / 1000, "events": events}


def mark(marks: list[int]) -> None:
    marks.append(time_ns())


def of_python(events: Sequence[dict[str, Any]], marks: list[int]) -> Iterator[Span]:
    """VizTracer's, on the clock of the marks."""
    found = [one for one in events if one["ph"] == "X"]
    own = [one for one in found if one["name"].startswith("mark (")]
    shift = min(
        (one["dur"], at - 1000 * (one["ts"] + one["dur"] / 2))
        for one, at in zip(own, marks, strict=True)
    )[1]
    for one in found:
        name, _, place = one["name"].rstrip(")").partition(" (")
        file, _, line = place.rpartition(":")
        own_file = re.sub(r".*/(site-packages|lib/python[\d.]+)/", "", file)
        yield Span(
            1000 * one["ts"] + shift,
            1000 * one["dur"],
            name,
            PYTHON,
            layer_of(own_file or name),
            own_file,
            int(line or 0),
        )


def layer_of(file: str) -> str:
    package = re.split(r"[/.]", file)[0]
    known = {"keras": "Keras", "tensorflow": "TensorFlow's Python", "lenet_bench": "your program"}
    return known.get(package, "Python")


class TensorFlowsProfiler:
    """Its C++, where the call uses TensorFlow."""

    def __init__(self, used: bool) -> None:
        self.used = used
        self.folder = TemporaryDirectory()
        self.at = 0

    def __enter__(self) -> "TensorFlowsProfiler":
        if self.used:
            import tensorflow as tf

            options = tf.profiler.experimental.ProfilerOptions(host_tracer_level=3)
            tf.profiler.experimental.start(self.folder.name, options=options)
            for _ in range(3):  # the last one is warm
                self.at = time_ns()
                with tf.profiler.experimental.Trace("mark"):
                    pass
        return self

    def __exit__(self, *_: object) -> None:
        if self.used:
            import tensorflow as tf

            tf.profiler.experimental.stop()

    def spans(self) -> Iterator[Span]:
        if not self.used:
            return
        from tensorflow.tsl.profiler.protobuf import xplane_pb2

        path = next(Path(self.folder.name).rglob("*.xplane.pb"))
        space = xplane_pb2.XSpace.FromString(path.read_bytes())
        found = [
            Span(
                one.offset_ps / 1000,
                one.duration_ps / 1000,
                plane.event_metadata[one.metadata_id].name,
                track_of(line.name),
                "TensorFlow's C++",
            )
            for plane in space.planes
            for line in plane.lines
            for one in line.events
        ]
        shift = self.at - max(one.at for one in found if one.name == "mark")
        for one in found:
            if one.us and one.name != "mark":
                yield replace(one, at=one.at + shift)


def track_of(thread: str) -> str:
    return {"python": PYTHON, "tf_Compute": COMPUTING}.get(thread.partition("/")[0], DATA)


def of_onednn(printed: str) -> Iterator[Span]:
    """Its kernels: when each began, its implementation, and how long it took."""
    for line in printed.splitlines():
        if found := EXECUTED.match(line):
            at, kind, implementation, took = found.groups()
            ns = 1e6 * max(float(took), TICK_MS)
            yield Span(1e6 * float(at), ns, f"{kind} {implementation}", COMPUTING, "oneDNN")


def opened(name: str, recording: dict[str, Any]) -> Call:
    """The recording on the time of a call that nobody records."""
    us = recording["timed_us"]
    events = [Span(**one) for one in recording["events"]]
    spans, each = without_cost(events, recording["began"], recording["us"], us)
    longest = max(one.until for one in spans)
    if longest > us:
        spans = [replace(one, at=one.at * us / longest, us=one.us * us / longest) for one in spans]
    shortened = max(0.0, 1 - us / longest)
    call = Call(
        name, called(name)["human"], us, recording["us"], len(spans), each, round(shortened, 3)
    )
    if name != "keras":
        spans = [replace(one, track=PYTHON) for one in spans]
    whole = Span(0, us, "lenet_bench.load(...).infer(image)", PYTHON, "your program")
    spans = [one for one in spans if one.us >= SHORTEST_US or one.layer == "oneDNN"]
    kept = rows(fewest(list(of_kinds([whole, *spans]))))
    call.tracks = [one for one in (PYTHON, COMPUTING, DATA) if any(k.track == one for k in kept)]
    call.spans = [
        {
            key: round(value, 2) if isinstance(value, float) else value
            for key, value in asdict(one).items()
            if value != "" and not (key == "line" and not value)
        }
        | {"track": call.tracks.index(one.track)}
        for one in kept
    ]
    return call


def without_cost(
    spans: Sequence[Span], began: float, recorded_us: float, us: float
) -> tuple[list[Span], float]:
    """On a clock that leaves out what recording cost; and that cost of an event, in microseconds.

    An event is recorded when it has ended, so what lies between this and whatever comes next gets
    shorter by the cost, down to nothing. With that cost the call takes as long as unrecorded, or
    there is nothing left between its spans.
    """
    ended = began + 1000 * recorded_us
    marks = sorted({began, ended, *(one.at for one in spans), *(one.until for one in spans)})
    ends = Counter(one.until for one in spans)
    gaps = np.diff(marks) / 1000
    events = np.array([ends[mark] for mark in marks[:-1]])
    low, high = 0.0, float(gaps.max())
    while high - low > 1e-4:  # the more an event costs, the shorter is the call without it
        each = (low + high) / 2
        shorter = np.maximum(0, gaps - each * events)
        low, high = (each, high) if shorter.sum() > us else (low, each)
    clock = dict(zip(marks, [0.0, *np.cumsum(shorter)], strict=True))
    first = clock[began]
    moved = [
        replace(one, at=clock[one.at] - first, us=clock[one.until] - clock[one.at]) for one in spans
    ]
    return moved, each


def of_kinds(spans: Sequence[Span]) -> Iterator[Span]:
    """With their kinds, and the stages of the kernels."""
    kernels = sorted((one for one in spans if one.layer == "oneDNN"), key=lambda one: one.at)
    kernels = [one for one in kernels if "reorder" not in one.name]
    stages = dict(zip(kernels, STAGES, strict=True))
    step = next((one for one in spans if one.name == STEP), None)
    for one in spans:
        if stage := stages.get(one):
            yield replace(one, kind=MATHEMATICS, stage=stage, name=f"{stage}: {one.name}")
        elif one.layer == "oneDNN":
            yield replace(one, kind=MATHEMATICS)
        elif step and not (step.at <= one.at + one.us / 2 <= step.until and not one.has(step)):
            yield replace(one, kind=PREPARING)
        else:
            yield replace(one, kind=HANDING_OVER)


def fewest(spans: Sequence[Span]) -> list[Span]:
    """Kernels, what surrounds them, the lines of ours, and the longest of the others."""
    kernels = [one for one in spans if one.kind == MATHEMATICS]
    said = [one for one in spans if one.layer == "your program" or not alone(one, spans)]
    must = [
        one
        for one in said
        if one.layer in ("your program", "oneDNN") or any(one.has(kernel) for kernel in kernels)
    ]
    others = sorted((one for one in said if one not in must), key=lambda one: -one.us)
    return [*must, *others[: max(0, MOST - len(must))]]


def alone(span: Span, spans: Sequence[Span]) -> bool:
    """Whether one other span is nearly all of it."""
    return any(
        one.track == span.track and span.has(one) and one.us > SAME * span.us for one in spans
    )


def rows(spans: Sequence[Span]) -> list[Span]:
    """Each in the first row of its track that is free when it begins."""
    free: dict[str, list[float]] = {}
    placed = []
    for one in sorted(spans, key=lambda span: (span.at, -span.us)):
        ends = free.setdefault(one.track, [])
        row = next((n for n, end in enumerate(ends) if end <= one.at + 0.01), len(ends))
        ends[row : row + 1] = [one.until]
        placed.append(replace(one, depth=row))
    return placed


def picture() -> tuple[Spec, list[Record]]:
    """Both calls on one axis, a bar a span, with names where there is room."""
    slow, fast = recorded()["calls"]
    rows = [
        {
            "from": one["at"] / 1000,
            "to": one["until"] / 1000,
            "row": one["depth"],
            "name": one["name"],
            "kind": one["kind"],
        }
        for one in ({**one, "until": one["at"] + one["us"]} for one in slow["spans"])
        if one["track"] == 0 and one["depth"] < ROWS and one["us"] > slow["us"] / 1000
    ]
    kernels = sum(one["us"] for one in slow["spans"] if one["kind"] == MATHEMATICS)
    for row, (name, us) in enumerate(
        (
            (f"all kernels of {slow['human']} together", kernels),
            (f"a call of {fast['human']}", fast["us"]),
        )
    ):
        about = f"{name}: {time(us)}"
        rows.append(
            {"from": 0, "to": us / 1000, "row": ROWS + 1 + row, "name": about, "kind": MATHEMATICS}
        )
    shades = {PREPARING: "part-4", HANDING_OVER: "part-3", MATHEMATICS: "family-0"}
    kind = {
        "field": "kind",
        "scale": {"domain": [*shades], "range": [colour(one) for one in shades.values()]},
        "legend": LEGEND,
    }
    x = {"field": "from", "type": "quantitative", "axis": {"title": "milliseconds"}}
    y = {"field": "row", "type": "ordinal", "axis": None}
    wide = f"datum.to - datum.from > {slow['us'] / 1000 * ROOM} * length(datum.name)"
    spec = whole(
        [],
        height={"step": 22},
        encoding={"y": y, "x": x},
        layer=[
            layer({"type": "bar"}, x2={"field": "to"}, color=kind, description={"field": "name"}),
            where(
                wide,
                layer(
                    {"type": "text", "align": "left", "dx": 4},
                    text={"field": "name"},
                    color=always("paper"),
                ),
            ),
            where(
                f"datum.row > {ROWS}",
                layer({"type": "text", "align": "left", "dx": 6}, text={"field": "name"}),
            ),
        ],
    )
    return spec, rows


def in_a_child(name: str) -> Any:
    """The recording of a call, from a process of its own."""
    own = os.environ | variables(find(name)[0], 1) | VERBOSE
    command = [sys.executable, __file__, "--child", name]
    done = subprocess.run(command, env=own, stdout=subprocess.PIPE, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """Record, and write the file."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path, nargs="?", default=RECORDED)
    parser.add_argument("--child", help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        print(json.dumps(recorded_in_turns(asked.child)))
        return
    calls = [opened(name, in_a_child(name)) for name in CALLS]
    found = {
        "machine": brief(processor(read_machine())),
        "measured": datetime.now(timezone.utc).date().isoformat(),
        "versions": f"Keras {version('keras')}, TensorFlow {version('tensorflow-cpu')}",
        "calls": [asdict(one) for one in calls],
    }
    asked.file.write_text(f"{json.dumps(found, separators=(',', ':'))}\n")
    for one in calls:
        print(
            f"{one.name}: {one.us:.0f} us, recorded {one.recorded_us:.0f} us: {one.events} events "
            f"of {one.each_us:.2f} us, spans longer by {one.shortened:.0%}; {len(one.spans)} kept"
        )


if __name__ == "__main__":
    main()

"""The table of oneDNN's kernels: those that engines call, beside the same called by hand."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

from lenet_bench.results import Kernel, TakenApart, read_result, taken_apart
from lenet_bench.show.markdown import table as markdown
from lenet_bench.show.sentences import conditions as measured_how
from lenet_bench.units import time

BARE = "onednn"  # the backend that is oneDNN and nothing else
TITLES = ("stage", "engine's time", "beyond oneDNN", "in oneDNN", "its kernel", "in `onednn`")


def kernels(path: Path) -> Iterator[str]:
    """Of a run of `why`, a backend a table."""
    result = read_result(path)
    backends = [one for one in taken_apart(result) if onednn_kernels(one)]
    yield from [measured_how(result), ""]
    bare = [kernel for one in backends if one.name == BARE for kernel in onednn_kernels(one)]
    for one in backends:
        yield from [f"### {one.name}: {onednn_kernels(one)[0].by}", ""]
        rows = [row for stage in stages(one) for row in stage_rows(one, stage, bare)]
        yield from [*markdown(TITLES, rows, ("stage", "its kernel", "in `onednn`")), ""]


def onednn_kernels(one: TakenApart) -> list[Kernel]:
    """What the oneDNN in it says."""
    return [kernel for kernel in one.kernels if kernel.by.startswith("oneDNN")]


def stages(one: TakenApart) -> list[list[Kernel]]:
    """Its kernels, those of a stage together."""
    return [
        list(kernels) for _, kernels in groupby(onednn_kernels(one), lambda kernel: kernel.stage)
    ]


def stage_rows(
    one: TakenApart, stage: Sequence[Kernel], bare: Sequence[Kernel]
) -> Iterator[tuple[str, ...]]:
    """A row a kernel; what the engine says of all of them in the first."""
    inside = sum(kernel.us for kernel in stage)
    says = next((part.engine_us for part in one.parts if part.name == stage[0].stage), None)
    node = ("-", "-") if says is None or one.name == BARE else (time(says), time(says - inside))
    for number, kernel in enumerate(stage):
        whole = node if number == 0 else ("-", "-")
        by_hand = "-" if one.name == BARE else called_by_hand(kernel, bare)
        yield kernel.stage or "-", *whole, time(kernel.us), spelt(kernel), by_hand


def spelt(kernel: Kernel) -> str:
    """Primitive, implementation and shapes."""
    often = f"{kernel.times} times" if kernel.times > 1 else ""
    return " ".join(filter(None, (kernel.name, kernel.implementation, kernel.shapes, often)))


def called_by_hand(kernel: Kernel, bare: Sequence[Kernel]) -> str:
    """The same product in the library of `onednn`, else the like primitive of that backend."""
    if kernel.by_hand_us is not None:
        return time(kernel.by_hand_us)
    name = kernel.name.removesuffix("_v2")  # as MXNet's oneDNN calls pooling
    like = (one for one in bare if (one.stage, one.name) == (kernel.stage, name))
    return next((f"{time(one.us)} {one.implementation}" for one in like), "-")

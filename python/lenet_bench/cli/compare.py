"""`compare`: what each backend costs in time."""

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..units import counted, span
from .options import (
    ALL_NETWORKS,
    Device,
    backends_argument,
    command,
    default_threads_option,
    device_option,
    each_network,
    form_option,
    network_option,
    option,
    run_options,
    usable,
)
from .output import note, run, say, screen

if TYPE_CHECKING:
    from ..measure.options import CompareOptions
    from ..results import Result


@command("Measure backends side by side.")
@backends_argument
@option(
    "--quick",
    "Measure fused, onednn, tensorflow, keras:predict_on_batch and keras, or those you name, "
    "within 100 s.",
)
@option(
    "--baseline BACKEND", "The backend that ratios refer to. [onednn, else the first that runs]"
)
@option(
    "--batch N,N,...",
    "Measure throughput too, with N images per call: 1,8,64,512.",
    "batches",
    callback=lambda _context, _option, sizes: sizes or (),
)
@option("--interval MS", "Begin a call every 20 (ms) or 1s, not one after the other.", "interval_s")
@option("--keep-warm MS", "Call for this long before each call of an --interval.", "keep_warm_s")
@option(
    "--beside N",
    "Keep N other processes at work meanwhile, a core each.",
    kind=click.IntRange(min=0),
    default=0,
)
@option("--cores N", "Cores of a backend. [one a thread, all for default threads]", callback=usable)
@option("--cold", "Read 64 MB before each call: cold caches.")
@network_option
@option("--model FILE", "A model of your own in LeNet's place: .onnx or .tflite.")
@option(
    "--shape NAME=SIZES",
    "An input's shape: image=1x3x320x320. Repeatable. [the model's, and 1]",
    "shapes",
    multiple=True,
)
@option(
    "--range NAME=A:B",
    "An input's values: ids=0:30000, rate=16000. Repeatable.",
    "ranges",
    multiple=True,
)
@option("--input FILE", "Real inputs of the model, by name (.npz).", "data")
@device_option
@run_options(
    "compare",
    otherwise="[without a limit: six rounds, and at least 20 s]",
    threads=default_threads_option,
)
@form_option("json", "csv", "markdown")
def compare(
    backends: tuple[str, ...],
    quick: bool,
    network: str,
    model: Path | None,
    shapes: tuple[tuple[str, tuple[int, ...]], ...],
    ranges: tuple[tuple[str, tuple[float, float]], ...],
    data: Path | None,
    device: Device,
    form: str | None,
    output: Path,
    **chosen: Any,
) -> int:
    """Measure backends side by side: latency, ratio, and whether the difference is real.

    Each BACKEND, or every backend if none is named, is started in every round, one at a time and in
    shuffled order, in a new process on the same core. It is timed only if it gives the reference's
    answers. The run ends at --budget or --rounds, whichever comes first. Ctrl-C ends it, too, and
    shows what was measured.

    $ lenet-bench compare --quick
    $ lenet-bench compare fused openblas --budget 60s
    $ lenet-bench compare fused keras --batch 1,8,64,512
    $ lenet-bench compare fused keras --interval 20ms --cold
    $ lenet-bench compare torch --interval 20ms --threads default --beside 1
    $ lenet-bench compare torch torch@gpu -o mine.jsonl   run it again to continue
    $ lenet-bench compare --device gpu --baseline cudnn
    $ lenet-bench compare --network resnet50 torch onnxruntime keras
    $ lenet-bench compare --network all torch onnxruntime keras --rounds 6
    $ lenet-bench compare --model mine.onnx --shape image=1x3x320x320
    $ lenet-bench compare --json | jq '.backends[] | {name, p50_us, verdict}'

    Exit codes: 0 if all ran, 1 if one failed or is not installed.
    """
    from ..measure.comparison import compare as measure
    from ..measure.options import QUICK, QUICK_ROUNDS, QUICK_S, CompareOptions, OwnModel
    from ..registry import on_device
    from ..results import failures
    from ..show.comparison import comparison
    from ..show.sizes import answered

    if not model and (shapes or ranges or data):
        raise click.UsageError("--shape, --range and --input are for the inputs of a --model")
    named = tuple(on_device(name, device) for name in backends)
    if quick:
        chosen["rounds"] = chosen["rounds"] or QUICK_ROUNDS
        chosen["budget_s"] = chosen["budget_s"] or QUICK_S
    options = CompareOptions(
        backends=named or (QUICK if quick and device != "gpu" and not model else ()),
        model=OwnModel(model, dict(shapes), dict(ranges), data) if model else None,
        device=device,
        least_rounds=int(quick),
        quiet="LENET_BENCH_DEBUG" not in os.environ,
        **chosen,
    )
    note(_foreseen(options))
    named += (options.baseline,) if options.baseline else ()

    results: list[Result] = []

    def show(result: "Result") -> bool:
        results.append(result)
        say(comparison([result], form, screen(), named))
        timed = any(row.status == "ok" for row in result.backends)
        return not failures(result.backends, named) and (timed or not model)

    def measured(name: str) -> int:
        """Measure one network; of several, each has a file of its own."""
        file = output.with_stem(f"{output.stem}-{name}") if network == ALL_NETWORKS else output
        return run(measure, replace(options, network=name, output=file), show)

    code = each_network(network, measured)
    say(answered(results, form, screen()))
    return code


def _foreseen(options: "CompareOptions") -> str:
    """When the run ends, as far as it is known before the first start."""
    from ..measure.options import DEFAULT_S
    from ..results.statistics import FEWEST_STARTS

    ends = []
    if options.rounds:
        ends.append(counted(options.rounds, "round"))
    if options.budget_s:
        ends.append(span(options.budget_s))
    if ends:
        return f"ends after {' or '.join(ends)}"
    least = f"{FEWEST_STARTS} rounds and {span(DEFAULT_S)}"
    return f"ends after {least}, whichever comes later; --budget sets another limit"

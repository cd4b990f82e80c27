"""`compare`: what each backend costs in time."""

import os
import re
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ..texts import listed
from .options import (
    Device,
    Real,
    Whole,
    backends_argument,
    command,
    device_option,
    form_option,
    is_given,
    model_options,
    network_option,
    option,
    run_options,
    seconds,
    several_threads_option,
    share_of,
    subject_of,
    usable,
)
from .output import complain, run, say, screen

if TYPE_CHECKING:
    from ..results import Result

#: For a quick answer: a few backends, from C++ to Keras' predict.
QUICK = ("fused", "onednn", "tensorflow", "keras:predict_on_batch", "keras")
QUICK_S = 100.0
QUICK_ROUNDS = 10
#: What --code takes into account.
_OF_CODE = ("shown", "model", "shapes", "ranges", "data", "threads", "budget_s")


def _milliseconds(text: str) -> float:
    """A time in seconds, spelled as for `seconds`; but a bare number is milliseconds."""
    return seconds(f"{text}ms" if text.strip()[-1:].isdigit() else text)


def _pause(text: str) -> float:
    """The same, or how often: 50Hz."""
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*Hz", text.strip(), re.IGNORECASE)
    pause = 1 / (float(match[1]) or inf) if match else _milliseconds(text)
    if not 1e-6 <= pause <= 1e3:
        raise click.BadParameter(
            f"expected 0.001ms to 1000s, or 1000000Hz to 0.001Hz, got {text!r}"
        )
    return pause


def _batch_sizes(text: str) -> tuple[int, ...]:
    return _numbers(text, "sizes", 99999, "1,8,64,512")


def _numbers_of_callers(text: str) -> tuple[int, ...]:
    """With one caller, over which the others gain."""
    return tuple(sorted({1, *_numbers(text, "numbers", 256, "1,2,4")}))


def _numbers(text: str, what: str, most: int, example: str) -> tuple[int, ...]:
    """Numbers spelled 1,8,64,512."""
    found = [part.strip() for part in text.split(",")]
    if not all(re.fullmatch(r"[1-9]\d{0,4}", one) and int(one) <= most for one in found):
        raise click.BadParameter(
            f"expected {what} from 1 to {most} such as {example}, got {text!r}"
        )
    return tuple(sorted(set(map(int, found))))


@command("Measure backends side by side.")
@backends_argument
@option(
    "--quick",
    f"Measure {listed(QUICK)}, or those you name: {QUICK_ROUNDS} rounds, or {QUICK_S:g} s.",
)
@option(
    "--until [decided]",
    "End when each verdict is certain, but with --budget at the latest. [five minutes]",
    "until_decided",
    callback=lambda _context, _option, chosen: chosen is not None,
)
@option("--baseline BACKEND", "The backend that ratios refer to. [onednn, else the fastest]")
@option(
    "--batch N,N,...",
    "Measure throughput too, with N images per call: 1,8,64,512.",
    "batches",
    kind=_batch_sizes,
    callback=lambda _context, _option, sizes: sizes or (),
)
@option(
    "--quota CORES",
    "Give each process so much CPU time, as a container has: 1.5. Needs a control group.",
    kind=Real(0.01, 1024),
    callback=usable,
)
@option(
    "--callers N,N,...",
    "Let N threads call at once, too: 1,2,4.",
    "callers",
    kind=_numbers_of_callers,
    callback=lambda _context, _option, numbers: numbers or (),
)
@option(
    "--callers-in [threads|processes]",
    "The callers are threads of one process, or a process each. [threads]",
    "callers_in",
)
@option(
    "--interval MS",
    "Begin a call every 20 (ms), 1s or at 50Hz, not one after the other.",
    "interval_s",
    kind=_pause,
)
@option(
    "--deadline MS",
    "The time that no call of an --interval should exceed. [the interval]",
    "deadline_s",
    kind=_milliseconds,
)
@option(
    "--keep-warm MS",
    "Call for this long before each call of an --interval.",
    "keep_warm_s",
    kind=_milliseconds,
)
@option(
    "--beside N",
    "Keep N other processes at work meanwhile, a core each.",
    kind=Whole(min=0),
    default=0,
    callback=usable,
)
@option("--cores N", "Cores of a backend. [one a thread and caller, or all]", callback=usable)
@option("--floor", "Measure the first backend's version in a second environment, too.")
@option(
    "--fail-over SHARE",
    "Exit 1 if a row fails or has no interval, or if even its low end is above, floor or not: 5%.",
    kind=share_of,
)
@option("--cold", "Read 64 MB before each call: cold caches.")
@network_option
@model_options(
    "Measure your own model on all that runs it: .onnx, .tflite, .keras, .h5, .pt2, a SavedModel, "
    "or a model.py whose get_model() and get_args() return it and its inputs; its code is run."
)
@option(
    "--code BACKEND",
    "Measure nothing: print the lines that load the model with this backend and call it.",
    "shown",
)
@device_option
@run_options(
    "compare",
    otherwise="[without a limit: six rounds, and about 20 s]",
    threads=several_threads_option,
)
@form_option("json", "csv", "markdown")
def compare(
    backends: tuple[str, ...],
    quick: bool,
    floor: bool,
    fail_over: float | None,
    network: str,
    model: Path | None,
    shown: str | None,
    device: Device,
    form: str | None,
    **chosen: Any,
) -> int:
    """Measure backends side by side: latency, ratio, and whether the difference is real.

    Each BACKEND, or every backend if none is named, is started in every round, one at a time and in
    shuffled order, in a new process on the same core. It is timed only if it gives the reference's
    answers. The run ends at --budget or --rounds, whichever comes first. Ctrl-C ends it, too, and
    shows what was measured.

    $ lenet-bench compare --quick
    $ lenet-bench compare fused openblas --budget 60s
    $ lenet-bench compare litert onednn --until decided
    $ lenet-bench compare fused keras --batch 1,8,64,512
    $ lenet-bench compare onnxruntime torch --callers 1,2,4
    $ lenet-bench compare fused keras --interval 20ms --cold
    $ lenet-bench compare torch --interval 20ms --threads default --beside 1
    $ lenet-bench compare openvino torch --threads default --quota 1.5
    $ lenet-bench compare openvino litert --threads 1,2,default
    $ lenet-bench compare torch torch@gpu -o mine.jsonl   run it again to continue
    $ lenet-bench compare onnxruntime==1.24.1 onnxruntime --floor --rounds 12
    $ lenet-bench compare --device gpu --baseline cudnn
    $ lenet-bench compare --network resnet50 torch onnxruntime keras
    $ lenet-bench compare --network all torch onnxruntime keras --rounds 6
    $ lenet-bench compare --model mine.onnx --shape image=1x3x320x320
    $ lenet-bench compare --model mine.keras keras keras:predict_on_batch litert
    $ lenet-bench compare --model mine.keras --code litert
    $ lenet-bench compare --json | jq '.backends[] | {name, p50_us, verdict}'

    Exit codes: 0 if all ran that can run it, 1 if none could, or if one failed, was not reached,
    is named and not installed, or is slower than --fail-over allows.
    """
    from ..measure.comparison import compare as measure
    from ..measure.options import CompareOptions
    from ..registry import AGAIN, on_device, without_threads, without_version
    from ..results import is_well
    from ..results.statistics import FEWEST_STARTS
    from ..show.comparison import comparison
    from ..show.sizes import answered
    from ..show.versions import passes, uncompared
    from ..subjects.model import OwnModel

    least_rounds = int(quick and not chosen["budget_s"])
    if quick:
        chosen["rounds"] = chosen["rounds"] or QUICK_ROUNDS
        chosen["budget_s"] = chosen["budget_s"] or QUICK_S
    for one in click.get_current_context().command.params if shown else ():
        if is_given(one.name) and one.name not in _OF_CODE:
            raise click.UsageError(f"with --code nothing is measured: leave out {one.opts[-1]}")
    if shown and not isinstance(chosen["threads"], int):
        raise click.UsageError("--code is for one number of --threads")
    subject = subject_of(network, model, chosen)
    if shown:
        if not isinstance(subject, OwnModel):
            raise click.UsageError("--code is for a --model")
        say([subject.program(shown, chosen["threads"])])
        return 0
    if chosen["callers_in"] and not chosen["callers"]:
        raise click.UsageError("--callers-in is for --callers")
    chosen["callers_in"] = chosen["callers_in"] or "threads"
    named = tuple(on_device(name, device) for name in backends)
    if fail_over and len(set(map(without_version, named))) == len(named):
        raise click.UsageError(
            "--fail-over is for versions of an API: onnxruntime==1.26.0 onnxruntime"
        )
    if fail_over and (chosen["rounds"] or FEWEST_STARTS) < FEWEST_STARTS:
        raise click.UsageError(f"--fail-over needs {FEWEST_STARTS} rounds or more for an interval")
    if floor:
        if not (named and "==" in named[0]):
            raise click.UsageError("--floor needs a version first: onnxruntime==1.26.0 ... --floor")
        named += (named[0] + AGAIN,)
    options = CompareOptions(
        backends=named or (QUICK if quick and device != "gpu" and not model else ()),
        subject=subject,
        device=device,
        least_rounds=least_rounds,
        hide_output="LENET_BENCH_DEBUG" not in os.environ,
        **chosen,
    )
    named += (options.baseline,) if options.baseline else ()

    results: list[Result] = []

    def show(result: "Result") -> bool:
        results.append(result)
        asked = [row.name for row in result.backends if without_threads(row.name) in named]
        say(comparison([result], form, screen(), asked))
        well = is_well(result.backends, asked)
        if fail_over is None:
            return well
        for name in uncompared(result):
            complain(f"{name} was compared with no other version, so --fail-over fails")
        return well and passes(result, fail_over)

    code = run(measure, options, show, network=network)
    say(answered(results, form, screen()))
    return code

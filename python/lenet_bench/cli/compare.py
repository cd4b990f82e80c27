"""`compare`: what each rung costs in time."""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from ..terminal import Screen
from .options import (
    FILE,
    batch_sizes,
    checked_rung,
    complete_rung,
    device_option,
    form_options,
    memory_size,
    milliseconds,
    rungs_argument,
    seconds,
    share,
    threads_option,
    timeout_option,
    verbose_option,
    weights_option,
)
from .output import INTERRUPTED, SUCCESS, WRONG, complain, note, say

if TYPE_CHECKING:
    from ..backends import Device


@click.command(
    short_help="Measure rungs side by side.",
    epilog="""\b
Examples:
  lenet-bench compare --quick
  lenet-bench compare fused openblas --budget 60s
  lenet-bench compare --precision 1% --baseline onednn -o mine.json
  lenet-bench compare fused keras --batch 1,8,64,512
  lenet-bench compare fused keras --interval 20ms
  lenet-bench compare --resume results/compare-20261121-080000.json
  lenet-bench compare --self-test
  lenet-bench compare torch torch@gpu
  lenet-bench compare --device gpu --baseline cudnn
  lenet-bench compare --json | jq '.rungs[] | {name, p50_us, verdict}'
  lenet-bench compare --quick --markdown > comparison.md
""",
)
@rungs_argument
@click.option("--quick", is_flag=True, help="A rough answer: time rungs for 5s only.")
@click.option(
    "--budget", callback=seconds, metavar="TIME", help="Time rungs for so long: 60s, 5m. [20s]"
)
@click.option(
    "--precision",
    callback=share,
    metavar="SHARE",
    help="Stop once each median is known so well: 2%.",
)
@click.option("--rounds", type=click.IntRange(min=1), metavar="N", help="Stop after N rounds.")
@click.option(
    "--baseline",
    metavar="RUNG",
    callback=checked_rung,
    shell_complete=complete_rung,
    help="What ratios are taken to. [the first rung that runs]",
)
@click.option(
    "--batch",
    "batches",
    callback=batch_sizes,
    metavar="N,N,...",
    help="Measure throughput too, with so many images a call: 1,8,64,512.",
)
@click.option(
    "--interval",
    callback=milliseconds,
    metavar="MS",
    help="Idle so long before each call, as an application does: 20, 1s.",
)
@click.option(
    "--restarts",
    type=click.IntRange(min=0),
    metavar="N",
    help="Start rungs that take over 1 s to start anew so often. [as the budget allows]",
)
@click.option(
    "--memory",
    callback=memory_size,
    metavar="SIZE",
    help="What the rungs may use together: 2G. Less than they need, and they run in groups. [what"
    " is free]",
)
@device_option
@threads_option
@weights_option
@click.option("--seed", type=click.IntRange(min=0), metavar="N", help="Repeat a run's order.")
@timeout_option
@click.option(
    "-o",
    "--output",
    type=FILE,
    metavar="FILE",
    help="Where every sample goes. [results/compare-DATE.json]",
)
@click.option(
    "--resume",
    type=FILE,
    metavar="FILE",
    help="Go on with a run that was interrupted or killed, by its own rules.",
)
@click.option("--retry", is_flag=True, help="With --resume: try rungs that failed once more.")
@click.option(
    "--self-test",
    is_flag=True,
    help="Compare a rung (numpy, or the one named) with itself and with planted faults: is what"
    " compare says to be believed?",
)
@form_options
@verbose_option
def compare(
    rungs: tuple[str, ...],
    quick: bool,
    budget: float | None,
    precision: float | None,
    rounds: int | None,
    baseline: str | None,
    batches: tuple[int, ...],
    interval: float | None,
    restarts: int | None,
    memory: int | None,
    device: "Device | None",
    threads: int,
    weights: Path | None,
    seed: int | None,
    timeout: float,
    output: Path | None,
    resume: Path | None,
    retry: bool,
    self_test: bool,
    form: str | None,
    verbose: bool,
) -> int:
    """Measure rungs side by side: latency, ratio, and whether the difference is real.

    Each RUNG (all without one) runs in a process of its own on the same pinned core, one at a
    time, in shuffled rounds; none is timed before it gives the reference's answers. The first of
    --budget, --precision and --rounds that is reached ends the run; Ctrl-C does too, and shows
    what was measured. Fails where a rung fails.
    """
    from datetime import datetime

    from ..backends import on_device
    from ..measure.comparison import NotSavedError
    from ..measure.comparison import compare as measure
    from ..measure.options import QUICK_BUDGET_S, CompareOptions
    from ..printout.progress import ProgressLine
    from ..report import comparison
    from ..results import failures

    if self_test:
        return _self_test(rungs, quick, budget, threads, weights, seed, output, form)
    if resume:
        _refuse("--resume goes on by the rules of the run itself", _RULES)
    elif retry:
        raise click.UsageError("--retry is for a run that is resumed: give --resume FILE too")
    output = output or resume or Path(f"results/compare-{datetime.now():%Y%m%d-%H%M%S}.json")
    rungs = tuple(on_device(rung, device) for rung in rungs)
    options = CompareOptions(
        rungs=rungs,
        device=device,
        baseline=baseline,
        threads=threads,
        budget_s=QUICK_BUDGET_S if quick and budget is None else budget,
        precision=precision,
        rounds=rounds,
        seed=seed,
        timeout_s=timeout,
        interval_s=interval,
        batches=batches,
        restarts=restarts,
        memory_bytes=memory,
        resume=resume,
        retry=retry,
        weights=weights,
        output=output,
        quiet=not verbose,
    )
    named = (*rungs, *([baseline] if baseline else []))
    line = ProgressLine(sys.stderr)
    unsaved = None
    try:
        result = measure(options, line)
    except NotSavedError as error:
        result, unsaved = error.result, str(error)
    finally:
        line.clear()
    for rung in result.rungs if verbose else ():
        note(rung.output and f"{rung.name} printed:\n{rung.output}")
    say(comparison([result], form, Screen.of(sys.stdout), named))
    if unsaved:
        complain(unsaved)
        return WRONG
    note(f"every sample is in {output}")
    if result.ended == "interrupted":
        return INTERRUPTED
    return WRONG if failures(result.rungs, named) else SUCCESS


def _self_test(
    rungs: tuple[str, ...],
    quick: bool,
    budget: float | None,
    threads: int,
    weights: Path | None,
    seed: int | None,
    output: Path | None,
    form: str | None,
) -> int:
    """Run it, print each point; fail where one does not pass."""
    from datetime import datetime

    from ..measure.comparison import compare as measure
    from ..measure.self_test import points, self_test_options
    from ..printout.progress import ProgressLine
    from ..report.self_test import digest, self_test

    taken = ("quick", "budget", "threads", "seed")
    _refuse("--self-test has rules of its own", {n: o for n, o in _RULES.items() if n not in taken})
    if len(rungs) > 1 or form not in (None, "json"):
        raise click.UsageError("--self-test takes one rung at most, and no form but --json")
    output = output or Path(f"results/self-test-{datetime.now():%Y%m%d-%H%M%S}.json")
    options = self_test_options(*rungs, threads=threads, quick=quick, budget_s=budget)
    if options.enough:
        most = f"{options.budget_s or 0:.0f} s"
        note(f"until there is enough for a verdict, {most} at most; --budget says how long instead")
    line = ProgressLine(sys.stderr)
    try:
        result = measure(
            replace(
                options,
                weights=weights,
                seed=seed,
                output=output,
                argv=tuple(sys.argv),
            ),
            line,
        )
    finally:
        line.clear()
    found = points(result, quick=quick)
    if form == "json":
        say([json.dumps(digest(found, result), indent=2)])
    else:
        say(self_test(found, result, Screen.of(sys.stdout)))
    note(f"every sample is in {output}")
    if result.ended == "interrupted":
        return INTERRUPTED
    return SUCCESS if all(point.verdict == "passed" for point in found) else WRONG


#: Options that a run that is resumed brings with it.
_RULES = {
    "device": "--device",
    "quick": "--quick",
    "budget": "--budget",
    "precision": "--precision",
    "rounds": "--rounds",
    "baseline": "--baseline",
    "batches": "--batch",
    "interval": "--interval",
    "restarts": "--restarts",
    "threads": "--threads",
    "seed": "--seed",
    "timeout": "--timeout",
}


def _refuse(why: str, options: Mapping[str, str]) -> None:
    """Options by the name of their parameter, none of which may have been given."""
    source = click.get_current_context().get_parameter_source
    given = [
        option for name, option in options.items() if source(name) is ParameterSource.COMMANDLINE
    ]
    if given:
        raise click.UsageError(f"{why}: leave out {', '.join(given)}")

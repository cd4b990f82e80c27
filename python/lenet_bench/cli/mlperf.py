"""`mlperf`: a rung under MLPerf's own LoadGen."""

import json
import os
import sys
from pathlib import Path

import click

from ..terminal import Screen
from .options import (
    FOLDER,
    checked_rung,
    complete_rung,
    json_option,
    seconds,
    threads_option,
    weights_option,
)
from .output import SUCCESS, WRONG, note, say


@click.command(
    short_help="Ask a rung as MLPerf's LoadGen does: SingleStream.",
    epilog="""\b
Examples:
  lenet-bench mlperf --backend fused
  lenet-bench mlperf --backend keras:call --data MNIST_FOLDER --duration 30s
  lenet-bench mlperf --backend tensorflow --full -o logs
""",
)
@click.option(
    "-b",
    "--backend",
    "rung",
    metavar="NAME",
    required=True,
    callback=checked_rung,
    shell_complete=complete_rung,
    help="A rung of the ladder.",
)
@click.option(
    "--duration",
    callback=seconds,
    metavar="TIME",
    default="5s",
    show_default=True,
    help="Ask for so long at the least.",
)
@click.option("--full", is_flag=True, help="The rules' own durations: ten minutes at the least.")
@click.option(
    "--data",
    type=FOLDER,
    metavar="DIR",
    help="Folder with MNIST's IDX files, for its images and labels. [$LENET_BENCH_MNIST]",
)
@threads_option
@weights_option
@click.option(
    "-o",
    "--output",
    type=FOLDER,
    metavar="DIR",
    help="Where LoadGen's logs go. [results/mlperf-NAME-DATE]",
)
@json_option
def mlperf(
    rung: str,
    duration: float,
    full: bool,
    data: Path | None,
    threads: int,
    weights: Path | None,
    output: Path | None,
    as_json: bool,
) -> int:
    """Run MLPerf's LoadGen, SingleStream, on a rung: performance and accuracy.

    MLPerf-style, not a submission: LoadGen, its rules and its verdict are the real ones, the
    network is none of MLPerf's. The rung is checked and pinned as by `compare`, whose clock times
    the same process beside it. Accuracy is against MNIST's labels where the data are at hand
    (--data or $LENET_BENCH_MNIST), else against the reference's digits. Fails where LoadGen's
    verdict is INVALID or the accuracy is below 99 % of the reference's.
    """
    from datetime import datetime

    from ..mlperf import mlperf as ask
    from ..mnist import FOLDER_VARIABLE, find_mnist, read_mnist
    from ..report.mlperf import lines

    at_hand = data or os.environ.get(FOLDER_VARIABLE)
    name = f"mlperf-{rung.replace(':', '-')}-{datetime.now():%Y%m%d-%H%M%S}"
    found = ask(
        rung,
        output or Path("results") / name,
        full=full,
        duration_s=duration,
        threads=threads,
        weights=weights,
        digits=read_mnist("test", find_mnist(data)) if at_hand else None,
        told=note,
    )
    say([json.dumps(found.to_json(), indent=2)] if as_json else lines(found, Screen.of(sys.stdout)))
    return SUCCESS if found.passed else WRONG

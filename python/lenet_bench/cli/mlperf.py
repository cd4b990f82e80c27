"""`mlperf`: a backend under MLPerf's own LoadGen."""

import os
from pathlib import Path
from typing import Any

import click

from .options import BACKEND, FOLDER, json_option, seconds, threads_option, weights_option
from .output import SUCCESS, WRONG, answer, note, screen


@click.command(
    short_help="Run MLPerf's LoadGen (SingleStream) on a backend.",
    epilog="""\b
Examples:
  lenet-bench mlperf --backend fused
  lenet-bench mlperf --backend keras:call --data MNIST_FOLDER --duration 30s
  lenet-bench mlperf --backend tensorflow --full -o logs

Exit codes: 0 where LoadGen's verdict is VALID and the accuracy is reached, else 1.
""",
)
@click.option("-b", "--backend", metavar="NAME", required=True, type=BACKEND, help="The backend.")
@click.option(
    "--duration",
    "duration_s",
    type=seconds,
    metavar="TIME",
    default="5s",
    show_default=True,
    help="Run for at least this time.",
)
@click.option(
    "--full", is_flag=True, help="Run as long as MLPerf's rules ask: at least ten minutes."
)
@click.option(
    "--data",
    type=FOLDER,
    metavar="DIR",
    help="Folder with MNIST's IDX files, for accuracy against its labels. [$LENET_BENCH_MNIST]",
)
@threads_option
@weights_option
@click.option(
    "-o",
    "--output",
    type=FOLDER,
    metavar="DIR",
    help="Folder for LoadGen's logs. [results/mlperf-NAME-DATE]",
)
@json_option
def mlperf(
    backend: str, data: Path | None, output: Path | None, as_json: bool, **chosen: Any
) -> int:
    """Run MLPerf's LoadGen, scenario SingleStream, on a backend: performance and accuracy.

    It is not an MLPerf submission: LoadGen, its rules and its verdict are MLPerf's, the network
    is not. The backend is checked and pinned as by `compare`. Its accuracy must reach 99 % of
    the reference's; without MNIST (--data), the reference's digits count as the right ones.
    """
    from datetime import datetime

    from ..mnist import FOLDER_VARIABLE, find_mnist, read_mnist
    from ..questions.mlperf import mlperf as ask
    from ..show.terminal.mlperf import mlperf as in_words

    named = data or os.environ.get(FOLDER_VARIABLE)  # nothing is downloaded
    name = f"mlperf-{backend.replace(':', '-')}-{datetime.now():%Y%m%d-%H%M%S}"
    found = ask(
        backend,
        output or Path("results") / name,
        digits=read_mnist("test", find_mnist(data, part="test")) if named else None,
        say=note,
        **chosen,
    )
    answer(as_json, found.to_json(), in_words(found, screen()))
    return SUCCESS if found.passed else WRONG

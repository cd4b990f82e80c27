"""`mlperf`: a backend under MLPerf's own LoadGen."""

import os
from pathlib import Path
from typing import Any

from .options import command, json_option, option, threads_option, weights_option
from .output import SUCCESS, WRONG, answer, note, screen


@command("Run MLPerf's LoadGen (SingleStream) on a backend.")
@option("-b, --backend NAME", "The backend.", required=True)
@option("--duration TIME", "Run for at least this time.", "duration_s", default="5s")
@option("--full", "Run as long as MLPerf's rules ask: at least ten minutes.")
@option(
    "--data DIR",
    "Folder with MNIST's IDX files, for accuracy against its labels. [$LENET_BENCH_MNIST]",
)
@threads_option
@weights_option
@option("-o, --output DIR", "Folder for LoadGen's logs. [results/mlperf-NAME-DATE]")
@json_option
def mlperf(
    backend: str, data: Path | None, output: Path | None, as_json: bool, **chosen: Any
) -> int:
    """Run MLPerf's LoadGen, scenario SingleStream, on a backend: performance and accuracy.

    It is not an MLPerf submission: LoadGen, its rules and its verdict are MLPerf's, the network
    is not. The backend is checked and pinned as by `compare`. Its accuracy must reach 99 % of
    the reference's; without MNIST (--data), the reference's digits count as the right ones.

    $ lenet-bench mlperf --backend fused
    $ lenet-bench mlperf --backend keras:call --data MNIST_FOLDER --duration 30s
    $ lenet-bench mlperf --backend tensorflow --full -o logs

    Exit codes: 0 if LoadGen's verdict is VALID and the accuracy is reached, else 1.
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

"""The process of a run that `apart` started.

    python -m lenet_bench.training.child ANSWER_FD PARENT_PID < options

The options are JSON on standard input, the answer is a row of the result, as JSON too. Progress
goes to standard error, as in any run; what a framework prints goes nowhere.
"""

import json
import os
import sys
import traceback
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..errors import LenetBenchError, Unavailable
from ..lifeline import die_with
from ..measure.own_process import peak_rss_mib
from .loop import Interrupted
from .recipe import Recipe
from .result import FrameworkRun, Status
from .run import TrainOptions, train


def main() -> None:
    """Train as standard input says, and answer."""
    answer_fd, parent = map(int, sys.argv[1:])
    os.set_inheritable(answer_fd, False)
    die_with(parent)
    options = _from_json(json.load(sys.stdin))
    with os.fdopen(answer_fd, "w") as answer:
        json.dump(asdict(_row(options)), answer)
    sys.stderr.flush()
    os._exit(0)  # what a framework registered for the exit may hang


def _row(options: TrainOptions) -> FrameworkRun:
    try:
        result = train(options)
    except BaseException as error:
        if os.environ.get("LENET_BENCH_DEBUG"):
            traceback.print_exc()
        return FrameworkRun(options.framework, *_what_went_wrong(error))
    return FrameworkRun(
        options.framework,
        "ok",
        versions=result.versions,
        start_up=result.start_up,
        peak_rss_mib=peak_rss_mib(),
        epochs=result.history,
        losses=result.losses,
        first_losses=result.first_losses,
        test_images=result.test_images,
        test_correct=result.test_correct,
    )


def _what_went_wrong(error: BaseException) -> tuple[Status, str]:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted", "stopped before it began to learn"
    if isinstance(error, Interrupted):
        return "interrupted", str(error)
    if isinstance(error, Unavailable):
        return "unavailable", str(error)
    if isinstance(error, LenetBenchError):
        return "failed", str(error)
    return "failed", f"{type(error).__name__}: {error}".rstrip(": ")


def _from_json(told: dict[str, Any]) -> TrainOptions:
    for name in ("output", "data", "checkpoints"):
        told[name] = Path(told[name]) if told[name] else None
    told["recipe"] = Recipe.from_json(told["recipe"]) if told["recipe"] else None
    return TrainOptions(**told)


if __name__ == "__main__":
    main()

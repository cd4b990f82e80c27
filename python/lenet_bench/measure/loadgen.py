"""MLPerf's LoadGen asks the rung: SingleStream, one query after the other. Runs in the worker.

LoadGen reads `user.conf` in the folder after the rules that it brings itself, and leaves its logs
there. Its queries are all made before the first is asked.
"""

import time
from array import array
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import Unavailable

Image = NDArray[np.float32]
Infer = Callable[[Image], NDArray[np.float32]]

CONFIGURATION = "user.conf"
_MODEL = "lenet"  # none of MLPerf's: their rules for every model hold


def run(infer: Infer, images: Sequence[Image], folder: Path, *, accuracy: bool) -> dict[str, Any]:
    """One test of LoadGen's, to its end: it decides when that is.

    `call_us` is the median of what the rung itself took of a query, by our clock.
    """
    try:
        import mlperf_loadgen as loadgen
    except ImportError:
        raise Unavailable(
            "MLPerf's LoadGen is not installed; mend it with: pip install 'lenet-bench[mlperf]'"
        ) from None

    settings = loadgen.TestSettings()
    settings.FromConfig(str(folder / CONFIGURATION), _MODEL, "SingleStream")
    settings.scenario = loadgen.TestScenario.SingleStream
    modes = loadgen.TestMode
    settings.mode = modes.AccuracyOnly if accuracy else modes.PerformanceOnly

    calls_ns = array("q")
    answer = (
        _with_digit(infer, loadgen) if accuracy else _without_data(infer, loadgen, calls_ns.append)
    )

    def ask(queries: Sequence[Any]) -> None:
        for query in queries:
            answer(query.id, images[query.index])

    def pass_over(*_: object) -> None:
        """All images are in memory, and each query is answered when it is asked."""

    rung = loadgen.ConstructSUT(ask, pass_over)
    samples = loadgen.ConstructQSL(len(images), len(images), pass_over, pass_over)
    try:
        audit = str(folder / "audit.config")  # there is none; LoadGen would look in any folder
        loadgen.StartTestWithLogSettings(rung, samples, settings, _logs(loadgen, folder), audit)
    finally:
        loadgen.DestroyQSL(samples)
        loadgen.DestroySUT(rung)
    call_us = float(np.median(calls_ns)) / 1000 if calls_ns else None
    return {"version": version("mlcommons-loadgen"), "call_us": call_us}


def _without_data(
    infer: Infer, loadgen: Any, keep: Callable[[int], None]
) -> Callable[[int, Image], None]:
    """Performance: that it is answered is all that LoadGen wants to know."""
    response, complete = loadgen.QuerySampleResponse, loadgen.QuerySamplesComplete
    clock = time.perf_counter_ns

    def answer(query: int, image: Image) -> None:
        start = clock()
        infer(image)
        stop = clock()
        complete([response(query, 0, 0)])
        keep(stop - start)

    return answer


def _with_digit(infer: Infer, loadgen: Any) -> Callable[[int, Image], None]:
    """Accuracy: LoadGen logs the digit, a byte."""
    response, complete = loadgen.QuerySampleResponse, loadgen.QuerySamplesComplete

    def answer(query: int, image: Image) -> None:
        digit = np.array([infer(image).argmax()], np.uint8)
        complete([response(query, digit.ctypes.data, digit.nbytes)])

    return answer


def _logs(loadgen: Any, folder: Path) -> Any:
    output = loadgen.LogOutputSettings()
    output.outdir = str(folder)
    output.copy_summary_to_stdout = False
    settings = loadgen.LogSettings()
    settings.log_output = output
    settings.enable_trace = False  # a line a query, written while the next is timed
    return settings

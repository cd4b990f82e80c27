"""MLPerf's LoadGen queries the backend: SingleStream, one query after the other. In the worker.

LoadGen makes all queries before the first, and writes its logs to a folder. It reads its built-in
rules once in a process, with the first `user.conf`: that of the performance test. The other tests
get all their settings.
"""

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES, ExtensionFileLoader, FileFinder
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ..errors import Unavailable

Image = NDArray[np.float32]
Infer = Callable[[Image], Any]
Ask = Callable[[Sequence[Any]], None]
Purpose = Literal["performance", "accuracy", "nothing"]  # nothing: its queries of no call

_CONFIGURATION = "user.conf"
_MODULE, _DISTRIBUTION = "mlperf_loadgen", "mlcommons-loadgen"
_MODEL = "lenet"  # none of MLPerf's: their rules for every model hold


@dataclass(frozen=True)
class Test:
    purpose: Purpose
    expected_us: float  # a query; LoadGen makes so many queries that twice the duration is filled
    duration_s: float | None  # the least; None is the rules'
    fewest_queries: int


@dataclass(frozen=True)
class AtHand:
    """The parent's LoadGen, for isolated environments without their own."""

    folder: str
    version: str


def at_hand() -> AtHand:
    """LoadGen of this interpreter; Unavailable where it is not installed."""
    spec = find_spec(_MODULE)
    if spec is None or spec.origin is None or not isinstance(spec.loader, ExtensionFileLoader):
        raise Unavailable(
            "MLPerf's LoadGen is not installed; fix it with: pip install 'lenet-bench[mlperf]'"
        )
    return AtHand(str(Path(spec.origin).parent), _version("of an unknown version"))


def run(
    infer: Infer, images: Sequence[Image], folder: Path, test: Test, parents: AtHand
) -> dict[str, Any]:
    """One test of LoadGen, which decides when it ends."""
    loadgen, its_version = _import(parents)
    folder.mkdir(parents=True, exist_ok=True)
    settings = loadgen.TestSettings()
    (_by_the_rules if test.purpose == "performance" else _by_hand)(settings, test, folder)
    purpose, modes = test.purpose, loadgen.TestMode
    settings.scenario = loadgen.TestScenario.SingleStream
    settings.mode = modes.AccuracyOnly if purpose == "accuracy" else modes.PerformanceOnly

    if purpose == "nothing":
        infer = _nothing
    ask = (_answer_with_digit if purpose == "accuracy" else _call_within)(infer, images, loadgen)

    def pass_over(*_: object) -> None:
        """All images are in memory, and each query is answered at once."""

    backend = loadgen.ConstructSUT(ask, pass_over)
    samples = loadgen.ConstructQSL(len(images), len(images), pass_over, pass_over)
    try:
        audit = str(folder / "audit.config")  # there is none; LoadGen would look in any folder
        loadgen.StartTestWithLogSettings(backend, samples, settings, _logs(loadgen, folder), audit)
    finally:
        loadgen.DestroyQSL(samples)
        loadgen.DestroySUT(backend)
    return {"version": its_version}


def _nothing(_image: Image) -> None:
    """Empty queries: the time of LoadGen itself."""


def _by_the_rules(settings: Any, test: Test, folder: Path) -> None:
    """The configuration; the rules set all that it leaves out."""
    lines = [
        f"*.SingleStream.target_latency = {test.expected_us / 1000:.6f}",
        f"*.SingleStream.min_query_count = {test.fewest_queries}",
    ]
    if test.duration_s is not None:
        lines.append(f"*.SingleStream.min_duration = {test.duration_s * 1000:.0f}")
    path = folder / _CONFIGURATION
    path.write_text("\n".join(lines) + "\n")
    settings.FromConfig(str(path), _MODEL, "SingleStream")


def _by_hand(settings: Any, test: Test, _: Path) -> None:
    settings.single_stream_expected_latency_ns = int(test.expected_us * 1000)
    settings.min_query_count = test.fewest_queries
    settings.min_duration_ms = int((test.duration_s or 0) * 1000)


def _call_within(infer: Infer, images: Sequence[Image], loadgen: Any) -> Ask:
    """Performance: LoadGen's clock times the call and as little else as possible.

    SingleStream asks for one image at a time; one response, made beforehand, answers them all.
    """
    complete, response = loadgen.QuerySamplesComplete, loadgen.QuerySampleResponse(0, 0, 0)
    responses = [response]

    def ask(queries: Sequence[Any]) -> None:
        query = queries[0]
        infer(images[query.index])
        response.id = query.id
        complete(responses)

    return ask


def _answer_with_digit(infer: Infer, images: Sequence[Image], loadgen: Any) -> Ask:
    """Accuracy: LoadGen logs the digit, a byte."""
    response, complete = loadgen.QuerySampleResponse, loadgen.QuerySamplesComplete

    def ask(queries: Sequence[Any]) -> None:
        for query in queries:
            digit = np.array([infer(images[query.index]).argmax()], np.uint8)
            complete([response(query.id, digit.ctypes.data, digit.nbytes)])

    return ask


def _import(parents: AtHand) -> tuple[Any, str]:
    """LoadGen and its version: this interpreter's, or the parent's if it fits this Python."""
    try:
        import mlperf_loadgen

        return mlperf_loadgen, _version(parents.version)
    except ImportError:
        pass
    extensions = (ExtensionFileLoader, EXTENSION_SUFFIXES)  # those that this Python can load
    spec = FileFinder(parents.folder, extensions).find_spec(_MODULE)
    if spec is None or spec.loader is None:
        python = f"Python {sys.version_info.major}.{sys.version_info.minor}"
        raise Unavailable(
            f"MLPerf's LoadGen is not installed for {python}, in which this backend runs; fix it "
            f"with: {sys.executable} -m pip install {_DISTRIBUTION}"
        )
    loadgen = module_from_spec(spec)
    spec.loader.exec_module(loadgen)
    return loadgen, parents.version


def _version(otherwise: str) -> str:
    """The version installed here; `otherwise` if the parent's LoadGen was imported."""
    try:
        return version(_DISTRIBUTION)
    except PackageNotFoundError:
        return otherwise


def _logs(loadgen: Any, folder: Path) -> Any:
    output = loadgen.LogOutputSettings()
    output.outdir = str(folder)
    output.copy_summary_to_stdout = False
    settings = loadgen.LogSettings()
    settings.log_output = output
    settings.enable_trace = False  # a line a query, written while the next is timed
    return settings

"""One call of each backend as a trace, which Perfetto, speedscope and the Firefox Profiler open.

The format is Trace Event JSON in its object form: a process a backend, a complete event a function.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from msgspec import to_builtins

from ..atomic import write_atomically, writing
from ..errors import LenetBenchError, ResultError, Unavailable
from ..measure.anatomy import Span
from ..measure.environment import read_machine
from ..measure.options import CompareOptions, Entry
from ..measure.start import alone
from ..results.versioned import check_place

_WARM_S, _TIMED_S = 0.05, 0.2


@dataclass(frozen=True)
class Trace:
    """A traced call."""

    name: str
    median_us: float  # of calls without tracing
    spans: Sequence[Span]  # of the functions within it, and the call as the last

    @property
    def traced_us(self) -> float:
        """The duration of the traced call."""
        *_, (_, _, began, ended) = self.spans
        return (ended - began) / 1000

    def to_json(self) -> dict[str, Any]:
        """As plain data, with the number of functions in their place."""
        return {
            "name": self.name,
            "functions": len(self.spans) - 1,
            "median_us": self.median_us,
            "traced_us": self.traced_us,
        }


def trace(
    options: CompareOptions, path: Path, step: Callable[[str], None] = lambda _: None
) -> tuple[list[Trace], list[str]]:
    """Write one call of each backend of the options; returns the calls, and why others failed.

    Ctrl-C ends it and keeps what was traced until then.
    """
    check_place(path)
    found: list[Trace] = []
    failures: list[str] = []
    try:
        for entry in options.entries():
            step(entry.name)
            try:
                found.append(_traced(entry, options))
            except LenetBenchError as error:
                if options.backends or not isinstance(error, Unavailable):
                    failures.append(str(error))
    finally:
        if found:
            with writing(path, ResultError):
                write_atomically(path, json.dumps(_object(found)).encode())
    return found, failures


def _traced(entry: Entry, options: CompareOptions) -> Trace:
    with alone(entry, options.threads, options.weights) as start:
        samples_ns = start.time(_WARM_S, _TIMED_S)["samples_ns"]
        spans = start.ask("spans")["spans"]
    return Trace(entry.name, float(np.median(samples_ns)) / 1000, spans)


def _object(traces: Sequence[Trace]) -> dict[str, Any]:
    events = [event for process, one in enumerate(traces, 1) for event in _events(process, one)]
    return {
        "traceEvents": events,
        "displayTimeUnit": "ns",
        "otherData": {
            "machine": to_builtins(read_machine()),
            "calls": [one.to_json() for one in traces],
        },
    }


def _events(process: int, one: Trace) -> list[dict[str, Any]]:
    """The spans in microseconds from the beginning of the call; outer ones first."""
    of = {"pid": process, "tid": 1}
    *_, (_, _, began, _) = one.spans
    named = {"name": "process_name", "ph": "M", "args": {"name": one.name}, **of}
    complete = [
        {
            "name": name,
            "cat": "native" if native else "python",
            "ph": "X",
            "ts": (begin - began) / 1000,
            "dur": (end - begin) / 1000,
            **of,
        }
        for name, native, begin, end in sorted(one.spans, key=lambda span: (span[2], -span[3]))
    ]
    return [named, *complete]

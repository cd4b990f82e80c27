"""One call, function by function, in Python and in native code, with times.

Only the calling thread is traced, and native functions only where Python calls them. Tracing slows
Python down, so the times only show where to look; `compare` measures.
"""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

from .anatomy import function_name
from .calls import Image, clock

#: A function's name, whether it is native, and when it began and ended, ns.
Span = tuple[str, bool, int, int]


def spans(infer: Callable[[Image], Any], image: Image) -> list[Span]:
    """The spans of a warm call in the order of their ends: the whole call is the last."""
    found: list[Span] = []
    open_spans: list[tuple[str, bool, int]] = []

    def look(frame: FrameType, event: str, function: Any) -> None:
        if event in ("call", "c_call"):
            native = event == "c_call"
            name = _native_name(function) if native else function_name(frame)
            open_spans.append((name, native, clock()))
        elif open_spans:
            found.append((*open_spans.pop(), clock()))

    infer(image)
    sys.setprofile(look)
    try:
        call(infer, image)
    finally:
        sys.setprofile(None)
    return found


def call(infer: Callable[[Image], Any], image: Image) -> None:
    """The first function of the trace."""
    infer(image)


def _native_name(function: Any) -> str:
    name = getattr(function, "__qualname__", type(function).__name__)
    if name.startswith("pybind11_"):  # its own record in the place of the function's
        name = function.__name__
    module = getattr(function, "__module__", None)
    return f"{module}:{name}" if module else name

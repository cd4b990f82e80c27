"""The process of one backend: it builds the backend and answers the parent's questions (`built`).

The cores and the environment are set before this process starts.
"""

import gc
import sys
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from typing import Any

import numpy as np

from ..errors import Unavailable
from ..process import HungUp, Parent
from ..registry import find
from ..registry.building import import_backend
from ..weights import read_weights
from .built import Built, WrongAnswerError, checked_answers, is_expected, sentence
from .calls import clock
from .origin import Origin


def serve(parent: Parent) -> None:
    """Answer until the parent hangs up or something fails."""
    began_ns = time.monotonic_ns()
    built: Built | None = None
    while True:
        question = parent.hear()
        try:
            if built is None:
                built, answer = _start(question, began_ns)
            else:
                answer = getattr(built, question["do"])(question)
            parent.say(answer)
        except HungUp:
            raise
        except BaseException as error:
            parent.say({"failure": _failure(error)})
            return


def _start(question: Mapping[str, Any], began_ns: int) -> tuple[Built, dict[str, Any]]:
    """Build the backend and answer the first image, and time each step."""
    sys.path[:0] = question["path"]
    times = [clock()]
    factory = _import(question)
    times.append(clock())
    weights = read_weights(question["weights"])
    times.append(clock())
    origin = Origin(question["name"], weights, question["threads"], factory)
    network = origin.build()
    times.append(clock())
    answer = network.infer(question["image"])
    times.append(clock())
    parts = (np.diff(times) / 1e9).tolist()
    reply = {
        "cold_start": {
            "process_s": (began_ns - question["started_ns"]) / 1e9,
            **dict(zip(("import_s", "weights_s", "build_s", "first_s"), parts, strict=True)),
        },
        "answers": checked_answers([answer]),
        "runs": network.describe(),
    }
    built = Built(network, origin)
    gc.collect()
    gc.freeze()  # collections while timing look at new objects only
    return built, reply


def _import(question: Mapping[str, Any]) -> Any:
    """Import the backend's API; for a backend from elsewhere, its factory."""
    if question["factory"]:
        module, _, name = question["factory"].partition(":")
        return getattr(import_module(module), name)
    with suppress(Exception):  # `load` gives the reason and the command that fixes it
        import_backend(find(question["name"])[0])
    return None


def _failure(error: BaseException) -> dict[str, Any]:
    status = "crashed"
    if isinstance(error, Unavailable):
        status = "unavailable"
    elif isinstance(error, WrongAnswerError):
        status = "wrong"
    text = None if is_expected(error) else "".join(traceback.format_exception(error))
    return {"status": status, "reason": sentence(error), "traceback": text}

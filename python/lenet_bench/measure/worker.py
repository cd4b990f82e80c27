"""The process of one backend: it builds it and answers the parent's questions (`built`).

The cores and the environment were pinned before this process began.
"""

import gc
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import Unavailable
from ..process import HungUp, Parent
from ..registry import Network, find, load
from ..registry.building import import_backend
from ..weights import Weights, read_weights
from .built import Built, Infer, WrongAnswerError, checked_answers, is_expected, sentence
from .calls import Image, clock

if TYPE_CHECKING:
    from ..probes import Probe

Factory = Callable[[Weights], Network]


def serve(parent: Parent) -> None:
    """Answer until the parent hangs up, or until something fails: it is not timed again then."""
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
    """Build the backend and answer the first image; every part of the way has its time."""
    sys.path[:0] = question["path"]
    times = [clock()]
    factory = _import(question)
    times.append(clock())
    weights = read_weights(question["weights"])
    times.append(clock())
    network = factory(weights)
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
    built = Built(
        network,
        partial(_probes, question, weights),
        partial(_priced, question),
        partial(_kernels, question, weights),
    )
    gc.collect()
    gc.freeze()  # collections while timing look at new objects only
    return built, reply


def _import(question: Mapping[str, Any]) -> Factory:
    """Import the backend's API now; what comes back builds the network from weights."""
    threads = question["threads"]
    if question["factory"]:
        return partial(_from_elsewhere(question), threads=threads)
    name = question["name"]
    with suppress(Exception):  # `load` says it in a sentence that ends with what mends it
        import_backend(find(name)[0])
    return lambda weights: load(name, threads=threads, weights=weights, quiet=False)


def _probes(question: Mapping[str, Any], weights: Weights) -> "Sequence[Probe]":
    """What the backend's API is taken apart by; nothing where nobody has written that."""
    threads = question["threads"]
    if question["factory"]:
        offered = getattr(_from_elsewhere(question), "probes", None)
        return offered(weights, threads=threads) if offered else ()
    from ..probes import probes_of

    return probes_of(*find(question["name"]), weights, threads)


def _kernels(
    question: Mapping[str, Any], weights: Weights, by: str, infer: Infer, images: list[Image]
) -> list[dict[str, Any]]:
    """What is said of them by the engine, in a build of its own, or by oneDNN, of this build."""
    if question["factory"]:
        return []
    from ..probes.engines import told_by_engine
    from ..probes.onednn_verbose import told_by_onednn

    row, variant = find(question["name"])
    if by == "engine":
        return told_by_engine(row, variant, weights, question["threads"], images)
    return told_by_onednn(row, infer, images)


def _priced(question: Mapping[str, Any]) -> "Sequence[Probe]":
    """The other networks, written on the backend's API; nothing where nobody has written them."""
    from ..probes.written import WRITTEN, priced

    elsewhere = _from_elsewhere(question) if question["factory"] else None
    write = getattr(elsewhere, "written", None) or WRITTEN.get(question["name"])
    return priced(write, question["threads"]) if write else ()


def _from_elsewhere(question: Mapping[str, Any]) -> Any:
    module, _, name = question["factory"].partition(":")
    return getattr(import_module(module), name)


def _failure(error: BaseException) -> dict[str, Any]:
    status = "crashed"
    if isinstance(error, Unavailable):
        status = "unavailable"
    elif isinstance(error, WrongAnswerError):
        status = "wrong"
    text = None if is_expected(error) else "".join(traceback.format_exception(error))
    return {"status": status, "reason": sentence(error), "traceback": text}

"""One rung in a process of its own: it builds the rung and does as the parent tells it.

    python -m lenet_bench.measure.worker READ_FD WRITE_FD PARENT_PID

The cores and the environment were pinned before this process began. It says nothing on standard
output: what is printed there, the rung printed.
"""

import gc
import os
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from typing import Any, NoReturn

import numpy as np

from ..backends import Backend, find, load
from ..errors import Unavailable
from ..lifeline import die_with
from ..network import IMAGE_SIDE
from ..weights import read_weights
from .measured_rung import (
    MeasuredRung,
    WrongAnswerError,
    encode_answers,
    is_expected,
    sentence,
)
from .nvml import open_meter
from .protocol import Channel, ClosedError, Message, decode


def main() -> None:
    """Answer the parent until it hangs up."""
    began_ns = time.monotonic_ns()
    read_fd, write_fd, parent = map(int, sys.argv[1:])
    die_with(parent)
    for fd in (read_fd, write_fd):
        os.set_inheritable(fd, False)
    channel = Channel(read_fd, write_fd)
    try:
        rung = _start(channel, began_ns)
        while True:
            _answer(channel, rung)
    except (ClosedError, EOFError):
        return


def _start(channel: Channel, began_ns: int) -> MeasuredRung:
    """Build the rung and answer the first image; every part of the way has its time."""
    message = channel.receive()
    try:
        sys.path[:0] = message["path"]
        image = decode(message["image"], IMAGE_SIDE, IMAGE_SIDE)
        clock = time.perf_counter
        times = [clock()]
        factory = _import(message)
        times.append(clock())
        weights = read_weights(message["weights"])
        times.append(clock())
        backend = factory(weights)
        times.append(clock())
        answer = backend.infer(image)
        times.append(clock())
        runs = backend.describe()
        meter = open_meter(runs) if message["device"] == "gpu" else None
        rung = MeasuredRung(backend, meter)
        parts = np.diff(times).tolist()
        reply = {
            "cold_start": {
                "process_s": (began_ns - message["spawned_ns"]) / 1e9,
                **dict(zip(("import_s", "weights_s", "build_s", "first_s"), parts, strict=True)),
            },
            "answers": encode_answers([answer]),
            "runs": runs,
            "gpu": meter.name if meter else None,
        }
    except BaseException as error:
        _give_up(channel, error)
    gc.collect()
    gc.freeze()  # collections while timing look at the rung's new objects only
    channel.send(reply)
    return rung


def _import(message: Message) -> Callable[[Any], Backend]:
    """Import the rung's API now; what comes back builds the rung from weights."""
    threads = message["threads"]
    if message["factory"]:  # from outside the ladder
        module, _, name = message["factory"].partition(":")
        make = getattr(import_module(module), name)
        return lambda weights: make(weights, threads=threads)
    name = message["name"]
    module, _, _ = find(name)[0].exhibit.partition(":")
    with suppress(Exception):  # `load` says it in a sentence that ends with what mends it
        import_module(f"lenet_bench.backends.{module}")
    return lambda weights: load(name, threads=threads, weights=weights, quiet=False)


def _answer(channel: Channel, rung: MeasuredRung) -> None:
    message = channel.receive()
    commands = (
        rung.keep,
        rung.check,
        rung.probe,
        rung.turn,
        rung.batch,
        rung.profile,
        rung.dissect,
        rung.loadgen,
    )
    try:
        reply = {command.__name__: command for command in commands}[message["do"]](message)
    except BaseException as error:
        _give_up(channel, error)
    channel.send(reply)


def _give_up(channel: Channel, error: BaseException) -> NoReturn:
    """Tell the parent all of it and end: a rung that failed once is not timed again."""
    status = "crashed"
    if isinstance(error, Unavailable):
        status = "unavailable"
    elif isinstance(error, WrongAnswerError):
        status = "wrong"
    text = None if is_expected(error) else "".join(traceback.format_exception(error))
    with suppress(ClosedError):
        failure = {"status": status, "reason": sentence(error), "traceback": text}
        channel.send({"failure": failure})
    sys.stdout.flush()
    os._exit(1)  # what the rung registered for the exit may hang


if __name__ == "__main__":
    main()

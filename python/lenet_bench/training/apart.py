"""A run in a process of its own: what a framework chooses at import, it chooses for a process."""

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .. import environments
from ..backends import find
from ..measure.pinning import thread_variables
from ..results.typed_json import decode
from .result import FrameworkRun, Status
from .run import TrainOptions


def train_apart(options: TrainOptions) -> FrameworkRun:
    """The row that the run gives; whatever becomes of its process is told there."""
    threads = options.threads or 1
    variables = {
        **thread_variables(threads),
        **environments.variables(find(options.framework)[0], threads),
    }
    read_fd, write_fd = os.pipe()
    with subprocess.Popen(
        [sys.executable, "-m", f"{__package__}.child", str(write_fd), str(os.getpid())],
        env={**os.environ, **variables},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        pass_fds=(write_fd,),
        start_new_session=True,  # Ctrl-C comes to the parent, which hands it on
    ) as process:
        os.close(write_fd)
        with _handing_on_interrupts(process), os.fdopen(read_fd, "rb") as answer:
            assert process.stdin is not None
            with suppress(BrokenPipeError), process.stdin:  # it died at once: told below
                process.stdin.write(_to_json(options))
            content = answer.read()
    if content:
        run: FrameworkRun = decode(FrameworkRun, json.loads(content))
        return run
    return FrameworkRun(options.framework, *_how_it_ended(process.returncode))


@contextmanager
def _handing_on_interrupts(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    """The run ends as it would alone: after the batch under way, with a checkpoint."""

    def hand_on(_signal: int, _frame: object) -> None:
        process.send_signal(signal.SIGINT)

    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return
    before = signal.signal(signal.SIGINT, hand_on)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _how_it_ended(code: int) -> tuple[Status, str]:
    if code == -signal.SIGINT:
        return "interrupted", "stopped before it began to learn"
    if code >= 0:
        return "failed", f"its process ended with exit code {code}"
    name = signal.Signals(-code).name
    return "failed", f"its process was killed by {name} ({signal.strsignal(-code)})"


def _to_json(options: TrainOptions) -> bytes:
    """The options, their paths as text."""
    found = {name: str(v) if isinstance(v, Path) else v for name, v in vars(options).items()}
    recipe = options.recipe.to_json() if options.recipe else None
    return json.dumps({**found, "recipe": recipe}).encode()

"""The parent's hold on a worker process: start it, ask it, know how it died, leave none behind."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..lifeline import Guard
from ..results import Status
from .pinning import Cores, on_cores
from .protocol import Channel, ClosedError, Message

_TO_DIE_S = 2.0  # from the end of the conversation to the end of the process
_OUTPUT_KEPT = 8 << 10


class WorkerError(Exception):
    """The rung's row ends here: its status, the reason and, where there is one, the traceback."""

    def __init__(self, status: Status, reason: str, traceback: str | None = None) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason
        self.traceback = traceback


class WorkerProcess:
    """One rung's process, until `end`; or that of another module which speaks by the same pipes.

    `shown`: what it writes to standard error is the user's to see.
    """

    def __init__(
        self,
        python: str,
        variables: Mapping[str, str],
        cores: Cores,
        *,
        module: str = "lenet_bench.measure.worker",
        shown: bool = False,
    ) -> None:
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the worker
        self._out_of_memory_kills = _out_of_memory_kills()
        their_read, our_write = os.pipe()
        our_read, their_write = os.pipe()
        command = [python, "-u", "-X", "faulthandler", "-m", module]
        self.spawned_ns = time.monotonic_ns()
        try:
            with on_cores(cores.worker):
                self._process = subprocess.Popen(
                    [*command, str(their_read), str(their_write), str(os.getpid())],
                    env={**os.environ, **variables},
                    stdin=subprocess.DEVNULL,
                    stdout=self._output,
                    stderr=None if shown else subprocess.STDOUT,
                    pass_fds=(their_read, their_write),
                    start_new_session=True,  # Ctrl-C is the parent's to handle
                )
        except OSError as error:
            for fd in (our_read, our_write):
                os.close(fd)
            self._output.close()
            reason = f"{python} cannot be started: {error.strerror}"
            raise WorkerError("unavailable", reason) from None
        finally:
            for fd in (their_read, their_write):
                os.close(fd)
        self._guard = Guard(self._process)
        process_fd = os.pidfd_open(self._process.pid) if hasattr(os, "pidfd_open") else None
        self._channel = Channel(our_read, our_write, process_fd)
        self._ended = False

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    @property
    def ended(self) -> bool:
        """Whether it was ended, or found dead."""
        return self._ended

    def ask(self, do: str, timeout_s: float, **rest: Any) -> Message:
        """One command and its reply; WorkerError where none comes, and the process is ended."""
        self.tell({"do": do, **rest}, timeout_s)
        reply = self.hear(timeout_s)
        if failure := reply.get("failure"):
            self.end()
            raise WorkerError(failure["status"], failure["reason"], failure["traceback"])
        return reply

    def tell(self, message: Message, timeout_s: float) -> None:
        """Say something that wants no reply; WorkerError as for `ask`."""
        with self._ended_where_it_fails(timeout_s):
            self._channel.send(message, timeout_s)

    def hear(self, timeout_s: float) -> Message:
        """What it says next, unasked; WorkerError as for `ask`."""
        with self._ended_where_it_fails(timeout_s):
            return self._channel.receive(timeout_s)

    def interrupt(self) -> None:
        """Send it Ctrl-C."""
        self._process.send_signal(signal.SIGINT)

    def kill(self) -> None:
        """Kill it and whatever it started; who listens to it will notice."""
        self._guard.kill()

    def end(self) -> None:
        """Kill it and whatever it started, at once: it has nothing to save."""
        if self._ended:
            return
        self._ended = True
        self._guard.end()
        self._channel.close()

    def output(self) -> str:
        """What it printed, without the middle where that is long."""
        output = self._output.fileno()  # its position is the worker's too, so nothing may move it
        size = os.fstat(output).st_size
        start = os.pread(output, _OUTPUT_KEPT, 0).decode(errors="replace")
        if size <= _OUTPUT_KEPT:
            return start
        end = max(_OUTPUT_KEPT, size - _OUTPUT_KEPT)
        rest = os.pread(output, size - end, end).decode(errors="replace")
        left_out = size - 2 * _OUTPUT_KEPT
        return start + (f"\n[{left_out} bytes left out]\n" if left_out > 0 else "") + rest

    def close(self) -> None:
        """End it and forget its output."""
        self.end()
        self._output.close()

    @contextmanager
    def _ended_where_it_fails(self, timeout_s: float) -> Iterator[None]:
        try:
            yield
        except TimeoutError:
            self.end()
            raise WorkerError("timeout", f"did not answer within {timeout_s:g} s") from None
        except ClosedError:
            raise WorkerError("crashed", self._how_it_died()) from None

    def _how_it_died(self) -> str:
        try:
            code = self._process.wait(_TO_DIE_S)
        except subprocess.TimeoutExpired:
            self.end()
            return "hung up without ending its process"
        self.end()
        if code >= 0:
            return f"ended its process with exit code {code}"
        if -code == signal.SIGKILL and _out_of_memory_kills() > self._out_of_memory_kills:
            return "killed by the system: out of memory"
        name = signal.Signals(-code).name
        return f"killed by {name} ({signal.strsignal(-code)})"


def _out_of_memory_kills() -> int:
    """How many processes the kernel has killed for want of memory; 0 where it does not tell."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)

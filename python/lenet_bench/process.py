"""The one way to start, ask and end a child process.

The parent holds a `Child`. The child runs `module:function`, which gets a `Parent` to hear and to
answer. They use a socket of their own, so output of a library cannot disturb the messages. A
message is plain data: what pickle knows without importing, and NumPy arrays as bytes, since pickled
arrays differ between versions of NumPy. Nothing else is accepted from a child.

Between the two is the keeper (keeper.py): no child outlives its parent, even if that is killed by
SIGKILL, and nothing that a child started outlives the child. Children are killed, so they leave
temporary files; these are removed when the parent ends.
"""

import atexit
import io
import json
import os
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from multiprocessing.connection import Connection, Pipe, wait
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from . import errors

_LARGEST_MESSAGE = 1 << 28  # bytes from a child; printed text read as a message seems to be larger
_TO_DIE_S = 2.0  # from the end of the connection to the end of the process
_TO_END_S = 20.0  # all that a child started
#: Without the working directory, from which Python 3.10 would import first.
_KEEP = (
    "import sys; sys.path[:] = filter(None, sys.path); "
    f"from {__package__}.keeper import main; main()"
)
_OUTPUT_KEPT = 8 << 10
_TEMPORARY = "lenet-bench-"  # how the name of our temporary folder begins


class Died(Exception):
    """The child does not answer: it is missing (it could not be started), late, or dead."""

    def __init__(self, how: Literal["missing", "late", "dead"], reason: str) -> None:
        super().__init__(reason)
        self.how = how
        self.reason = reason  # half a sentence: killed by SIGKILL

    @property
    def sentence(self) -> str:
        """With its subject, for the user of the child: its process was killed by SIGKILL."""
        if self.how != "dead":
            return self.reason
        if self.reason.startswith("killed"):
            return f"its process was {self.reason}"
        return f"its process {self.reason}"


class Raised(errors.LenetBenchError):
    """The child raised an error that errors.py does not have: `ValueError: not a number`."""


class HungUp(Exception):
    """The other process is gone, or it sent something that is no message."""


class Child:
    """A process that runs `module:function`, until `end`.

    What it prints is kept (`output`), shown on standard error, or dropped.
    """

    def __init__(
        self,
        function: str,
        *,
        python: str = sys.executable,
        variables: Mapping[str, str] | None = None,
        printed: Literal["kept", "shown", "dropped"] = "kept",
    ) -> None:
        try:
            self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the child
            temporary = temporary_folder()
        except OSError as error:  # as in a container that may only be read
            raise errors.Unavailable(
                f"no temporary file can be made ({error.strerror}); {errors.TEMPORARY}"
            ) from None
        to: Any = {"kept": self._output, "shown": _stderr(), "dropped": subprocess.DEVNULL}[printed]
        self._out_of_memory_kills = _out_of_memory_kills()
        self._connection, theirs = Pipe()
        command = [python, "-u", "-X", "faulthandler", "-c", _KEEP]
        self._keeper, keepers = socket.socketpair()
        self.started_ns = time.monotonic_ns()
        with theirs, keepers:
            try:
                self._process = subprocess.Popen(
                    [*command, str(theirs.fileno()), function],
                    env={
                        **os.environ,
                        "TMPDIR": temporary,
                        "PYTHONSAFEPATH": "1",  # from 3.11 on, of the processes that it starts too
                        "PYTHONWARNINGS": "",  # as errors they would end frameworks' imports
                        **(variables or {}),
                    },
                    stdin=keepers.fileno(),
                    stdout=to,
                    stderr=to,
                    pass_fds=[theirs.fileno()],
                    start_new_session=True,  # Ctrl-C is the parent's to handle
                )
            except OSError as error:
                self._connection.close()
                self._keeper.close()
                self._output.close()
                why = f"{python} cannot be started: {error.strerror}"
                raise Died("missing", why) from None
        self._process_fd = None
        if hasattr(os, "pidfd_open"):
            self._process_fd = os.pidfd_open(self._process.pid)
        self.ended = False  # or noticed to be dead
        self.left: tuple[str, ...] = ()  # daemons that it started, which were ended with it
        self._code: int | None = None
        self._said = self._keeper.makefile("r", encoding="ascii", errors="replace")
        self.pid = int(self._said.readline() or self._process.pid)

    def ask(self, question: Any, timeout_s: float | None = None) -> Any:
        """Send a question and wait for the answer; without one, end the child and raise Died."""
        self.tell(question, timeout_s)
        return self.hear(timeout_s)

    def answer(self, question: Any, timeout_s: float | None = None) -> Any:
        """What `Parent.answer` gives for a question; what it raises is raised here."""
        kind, answer = self.ask(question, timeout_s)
        if kind is None:
            return answer
        error = getattr(errors, kind, None)
        if isinstance(error, type) and issubclass(error, errors.LenetBenchError):
            raise error(answer)
        raise Raised(f"{kind}: {answer}")

    def tell(self, message: Any, timeout_s: float | None = None) -> None:
        """Send a message that needs no answer."""
        with self._cut_off_after(timeout_s):
            _send(self._connection, message)

    def hear(self, timeout_s: float | None = None) -> Any:
        """Its next message."""
        ends: list[Any] = [self._connection]
        if self._process_fd is not None:
            ends.append(self._process_fd)
        until = None if timeout_s is None else time.monotonic() + timeout_s
        if self.ended or not wait(ends, timeout_s):
            self._fail(timeout_s)
        if not self._connection.poll():  # so the process has ended
            raise self._death()
        with self._cut_off_after(None if until is None else max(0.1, until - time.monotonic())):
            return _receive(self._connection, _LARGEST_MESSAGE)

    def pause(self) -> None:
        """Stop it and all that it started, until `go_on`."""
        self._signal_all(signal.SIGSTOP)

    def go_on(self) -> None:
        self._signal_all(signal.SIGCONT)

    def kill(self) -> None:
        """Kill it and all that it started; a pending `hear` raises Died."""
        self._process.terminate()

    def end(self) -> None:
        """Kill it and all that it started, at once: it has nothing to save."""
        if self.ended:
            return
        self.kill()
        self.ended = True
        try:
            self._process.wait(_TO_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        try:
            report = json.loads(self._said.read())
            self._code, self.left = report["code"], tuple(report["left"])
        except (OSError, ValueError):  # the keeper was killed
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        self._said.close()
        self._keeper.close()
        self._connection.close()
        if self._process_fd is not None:
            os.close(self._process_fd)

    def output(self) -> str:
        """What it printed, without the middle where that is long."""
        output = self._output.fileno()  # the child shares its position, so it must not be moved
        size = os.fstat(output).st_size
        if size <= 2 * _OUTPUT_KEPT:
            return os.pread(output, size, 0).decode(errors="replace")
        ends = (os.pread(output, _OUTPUT_KEPT, at) for at in (0, size - _OUTPUT_KEPT))
        left_out = f"\n[{size - 2 * _OUTPUT_KEPT} bytes left out]\n"
        return left_out.join(end.decode(errors="replace") for end in ends)

    def close(self) -> None:
        """End it and forget its output."""
        self.end()
        self._output.close()

    def _signal_all(self, number: signal.Signals) -> None:
        if not self.ended:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, number)

    @contextmanager
    def _cut_off_after(self, timeout_s: float | None) -> Iterator[None]:
        """Raise Died also where a message has begun and is not complete in time."""
        if self.ended:
            raise Died("dead", "was ended")
        late = threading.Event()

        def cut_off() -> None:
            late.set()
            with socket.socket(fileno=os.dup(self._connection.fileno())) as end:
                end.shutdown(socket.SHUT_RDWR)

        timer = threading.Timer(timeout_s or 0.0, cut_off)
        timer.daemon = True
        if timeout_s is not None:
            timer.start()
        try:
            yield
            timer.cancel()
            if late.is_set():  # the next message would not come
                self._fail(timeout_s)
        except HungUp:
            if late.is_set():
                self._fail(timeout_s)
            raise self._death() from None
        finally:
            timer.cancel()

    def _fail(self, timeout_s: float | None) -> None:
        self.end()
        raise Died("late", f"did not answer within {round(timeout_s or 0, 1):g} s")

    def _death(self) -> Died:
        """How it died, as half a sentence."""
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_TO_DIE_S)
        if self._process.poll() is None and not _runs(self.pid):  # only its keeper is late
            with suppress(subprocess.TimeoutExpired):
                self._process.wait(_TO_END_S)
        code = self._process.poll()
        self.end()
        if code is None:
            return Died("dead", "closed its connection to lenet-bench but is still running")
        code = code if self._code is None else self._code
        if code >= 0:
            said = [line.strip() for line in self.output().splitlines() if line.strip()][-1:]
            return Died("dead", ": ".join([f"ended with exit code {code}", *said]))
        if -code == signal.SIGKILL and _out_of_memory_kills() > self._out_of_memory_kills:
            return Died("dead", "killed by the system: out of memory")
        name = signal.Signals(-code).name
        return Died("dead", f"killed by {name} ({signal.strsignal(-code)})")


class Parent:
    """The child's side of the connection."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._pid = os.getpid()

    def hear(self) -> Any:
        """The parent's next message, of any size; raises HungUp if the parent is gone."""
        return _receive(self._connection, None)

    def say(self, message: Any) -> None:
        """Send an answer. A copy of this process that a library forked ends here instead."""
        if os.getpid() != self._pid:
            os._exit(1)
        _send(self._connection, message)

    def answer(self, give: Callable[[], Any]) -> None:
        """Say what it gives, or which error it raises: for `Child.answer`."""
        try:
            self.say((None, give()))
        except HungUp:
            raise
        except errors.LenetBenchError as error:
            self.say((type(error).__name__, str(error)))
        except Exception as error:
            self.say((type(error).__name__, errors.first_line(error)))


def without_reports() -> None:
    """Keep OpenVINO and ONNX Runtime from reporting to their makers, beside the timed calls."""
    sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"


def serve() -> None:
    """In the child: run the function that the command line names, then exit at once."""
    descriptor, function = sys.argv[1:]
    os.set_inheritable(int(descriptor), False)
    module, _, name = function.partition(":")
    code = 0
    without_reports()
    try:
        getattr(import_module(module), name)(Parent(Connection(int(descriptor))))
    except HungUp:
        pass
    except BaseException:
        traceback.print_exc()
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    os._exit(code)  # a library's exit handler may hang


class _Pickler(pickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, (np.ndarray, np.generic)):
            shape = None if isinstance(value, np.generic) else value.shape
            return _array, (value.tobytes(), value.dtype.str, shape)
        if value is _array:
            return NotImplemented
        raise pickle.PicklingError(f"{type(value).__name__} is not plain data")


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == (__name__, _array.__name__):
            return _array
        raise pickle.UnpicklingError(f"{module}.{name} is not plain data")


def _array(content: bytes, dtype: str, shape: tuple[int, ...] | None) -> Any:
    """The array, or NumPy's scalar as a Python number."""
    array: NDArray[Any] = np.frombuffer(content, dtype)
    return array.item() if shape is None else array.reshape(shape).copy()


def _send(connection: Connection, message: Any) -> None:
    content = io.BytesIO()
    _Pickler(content).dump(message)
    try:
        connection.send_bytes(content.getbuffer())
    except OSError:
        raise HungUp from None


def _receive(connection: Connection, largest: int | None) -> Any:
    try:
        content = connection.recv_bytes(largest)
    except (EOFError, OSError):
        raise HungUp from None
    try:
        return _Unpickler(io.BytesIO(content)).load()
    except Exception:  # pickle raises many types on invalid input
        raise HungUp from None


_one_at_a_time = threading.Lock()


def temporary_folder() -> str:
    """A folder that all children of this process share, so that they find compiled files there.

    A child's children share it too.
    """
    inherited = os.environ.get("TMPDIR", "")
    if Path(inherited).name.startswith(_TEMPORARY):
        return inherited
    with _one_at_a_time:
        return _make_temporary_folder()


@cache
def _make_temporary_folder() -> str:
    """It is removed when this process ends, even if that is killed: what does so begins first."""
    folder = tempfile.mktemp(prefix=_TEMPORARY)
    remove = 'read -r _; sleep 1; rm -rf -- "$0"'  # after the children are killed
    watcher = subprocess.Popen(  # `read` waits until this process has ended
        ["/bin/sh", "-c", remove, folder],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,  # signals of the terminal do not reach it
    )
    Path(folder).mkdir(mode=0o700)
    owner = os.getpid()

    def end() -> None:
        if os.getpid() == owner:  # not a forked copy
            with suppress(ValueError):  # not the main thread
                signal.signal(signal.SIGINT, signal.SIG_IGN)
            shutil.rmtree(folder, ignore_errors=True)
            watcher.kill()
            watcher.communicate()

    atexit.register(end)
    return folder


def same_modules() -> dict[str, str]:
    """The variable with which a child imports from where this process does."""
    return {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _stderr() -> Any:
    """The standard error of this process; /dev/null where there is none."""
    try:
        return sys.stderr.fileno()
    except (AttributeError, OSError, ValueError):
        return subprocess.DEVNULL


def _runs(pid: int) -> bool:
    """Whether it has not ended, as far as this system says."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(errors="replace")
    except OSError:
        return not Path("/proc/self/stat").exists()
    return stat.rpartition(") ")[2][:1] not in ("Z", "X")


def _out_of_memory_kills() -> int:
    """How many processes the kernel killed because memory ran out; 0 if it does not say."""
    try:
        lines = Path("/proc/vmstat").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("oom_kill ")), 0)

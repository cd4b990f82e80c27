"""A rung in a process of its own, where this one cannot hold it.

The child is the same `load`, in the interpreter and with the variables that its rung needs; it
answers over a socket, so that a framework may print what it likes. For timing, use
`lenet-bench compare`, whose clock runs inside the rung's process: here each call adds the socket.
"""

import os
import socket
import subprocess
import sys
import weakref
from multiprocessing.connection import Connection
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import environments, errors
from ..errors import LenetBenchError, Unavailable
from ..lifeline import Guard
from ..weights import Weights
from . import find, load, wrong_version
from ._input import check_images

_ERRORS = {"TypeError": TypeError, "ValueError": ValueError}
_SECONDS = 300  # to be built: ahead-of-time compilers on a slow machine

Packed = tuple[tuple[int, ...], bytes]


class Apart:
    """Asks the child; one call at a time."""

    def __init__(self, name: str, weights: Weights, *, threads: int, quiet: bool) -> None:
        rung, _ = find(name)
        self._name = name
        ours, theirs = socket.socketpair()
        command = [environments.interpreter(rung), "-m", __name__, str(theirs.fileno())]
        output = subprocess.DEVNULL if quiet else None
        with theirs:
            try:
                self._child = subprocess.Popen(
                    command,
                    env={**os.environ, **environments.variables(rung, threads, quiet=quiet)},
                    pass_fds=[theirs.fileno()],
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    start_new_session=True,  # to be ended with all that it started
                )
            except OSError as error:
                ours.close()
                raise Unavailable(f"{command[0]} cannot be started: {error.strerror}") from None
        self._connection = Connection(ours.detach())
        self._one_at_a_time = Lock()
        guard = Guard(self._child)  # a rung that hangs does not hear that nobody asks
        self.close = weakref.finalize(self, _end, self._connection, guard)
        parameters = {key: _pack(array) for key, array in weights.parameters.items()}
        try:
            self._ask((name, threads, parameters), _SECONDS)
        except BaseException:
            self.close()
            raise

    def infer(self, images: NDArray[np.float32]) -> NDArray[np.float32]:
        """Probabilities, as of any rung; a call costs the way to the other process too."""
        if not isinstance(images, np.ndarray) or images.dtype != np.float32:
            check_images(images)
        return _unpack(self._ask(("infer", _pack(images))))

    def layers(self, image: NDArray[np.float32]) -> dict[str, NDArray[np.float32]]:
        """What the rung shows."""
        return {key: _unpack(packed) for key, packed in self._ask(("layers", _pack(image))).items()}

    def describe(self) -> dict[str, str]:
        """What the rung says, and that it is not in this process."""
        described: dict[str, str] = self._ask(("describe",))
        return {**described, "process": "of its own"}

    def _ask(self, message: tuple[Any, ...], seconds: float | None = None) -> Any:
        try:
            with self._one_at_a_time:
                self._connection.send(message)
                if not self._connection.poll(seconds):
                    raise Unavailable(f"{self._name} did not answer within {seconds:g} seconds")
                kind, answer = self._connection.recv()
        except (OSError, EOFError):
            why = f"its process ended with status {self._child.wait()}"
            rung, _ = find(self._name)
            raise Unavailable(
                wrong_version(rung, self._name, why) or f"{self._name}: {why}"
            ) from None
        if kind == "answer":
            return answer
        error = _ERRORS.get(kind) or getattr(errors, kind, None)
        if error is None:
            raise LenetBenchError(f"{self._name} fails with {kind}: {answer}")
        raise error(answer)


def _end(connection: Connection, guard: Guard) -> None:
    connection.close()
    guard.end()


def _pack(array: NDArray[np.float32]) -> Packed:
    """Shape and bytes: arrays as such do not travel between versions of NumPy."""
    return array.shape, np.ascontiguousarray(array, np.float32).tobytes()


def _unpack(packed: Packed) -> NDArray[np.float32]:
    shape, content = packed
    return np.frombuffer(content, np.float32).reshape(shape).copy()


def _answer(backend: Any, message: tuple[Any, ...]) -> Any:
    if message[0] == "infer":
        return _pack(backend.infer(_unpack(message[1])))
    if message[0] == "layers":
        return {key: _pack(value) for key, value in backend.layers(_unpack(message[1])).items()}
    return backend.describe()


def main() -> None:
    """Build the rung that the first message names, then answer until the parent hangs up."""
    connection = Connection(int(sys.argv[1]))
    backend: Any = None
    while True:
        try:
            message = connection.recv()
        except (EOFError, OSError):
            os._exit(0)  # what a framework registered for the exit may hang
        try:
            if backend is None:
                name, threads, parameters = message
                weights = Weights({key: _unpack(packed) for key, packed in parameters.items()})
                backend = load(name, threads=threads, weights=weights, quiet=False)
                answer: Any = None
            else:
                answer = _answer(backend, message)
        except Exception as error:
            connection.send((type(error).__name__, str(error)))
        else:
            connection.send(("answer", answer))


if __name__ == "__main__":
    main()

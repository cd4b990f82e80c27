"""The lesson's server: the page and the backends' answers, for a browser on this machine only.

It listens on 127.0.0.1, and every request needs the token in the address. A request without it is
refused before any work, and cannot delay others: among the connections that have not shown the
token, the oldest is closed for a new one.
"""

import asyncio
import os
import secrets
import signal
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from http import HTTPStatus
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LenetBenchError
from ..measure.interrupts import polite_kills
from ..measure.pinning import on_cores
from ..network import IMAGE_SIDE
from .engines import Engines
from .live import Live
from .request import Refused, Request, check_length, head, json_line, parse_head

HOST = "127.0.0.1"
IMAGE_BYTES = IMAGE_SIDE * IMAGE_SIDE * 4

_LONGEST_HEAD = 8 << 10
_SLOW_S = 10.0  # for a request to arrive, and for its answer to be taken
_MOST_UNKNOWN = 64  # connections that have not shown the token
_BACKLOG = 128
_REQUESTS, _DRAWINGS = (200.0, 200), (20.0, 20)  # of those who know the token: a second, at once
_INFER, _BACKENDS = "/infer", "/backends"
_KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "wasm": "application/wasm",
}


def serve(
    page: str, live: Live, engines: Engines, *, port: int = 0, opened: Callable[[str], None]
) -> None:
    """Serve until Ctrl-C or SIGTERM, then end all backends; `opened` gets the address."""
    try:
        asyncio.run(_serve(Lesson(page, live, engines), port, opened))
    finally:
        live.close()


async def _serve(lesson: "Lesson", port: int, opened: Callable[[str], None]) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, *polite_kills()):
        loop.add_signal_handler(number, stop.set)
    try:
        server = await loop.create_server(lambda: _Connection(lesson), HOST, port, backlog=_BACKLOG)
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise LenetBenchError(
            f"port {port} cannot be used: {why}; choose another with --port, or none"
        ) from None
    opened(lesson.open(server.sockets[0].getsockname()[1]))  # a browser may have every core
    with on_cores(lesson.own_cores):
        await stop.wait()
    server.close()
    await loop.run_in_executor(None, lesson.close)


class Lesson:
    """The requests and their answers."""

    def __init__(self, page: str, live: Live, engines: Engines) -> None:
        self._live = live
        self._engines = list(engines.names)
        self._files = {"/": (_KINDS["html"], page.encode())} | {
            f"/engines/{name}": (_kind(name), content) for name, content in engines.files.items()
        }
        self._token = secrets.token_urlsafe(24)
        self._hosts: tuple[str, ...] = ()
        self.unknown: dict[_Connection, None] = {}  # have not shown the token; the oldest first
        self.drawings: set[asyncio.Task[None]] = set()
        self._requests, self._asked = _Allowance(*_REQUESTS), _Allowance(*_DRAWINGS)
        self._newest = 0  # the number of the newest drawing
        self._asking = asyncio.Lock()
        self._asker = ThreadPoolExecutor(1)

    def open(self, port: int) -> str:
        """Start the backends in the background; returns the address."""
        self._hosts = (f"{HOST}:{port}", f"localhost:{port}")
        self._live.begin()
        return f"http://{HOST}:{port}/?token={self._token}"

    @property
    def own_cores(self) -> tuple[int, ...]:
        """The cores on which this process disturbs no backend."""
        return self._live.own_cores

    def close(self) -> None:
        """End all drawings and all backends."""
        self._newest += 1
        self._live.close()

    def make_room(self) -> None:
        """Room for one more connection that has not shown the token."""
        while len(self.unknown) >= _MOST_UNKNOWN:
            oldest = next(iter(self.unknown))
            del self.unknown[oldest]
            oldest.transport.abort()

    def admitted(self, request: Request) -> str:
        """The requested path without the token; Refused if the request is not allowed."""
        host, origin = request.headers.get("host"), request.headers.get("origin")
        if host not in self._hosts:
            raise Refused(HTTPStatus.FORBIDDEN, "expected the host that lenet-bench printed")
        if origin not in (None, f"http://{host}"):
            raise Refused(HTTPStatus.FORBIDDEN, "expected a request of the lesson's own page")
        path, tokens = request.path, request.query.get("token", [])
        if path.startswith("/engines/"):  # whose files find each other by relative addresses
            token, _, name = path.removeprefix("/engines/").partition("/")
            path, tokens = f"/engines/{name}", [token]
        if len(tokens) != 1 or not secrets.compare_digest(tokens[0].encode(), self._token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "expected the token that lenet-bench printed")
        return path

    def check(self, request: Request, path: str) -> None:
        """Answer a request that has the token; Refused where there is no such page, or too many."""
        if path not in (_INFER, _BACKENDS, *self._files):
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")
        method, allowance = ("POST", self._asked) if path == _INFER else ("GET", self._requests)
        if request.method != method:
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"expected {method}", Allow=method)
        if not allowance.take():
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, "too many requests", **{"Retry-After": "1"})
        if path == _INFER:
            check_length(request, IMAGE_BYTES)

    def answer(self, path: str) -> tuple[str, bytes]:
        """The content at the path, and its media type."""
        if path == _BACKENDS:
            listed = {"backends": self._live.states(), "engines": self._engines}
            return "application/json", json_line(listed)
        return self._files[path]

    async def infer(self, image: NDArray[np.float32], transport: asyncio.Transport) -> None:
        """A line for each backend as it answers, until there is a newer drawing."""
        self._newest += 1
        mine, loop = self._newest, asyncio.get_running_loop()
        transport.write(head(HTTPStatus.OK, "application/x-ndjson"))
        async with self._asking:
            for name in self._live.ready():
                if mine != self._newest or transport.is_closing():
                    break
                line = await loop.run_in_executor(self._asker, self._ask, name, image)
                transport.write(json_line(line))
        transport.close()

    def _ask(self, name: str, image: NDArray[np.float32]) -> Mapping[str, Any]:
        try:
            return asdict(self._live.ask(name, image))
        except LenetBenchError as error:
            return {"name": name, "error": str(error)}


class _Connection(asyncio.Protocol):
    """One connection, which is one request."""

    transport: asyncio.Transport

    def __init__(self, lesson: Lesson) -> None:
        self._lesson = lesson
        self._came = bytearray()
        self._path: str | None = None  # that is asked for, once it is known that it may be

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Read its request within the time limit."""
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self._late = asyncio.get_running_loop().call_later(_SLOW_S, transport.abort)
        self._lesson.make_room()
        self._lesson.unknown[self] = None

    def connection_lost(self, _: Exception | None) -> None:
        """The connection is closed."""
        self._late.cancel()
        self._lesson.unknown.pop(self, None)

    def data_received(self, data: bytes) -> None:
        """The next bytes of its request."""
        if self.transport.is_closing():
            return
        self._came += data
        try:
            self._read()
        except Refused as refused:
            self.transport.write(refused.answer())
            self.transport.close()

    def _read(self) -> None:
        if self._path is None:
            end = self._came.find(b"\r\n\r\n")
            if max(end, len(self._came) if end < 0 else 0) > _LONGEST_HEAD:
                raise Refused(
                    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                    f"expected a head of at most {_LONGEST_HEAD} bytes",
                )
            if end < 0:
                return
            request = parse_head(bytes(self._came[:end]))
            path = self._lesson.admitted(request)
            self._lesson.unknown.pop(self, None)
            self._lesson.check(request, path)
            self._path = path
            del self._came[: end + 4]
        if self._path != _INFER:
            kind, content = self._lesson.answer(self._path)
            self.transport.write(head(HTTPStatus.OK, kind, len(content)))
            self.transport.write(content)
            self.transport.close()
        elif len(self._came) >= IMAGE_BYTES:
            image = _image(bytes(self._came[:IMAGE_BYTES]))
            self.transport.pause_reading()
            self._late.cancel()
            task = asyncio.create_task(self._lesson.infer(image, self.transport))
            self._lesson.drawings.add(task)  # which nobody else keeps alive
            task.add_done_callback(self._lesson.drawings.discard)


class _Allowance:
    """A limit of requests per second and at once."""

    def __init__(self, a_second: float, at_once: int) -> None:
        self._a_second, self._at_once = a_second, at_once
        self._left, self._then = float(at_once), time.monotonic()

    def take(self) -> bool:
        now = time.monotonic()
        self._left = min(self._at_once, self._left + (now - self._then) * self._a_second)
        self._then = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


def _image(body: bytes) -> NDArray[np.float32]:
    image = np.frombuffer(body, "<f4").astype(np.float32).reshape(IMAGE_SIDE, IMAGE_SIDE)
    if not (image >= 0).all() or not (image <= 1).all():  # written so that NaN is refused
        raise Refused(HTTPStatus.BAD_REQUEST, "expected 784 numbers from 0 to 1")
    return image


def _kind(name: str) -> str:
    return _KINDS.get(name.rpartition(".")[2], "application/octet-stream")

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
from contextlib import suppress
from dataclasses import asdict, dataclass, field
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

_LONGEST_HEAD, _END_OF_HEAD = 8 << 10, b"\r\n\r\n"
_SLOW_S = 10.0  # to send a request, and to read its answer
_BACKLOG = 128
_MOST_UNKNOWN = 2 * _BACKLOG  # connections that have not shown the token, the newest not yet read
_REQUESTS, _DRAWINGS = (200.0, 200), (20.0, 20)  # limits with the token: a second, at once
_INFER, _BACKENDS = "/infer", "/backends"
_KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "wasm": "application/wasm",
}
_BINARY = "application/octet-stream"  # any other suffix


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
        server = await asyncio.start_server(
            lesson.connected, HOST, port, limit=_LONGEST_HEAD, backlog=_BACKLOG
        )
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise LenetBenchError(
            f"port {port} cannot be used: {why}; choose another with --port, or leave --port out"
        ) from None
    opened(lesson.open(server.sockets[0].getsockname()[1]))  # a browser may have every core
    with on_cores(lesson.live.own_cores):
        await stop.wait()
    server.close()
    await loop.run_in_executor(None, lesson.close)


class Lesson:
    """The requests and their answers."""

    def __init__(self, page: str, live: Live, engines: Engines) -> None:
        self.live = live
        self._engines = list(engines.names)
        self._files = {"/": (_KINDS["html"], page.encode())} | {
            f"/engines/{name}": (_KINDS.get(name.rpartition(".")[2], _BINARY), content)
            for name, content in engines.files.items()
        }
        self._access = _Access()
        self._allowed = {"GET": _Allowance(*_REQUESTS), "POST": _Allowance(*_DRAWINGS)}
        self._newest = 0  # the number of the newest drawing
        self._asking = asyncio.Lock()

    def open(self, port: int) -> str:
        """Start the backends in the background; returns the address."""
        self._access.hosts = (f"{HOST}:{port}", f"localhost:{port}")
        self.live.begin()
        return f"http://{HOST}:{port}/?token={self._access.token}"

    def close(self) -> None:
        """End all drawings and all backends."""
        self._newest += 1
        self.live.close()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, which is one request."""
        transport = writer.transport
        late = asyncio.get_running_loop().call_later(_SLOW_S, transport.abort)
        self._access.enter(transport)
        try:
            path = await self._asked_for(reader, transport)
            if path == _INFER:
                image = _image(await reader.readexactly(IMAGE_BYTES))
                late.cancel()
                await self._infer(image, writer)
            else:
                kind, content = self._content(path)
                writer.write(head(HTTPStatus.OK, kind, len(content)))
                writer.write(content)
        except Refused as refused:
            writer.write(refused.answer())
        except (asyncio.IncompleteReadError, ConnectionError):
            pass  # the client has gone
        except asyncio.CancelledError:  # the lesson ends; raised further, asyncio would log it
            transport.abort()
        finally:
            writer.close()
        with suppress(ConnectionError, asyncio.CancelledError):
            await writer.wait_closed()  # until the answer is taken
        late.cancel()
        self._access.unknown.pop(transport, None)

    async def _asked_for(
        self, reader: asyncio.StreamReader, transport: asyncio.WriteTransport
    ) -> str:
        """The path of an allowed request; Refused otherwise."""
        try:
            content = await reader.readuntil(_END_OF_HEAD)
        except asyncio.LimitOverrunError:
            raise Refused(
                HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
                f"expected a head of at most {_LONGEST_HEAD} bytes",
            ) from None
        request = parse_head(content.removesuffix(_END_OF_HEAD))
        path = self._access.admitted(request)
        self._access.unknown.pop(transport, None)
        if path not in (_INFER, _BACKENDS, *self._files):
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")
        method = "POST" if path == _INFER else "GET"
        if request.method != method:
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"expected {method}", Allow=method)
        if not self._allowed[method].take():
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, "too many requests", **{"Retry-After": "1"})
        if path == _INFER:
            check_length(request, IMAGE_BYTES)
        return path

    def _content(self, path: str) -> tuple[str, bytes]:
        """The media type and the content at the path."""
        if path == _BACKENDS:
            listed = {"backends": self.live.states(), "engines": self._engines}
            return "application/json", json_line(listed)
        return self._files[path]

    async def _infer(self, image: NDArray[np.float32], writer: asyncio.StreamWriter) -> None:
        """A line for each backend as it answers, until there is a newer drawing."""
        self._newest += 1
        mine = self._newest
        writer.write(head(HTTPStatus.OK, "application/x-ndjson"))
        async with self._asking:
            for name in self.live.ready():
                if mine != self._newest or writer.is_closing():
                    break
                writer.write(json_line(await asyncio.to_thread(self._ask, name, image)))

    def _ask(self, name: str, image: NDArray[np.float32]) -> Mapping[str, Any]:
        try:
            return asdict(self.live.ask(name, image))
        except LenetBenchError as error:
            return {"name": name, "error": str(error)}


@dataclass
class _Access:
    """Who may ask: those of this machine who know the token."""

    token: str = field(default_factory=lambda: secrets.token_urlsafe(24))
    hosts: tuple[str, ...] = ()
    #: The connections that have not shown the token, the oldest first.
    unknown: dict[asyncio.WriteTransport, None] = field(default_factory=dict)

    def enter(self, transport: asyncio.WriteTransport) -> None:
        """One more connection that has not shown the token; the oldest make room for it."""
        while len(self.unknown) >= _MOST_UNKNOWN:
            oldest = next(iter(self.unknown))
            del self.unknown[oldest]
            oldest.abort()
        self.unknown[transport] = None

    def admitted(self, request: Request) -> str:
        """The requested path without the token; Refused if the request is not allowed."""
        host, origin = request.headers.get("host"), request.headers.get("origin")
        if host not in self.hosts:
            raise Refused(HTTPStatus.FORBIDDEN, "expected the host that lenet-bench printed")
        if origin not in (None, f"http://{host}"):
            raise Refused(HTTPStatus.FORBIDDEN, "expected a request of the lesson's own page")
        path, tokens = request.path, request.query.get("token", [])
        if path.startswith("/engines/"):  # these files import each other by relative addresses
            token, _, name = path.removeprefix("/engines/").partition("/")
            path, tokens = f"/engines/{name}", [token]
        if len(tokens) != 1 or not secrets.compare_digest(tokens[0].encode(), self.token.encode()):
            raise Refused(HTTPStatus.FORBIDDEN, "expected the token that lenet-bench printed")
        return path


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

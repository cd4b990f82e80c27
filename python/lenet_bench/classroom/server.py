"""The lesson's server: the page and the backends' answers, for a browser on this machine only.

It listens on 127.0.0.1, and whoever asks must know the token in its address. What does not is
refused before any work, and cannot keep others waiting: of the connections that have not shown the
token the oldest make room for new ones.
"""

import asyncio
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
from .request import LONGEST_HEAD, Refused, Request, body_length, head, json_line, read_head

HOST = "127.0.0.1"
IMAGE_BYTES = IMAGE_SIDE * IMAGE_SIDE * 4

_SLOW_S = 10.0  # for a request to arrive, and for its answer to be taken
_MOST_UNKNOWN = 64  # connections that have not shown the token
_MOST_KNOWN = 64
_BACKLOG = 256
_REQUESTS, _DRAWINGS = (200.0, 200), (20.0, 20)  # of those who know the token: a second, at once
_KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "wasm": "application/wasm",
}


def serve(
    page: str, live: Live, engines: Engines, *, port: int = 0, opened: Callable[[str], None]
) -> None:
    """Serve until Ctrl-C or a polite kill, then end all backends; `opened` gets the address."""
    try:
        with on_cores(live.own_cores):
            asyncio.run(_serve(Lesson(page, live, engines), port, opened))
    finally:
        live.close()


async def _serve(lesson: "Lesson", port: int, opened: Callable[[str], None]) -> None:
    stop, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGINT, *polite_kills()):
        loop.add_signal_handler(number, stop.set)
    try:
        server = await asyncio.start_server(
            lesson.connected, HOST, port, limit=LONGEST_HEAD, backlog=_BACKLOG
        )
    except OSError as error:
        raise LenetBenchError(
            f"port {port} cannot be used: {error.strerror}; choose another with --port, or none"
        ) from None
    opened(lesson.address(server.sockets[0].getsockname()[1]))
    await stop.wait()
    server.close()
    await loop.run_in_executor(None, lesson.close)


class Lesson:
    """What is answered to whom."""

    def __init__(self, page: str, live: Live, engines: Engines) -> None:
        self._live = live
        self._engines = list(engines.names)
        self._files = {"/": (_KINDS["html"], page.encode())} | {
            f"/engines/{name}": (_kind(name), content) for name, content in engines.files.items()
        }
        self._token = secrets.token_urlsafe(24)
        self._hosts: tuple[str, ...] = ()
        self._unknown: dict[asyncio.StreamWriter, None] = {}  # the oldest first
        self._known = 0
        self._requests, self._drawings = _Allowance(*_REQUESTS), _Allowance(*_DRAWINGS)
        self._newest = 0  # the number of the newest drawing
        self._asking = asyncio.Lock()
        self._asker = ThreadPoolExecutor(1)

    def address(self, port: int) -> str:
        """The page's address, once it is known where this listens; the backends begin to start."""
        self._hosts = (f"{HOST}:{port}", f"localhost:{port}")
        self._live.begin()
        return f"http://{HOST}:{port}/?token={self._token}"

    def close(self) -> None:
        self._live.close()
        self._asker.shutdown()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, which is one request."""
        if len(self._unknown) >= _MOST_UNKNOWN:
            oldest = next(iter(self._unknown))
            del self._unknown[oldest]
            oldest.transport.abort()
        self._unknown[writer] = None
        late = _abort_late(writer)
        try:
            request = await read_head(reader)
            path = self._admitted(request)
            del self._unknown[writer]
            self._known += 1
            try:
                await self._answer(request, path, reader, writer, late)
            finally:
                self._known -= 1
        except Refused as refused:
            writer.write(refused.answer())
        except (asyncio.IncompleteReadError, ConnectionError, KeyError):
            pass  # it went, or had to
        finally:
            self._unknown.pop(writer, None)
            writer.close()
            if not writer.transport.get_write_buffer_size():
                late.cancel()

    def _admitted(self, request: Request) -> str:
        """The path that it asks for, without the token; Refused where it may not ask."""
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

    async def _answer(
        self,
        request: Request,
        path: str,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        late: asyncio.TimerHandle,
    ) -> None:
        """Whoever asks knows the token."""
        if path not in ("/infer", "/backends", *self._files):
            raise Refused(HTTPStatus.NOT_FOUND, "there is no such page")
        method = "POST" if path == "/infer" else "GET"
        if request.method != method:
            raise Refused(HTTPStatus.METHOD_NOT_ALLOWED, f"expected {method}", Allow=method)
        allowance = self._drawings if path == "/infer" else self._requests
        if self._known > _MOST_KNOWN or not allowance.take():
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, "too many requests", **{"Retry-After": "1"})
        if path == "/infer":
            body_length(request, IMAGE_BYTES)
            image = _image(await reader.readexactly(IMAGE_BYTES))
            late.cancel()
            await self._infer(image, writer)
            _abort_late(writer)
        elif path == "/backends":
            content = json_line({"backends": self._live.states(), "engines": self._engines})
            writer.write(head(HTTPStatus.OK, "application/json", len(content)) + content)
        else:
            kind, content = self._files[path]
            writer.write(head(HTTPStatus.OK, kind, len(content)) + content)

    async def _infer(self, image: NDArray[np.float32], writer: asyncio.StreamWriter) -> None:
        """A line a backend, as each answers; no more of them once there is a newer drawing."""
        self._newest += 1
        mine, loop = self._newest, asyncio.get_running_loop()
        writer.write(head(HTTPStatus.OK, "application/x-ndjson"))
        async with self._asking:
            for name in self._live.ready():
                if mine != self._newest or writer.is_closing():
                    return
                line = await loop.run_in_executor(self._asker, self._ask, name, image)
                writer.write(json_line(line))
                await writer.drain()

    def _ask(self, name: str, image: NDArray[np.float32]) -> Mapping[str, Any]:
        try:
            return asdict(self._live.ask(name, image))
        except LenetBenchError as error:
            return {"name": name, "error": str(error)}


class _Allowance:
    """So many a second, and so many at once."""

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


def _abort_late(writer: asyncio.StreamWriter) -> asyncio.TimerHandle:
    """Nobody may keep a connection for longer than this."""
    return asyncio.get_running_loop().call_later(_SLOW_S, writer.transport.abort)


def _image(body: bytes) -> NDArray[np.float32]:
    image = np.frombuffer(body, "<f4").astype(np.float32).reshape(IMAGE_SIDE, IMAGE_SIDE)
    if not (image >= 0).all() or not (image <= 1).all():  # written so that NaN is refused
        raise Refused(HTTPStatus.BAD_REQUEST, "expected 784 numbers from 0 to 1")
    return image


def _kind(name: str) -> str:
    return _KINDS.get(name.rpartition(".")[2], "application/octet-stream")

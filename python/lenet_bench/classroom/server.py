"""The lesson's server: the page and the backends' answers, for a browser on this machine only.

It listens on 127.0.0.1, and every address contains a token. A request that does not have it, or
that another site's page makes, is refused before any work.
"""

import json
import secrets
import signal
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from select import select
from typing import Any

import numpy as np

from ..arrays import Floats
from ..errors import LenetBenchError
from ..measure.interrupts import polite_kills
from ..measure.pinning import on_cores
from ..network import IMAGE_SIDE
from .engines import Engines
from .live import Live

HOST = "127.0.0.1"
IMAGE_BYTES = IMAGE_SIDE * IMAGE_SIDE * 4

_SLOW_S = 10.0  # longest wait for a client's next bytes, and until it takes an answer
_MOST = 64  # threads, one for each connection; further connections are closed
_KINDS = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "mjs": "text/javascript; charset=utf-8",
    "wasm": "application/wasm",
}
_BINARY = "application/octet-stream"  # any other suffix

#: Headers of every answer. The page itself has the policy for scripts and styles. The two
#: `Cross-Origin` policies isolate it: a browser's clock then has steps of 5 us, not of 100 us.
_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
}


def serve(
    page: str, live: Live, engines: Engines, *, port: int = 0, opened: Callable[[str], None]
) -> None:
    """Serve until Ctrl-C or SIGTERM, then end all backends; `opened` gets the address."""
    try:
        lesson = Lesson(page, live, engines, port)
    except OSError as error:
        raise LenetBenchError(
            f"port {port} cannot be used: {error.strerror}; choose another with --port, or leave "
            "--port out"
        ) from None

    def stop(*_: object) -> None:
        threading.Thread(target=lesson.shutdown).start()  # it waits for `serve_forever`

    for number in (signal.SIGINT, *polite_kills()):
        signal.signal(number, stop)
    try:
        with lesson:
            live.begin()
            opened(lesson.address("/"))  # a browser may have every core
            with on_cores(live.own_cores):
                lesson.serve_forever()
    finally:
        live.close()


class Lesson(ThreadingHTTPServer):
    """The page, the engines' files and the backends."""

    request_queue_size = _MOST

    def __init__(self, page: str, live: Live, engines: Engines, port: int = 0) -> None:
        super().__init__((HOST, port), Connection)
        self.hosts = tuple(f"{name}:{self.server_port}" for name in (HOST, "localhost"))
        self.live = live
        self.asking = threading.Lock()
        self._token = secrets.token_urlsafe(24)
        self._engines = list(engines.names)
        self._files = {self.path("/"): (_KINDS["html"], page.encode())}
        for name, content in engines.files.items():  # they import each other by relative addresses
            kind = _KINDS.get(name.rpartition(".")[2], _BINARY)
            self._files[f"/engines/{self._token}/{name}"] = kind, content

    def path(self, name: str) -> str:
        """What a request of this name asks for."""
        return f"{name}?token={self._token}"

    def address(self, name: str) -> str:
        return f"http://{self.hosts[0]}{self.path(name)}"

    def content(self, path: str) -> tuple[str, bytes] | None:
        """The media type and the content at this path; None if there is none."""
        if path == self.path("/backends"):
            listed = {"backends": self.live.states(), "engines": self._engines}
            return "application/json", _json_line(listed)
        return self._files.get(path)

    def ask(self, name: str, image: Floats) -> Mapping[str, Any]:
        """A backend's answer, or why it has none."""
        try:
            return asdict(self.live.ask(name, image))
        except LenetBenchError as error:
            return {"name": name, "error": str(error)}

    def verify_request(self, *_: object) -> bool:
        """Whether there is a thread for one more connection."""
        return threading.active_count() < _MOST


class Connection(BaseHTTPRequestHandler):
    """One connection, which is one request."""

    server: Lesson
    timeout = _SLOW_S
    disable_nagle_algorithm = True  # each line is sent at once
    default_request_version = "HTTP/1.0"  # every answer has its headers
    error_message_format = "%(message)s\n"
    error_content_type = "text/plain; charset=utf-8"

    def handle(self) -> None:
        with suppress(OSError):  # the client has gone
            super().handle()

    def parse_request(self) -> bool:
        """Read the head; False if the request is refused."""
        if not super().parse_request():
            return False
        host, origin = self.headers["Host"], self.headers["Origin"]
        if host not in self.server.hosts:
            self.send_error(HTTPStatus.FORBIDDEN, "expected the host that lenet-bench printed")
        elif origin not in (None, f"http://{host}"):
            self.send_error(HTTPStatus.FORBIDDEN, "expected a request of the lesson's own page")
        else:
            return True
        return False

    def do_GET(self) -> None:
        """The page, a file of an engine, or the backends' states."""
        found = self.server.content(self.path)
        if not found:
            self._refuse_path()
            return
        kind, content = found
        self._begin(kind, len(content))
        self.wfile.write(content)

    def do_POST(self) -> None:
        """A line for each backend as it answers a drawing, until the page wants no more."""
        image, lesson = self._image(), self.server
        if image is None:
            return
        self._begin("application/x-ndjson")
        for name in lesson.live.ready():
            with lesson.asking:
                if self._is_closed():
                    return
                answer = lesson.ask(name, image)
            self.wfile.write(_json_line(answer))

    def _is_closed(self) -> bool:
        """Whether the page has closed the connection, as it does for a newer drawing."""
        ended, _, _ = select([self.connection], [], [], 0)
        return bool(ended)

    def _image(self) -> Floats | None:
        """The drawing that is sent; None if the request is refused."""
        if self.path != self.server.path("/infer"):
            self._refuse_path()
            return None
        length = self.headers["Content-Length"]
        body = self.rfile.read(IMAGE_BYTES) if length == str(IMAGE_BYTES) else b""
        if len(body) == IMAGE_BYTES:
            image = np.frombuffer(body, "<f4").astype(np.float32).reshape(IMAGE_SIDE, IMAGE_SIDE)
            if (image >= 0).all() and (image <= 1).all():  # written so that NaN is refused
                return image
        self.send_error(HTTPStatus.BAD_REQUEST, "expected 784 float32 numbers from 0 to 1")
        return None

    def _refuse_path(self) -> None:
        self.send_error(HTTPStatus.FORBIDDEN, "expected the address that lenet-bench printed")

    def _begin(self, kind: str, length: int | None = None) -> None:
        """The head of an answer; without a length it ends where the connection does."""
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", kind)
        if length is not None:
            self.send_header("Content-Length", str(length))
        self.end_headers()

    def end_headers(self) -> None:
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing: a request's line has the token."""


def _json_line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"

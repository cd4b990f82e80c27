"""HTTP requests of a browser and the answers, as bytes; unusual requests are refused.

One request for each connection, and only the HTTP that a page needs: no kept connections, no folded
header lines, no body of unknown length.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qs

_REQUEST = re.compile(r"([A-Z]{1,8}) (/[!-~]*) HTTP/1\.[01]")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[\t -~\x80-\xff]*")
_ONCE = ("host", "origin", "content-length")

#: Headers of every answer. The page itself has the policy for scripts and styles. The two
#: `Cross-Origin` policies isolate it: a browser's clock then has steps of 5 us, not of 100 us.
_HEADERS = {
    "Connection": "close",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class Refused(Exception):
    """A request that is answered with an error sentence."""

    def __init__(self, status: HTTPStatus, sentence: str, **headers: str) -> None:
        super().__init__(sentence)
        self.status = status
        self.headers = headers

    def answer(self) -> bytes:
        text = f"{self}\n".encode()
        return head(self.status, "text/plain; charset=utf-8", len(text), **self.headers) + text


@dataclass(frozen=True)
class Request:
    """The head of a request."""

    method: str
    path: str
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]  # by their names in lower case


def parse_head(content: bytes) -> Request:
    """The request with this head, up to its empty line; Refused where it is invalid."""
    first, *lines = content.decode("latin-1").split("\r\n")
    asked = _REQUEST.fullmatch(first)
    if asked is None:
        raise Refused(HTTPStatus.BAD_REQUEST, "expected a request such as GET / HTTP/1.1")
    path, _, text = asked[2].partition("?")
    try:
        query = parse_qs(text, keep_blank_values=True, max_num_fields=8)
    except ValueError:
        raise Refused(HTTPStatus.BAD_REQUEST, "expected a shorter query") from None
    return Request(asked[1], path, query, _headers(lines))


def check_length(request: Request, expected: int) -> None:
    """Refuse a body of another length before it is read."""
    if "transfer-encoding" in request.headers:
        raise Refused(HTTPStatus.NOT_IMPLEMENTED, "expected a body with its Content-Length")
    said = request.headers.get("content-length")
    if said is None:
        raise Refused(HTTPStatus.LENGTH_REQUIRED, f"expected a body of {expected} bytes")
    if not re.fullmatch(r"[0-9]{1,18}", said) or int(said) < expected:
        raise Refused(HTTPStatus.BAD_REQUEST, f"expected a body of {expected} bytes, got {said}")
    if int(said) > expected:
        raise Refused(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"expected a body of {expected} bytes, got {said}"
        )


def head(status: HTTPStatus, kind: str, length: int | None = None, **headers: str) -> bytes:
    """The head of an answer; without a length it ends where the connection does."""
    lines = {"Content-Type": kind, **_HEADERS, **headers}
    if length is not None:
        lines["Content-Length"] = str(length)
    text = "".join(f"{name}: {value}\r\n" for name, value in lines.items())
    return f"HTTP/1.1 {status.value} {status.phrase}\r\n{text}\r\n".encode("latin-1")


def json_line(value: Any) -> bytes:
    return json.dumps(value).encode() + b"\n"


def _headers(lines: list[str]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not (colon and _NAME.fullmatch(name) and _VALUE.fullmatch(value)):
            raise Refused(HTTPStatus.BAD_REQUEST, "expected header lines such as Host: 127.0.0.1")
        name = name.lower()
        if name in headers and name in _ONCE:
            raise Refused(HTTPStatus.BAD_REQUEST, f"expected one header {name}")
        headers[name] = value.strip()
    return headers

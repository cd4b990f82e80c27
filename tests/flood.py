"""Rubbish for a port, as fast as it is refused, until killed: `python flood.py PORT`.

Every half second it prints how many requests were refused so far, and in how many seconds.
"""

import socket
import sys
import time
from itertools import cycle, islice

AT_ONCE = 40
RUBBISH = (
    b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
    b"POST /infer?token=guess HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 3136\r\n\r\n",
    b"GET /engines/guess/../../weights HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
    b"GET /?token= HTTP/1.1\r\nHost: evil.example:%d\r\n\r\n",
    b"\x16\x03\x01 no HTTP at all %d\r\n\r\n",
)
REFUSED = (b"HTTP/1.1 400", b"HTTP/1.1 403")

if __name__ == "__main__":
    port = int(sys.argv[1])
    rubbish = cycle(one % port for one in RUBBISH)
    refused, began = 0, time.monotonic()
    printed_at = began
    while True:
        connections = [socket.create_connection(("127.0.0.1", port)) for _ in range(AT_ONCE)]
        for connection, request in zip(connections, islice(rubbish, AT_ONCE), strict=True):
            connection.sendall(request)
        for connection in connections:
            answer = connection.recv(1 << 16)
            assert answer.startswith(REFUSED), answer
            connection.close()
            refused += 1
        if time.monotonic() > printed_at + 0.5:
            printed_at = time.monotonic()
            print(refused, printed_at - began, flush=True)

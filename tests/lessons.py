"""A served lesson, as a test talks to it: whole requests as bytes, and what comes back."""

import json
import re
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import psutil
from conftest import environment
from lenet_bench.classroom import Live
from lenet_bench.classroom.engines import Engines
from lenet_bench.classroom.server import Lesson
from processes import under_way, wait_for

TIMEOUT_S = 180


@dataclass(frozen=True)
class Served:
    """A lesson that runs, and its address."""

    process: subprocess.Popen[str] | None
    address: str

    @property
    def port(self):
        return int(re.search(r":(\d+)/", self.address)[1])

    @property
    def token(self):
        return self.address.partition("token=")[2]

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port), TIMEOUT_S)

    def ask(self, content):
        with self.connect() as connection:
            connection.sendall(content)
            answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        status, *lines = head.decode("latin-1").split("\r\n")
        return int(status.split()[1]), dict(line.split(": ", 1) for line in lines), body

    def request(self, path, method="GET", body=None, *lines, token=None, host=None):
        """The bytes of a request as the page makes it."""
        host = host or f"127.0.0.1:{self.port}"
        token = self.token if token is None else token
        length = [f"Content-Length: {len(body)}"] if body is not None else []
        head = [f"{method} {path}?token={token} HTTP/1.1", f"Host: {host}", *length, *lines]
        return "\r\n".join([*head, "", ""]).encode("latin-1") + (body or b"")

    def get(self, path):
        return self.ask(self.request(path))

    def backends(self):
        """Each backend's state, by its name."""
        listed = json.loads(self.get("/backends")[2])["backends"]
        return {one["name"]: one for one in listed}

    def answers(self, image):
        status, _, body = self.ask(self.drawing(image))
        assert status == 200, body
        return [json.loads(line) for line in body.splitlines()]

    def drawing(self, image):
        return self.request("/infer", "POST", image.astype("<f4").tobytes())

    def workers(self):
        """The backends' processes, in the order in which they were started."""
        keepers = psutil.Process(self.process.pid).children()
        every = [one for keeper in keepers for one in keeper.children()]
        workers = [one for one in every if "lenet_bench.measure.worker:serve" in one.cmdline()]
        return sorted(workers, key=psutil.Process.create_time)

    def wait_until_ready(self):
        started = ("ready", "failed")
        wait_for(lambda: all(one["state"] in started for one in self.backends().values()))


@contextmanager
def served(*command, **variables):
    """A lesson by this command; it has ended in the end."""
    process = under_way(sys.executable, *command, env=environment(**variables))
    try:
        address = process.stdout.readline().strip()
        assert address.startswith("http://127.0.0.1:"), process.stderr.read()
        yield Served(process, address)
    finally:
        process.terminate()
        process.communicate(timeout=TIMEOUT_S)


def served_here(live=None):
    """A lesson in this process, until its end."""
    lesson = Lesson("<!doctype html>", live or Live([]), Engines())
    threading.Thread(target=lesson.serve_forever, daemon=True).start()
    return Served(None, lesson.address("/"))


def stroke():
    image = np.zeros((28, 28), np.float32)
    image[4:24, 13:16] = 0.9
    return image

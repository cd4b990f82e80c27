"""The lesson's server: backends answer live, and nobody else can use, read or stop it."""

import signal
import socket
import sys
import threading
from contextlib import ExitStack
from pathlib import Path

import numpy as np
import psutil
import pytest
from lenet_bench import load
from lenet_bench.classroom import Live, installed
from lenet_bench.classroom.server import Connection
from lenet_bench.errors import LenetBenchError
from lessons import served, served_here, stroke
from processes import alive, linux, wait_for
from sample_results import blocks, log, write_log
from scratch_backends import (
    AnswersWrongly,
    AnswersWronglyWhenTimed,
    CannotRun,
    Hangs,
    Honest,
    KillsItself,
    Raises,
    entry,
)

BACKENDS = ("fused", "numpy", "openblas")
LATE_S = 20  # for the one that hangs


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    rows = blocks("fused", 20), blocks("numpy", 90), blocks("keras", 40_000)
    return write_log(tmp_path_factory.mktemp("results") / "mine.jsonl", log(*rows))


@pytest.fixture(scope="module")
def command(saved):
    named = [word for name in BACKENDS for word in ("--backend", name)]
    return ["-m", "lenet_bench", "classroom", saved, "--serve", *named]


@pytest.fixture(scope="module")
def lesson(command):
    with served(*command) as lesson:
        lesson.wait_until_ready()
        yield lesson


def test_the_page_is_served_isolated(lesson):
    status, headers, body = lesson.get("/")
    assert status == 200
    assert body.lower().startswith(b"<!doctype html>")
    assert headers["Content-Type"] == "text/html; charset=utf-8"
    isolated = {
        **{"Cross-Origin-Opener-Policy": "same-origin", "X-Content-Type-Options": "nosniff"},
        **{"Cross-Origin-Embedder-Policy": "require-corp", "Referrer-Policy": "no-referrer"},
    }
    assert isolated.items() <= headers.items()


def test_only_this_machine_is_listened_to(lesson):
    listening = psutil.Process(lesson.process.pid).net_connections()
    ports = {one.laddr.ip for one in listening if one.status == psutil.CONN_LISTEN}
    assert ports == {"127.0.0.1"}


def test_every_backend_answers_a_drawing_with_its_time(lesson):
    expected = load("reference").infer(stroke())
    answers = lesson.answers(stroke())
    assert [one["name"] for one in answers] == list(BACKENDS)
    for answer in answers:
        np.testing.assert_allclose(answer["probabilities"], expected, atol=1e-5)
        assert answer["digit"] == 1
        assert answer["us"] > 0
        assert 3 <= answer["calls"] <= 50


@linux
def test_no_backend_runs_that_is_not_asked(lesson):
    lesson.answers(stroke())
    wait_for(lambda: all(one.status() == psutil.STATUS_STOPPED for one in lesson.workers()))


PIXELS = 784
INK = np.full(PIXELS, 0.5, "<f4")


def with_pixel(value):
    image = INK.copy()
    image[400] = value
    return image.tobytes()


def asked(*arguments, **others):
    return lambda it: it.request(*arguments, **others)


def posted(*arguments):
    return asked("/infer", "POST", *arguments)


HOSTILE = {
    "no token": (403, asked("/", token="")),
    "a guessed token": (403, asked("/backends", token="x" * 32)),
    "a guessed token for an engine": (403, lambda it: raw(it, "/engines/x/lenet.onnx")),
    "another host": (403, asked("/", host="evil.example")),
    "another host's port": (403, asked("/", host="127.0.0.1:1")),
    "another origin": (403, posted(INK.tobytes(), "Origin: http://evil.example")),
    "another port's origin": (403, posted(INK.tobytes(), "Origin: http://127.0.0.1:1")),
    "an origin that is none": (403, asked("/backends", "GET", None, "Origin: null")),
    "an unknown path": (403, asked("/weights")),
    "a path upwards": (403, lambda it: raw(it, f"/engines/{it.token}/../../etc/passwd")),
    "a drawing for the page": (403, asked("/", "POST", INK.tobytes())),
    "another method": (501, asked("/", "DELETE")),
    "no length": (400, asked("/infer", "POST")),
    "too short a body": (400, posted(INK.tobytes()[4:])),
    "too long a body": (400, posted(INK.tobytes() + b"0")),
    "chunks": (400, posted(None, "Transfer-Encoding: chunked")),
    "not a number": (400, posted(with_pixel(np.nan))),
    "more than white": (400, posted(with_pixel(1.5))),
    "an endless head": (431, asked("/", "GET", None, *["X: 1"] * 110)),
}


def raw(lesson, path):
    return f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{lesson.port}\r\n\r\n".encode()


@pytest.mark.parametrize("what", HOSTILE)
def test_what_the_page_would_not_ask_is_refused_in_a_sentence(lesson, what):
    expected, request = HOSTILE[what]
    status, headers, body = lesson.ask(request(lesson))
    assert status == expected
    assert headers["Content-Type"].startswith("text/plain")
    assert len(body.splitlines()) == 1
    assert lesson.token.encode() not in body
    assert len(lesson.answers(stroke())) == len(BACKENDS)


@pytest.mark.parametrize("sent", [20, -1])  # bytes: of the head, and of the body
def test_a_request_that_does_not_end_is_closed(monkeypatch, sent):
    monkeypatch.setattr(Connection, "timeout", 0.1)
    lesson = served_here()
    with lesson.connect() as slow:
        slow.sendall(lesson.drawing(stroke())[:sent])
        assert slow.recv(1) == b""


def test_of_many_connections_the_newest_are_closed(monkeypatch):
    monkeypatch.setattr(Connection, "timeout", None)
    lesson = served_here()
    with ExitStack() as held:
        oldest, *_, newest = [held.enter_context(lesson.connect()) for _ in range(100)]
        assert newest.recv(1) == b""
        oldest.sendall(lesson.request("/"))
        assert oldest.recv(12) == b"HTTP/1.0 200"


@linux
def test_open_shows_no_token_to_other_users(command, tmp_path):
    browser = tmp_path / "browser"
    browser.write_text(f"""#!{sys.executable}
import os, pathlib, sys
from urllib.parse import urlparse
path = pathlib.Path(urlparse(sys.argv[1]).path)
modes = f"{{path.stat().st_mode & 0o777:o}} {{path.parent.stat().st_mode & 0o777:o}}"
found = pathlib.Path({str(tmp_path / "part")!r})
found.write_text("\\n".join([sys.argv[1], modes, path.read_text()]))
found.rename(found.with_name("found"))
""")
    browser.chmod(0o755)
    with served(*command, "--open", BROWSER=str(browser)) as lesson:
        wait_for((tmp_path / "found").exists)
        address, modes, page = (tmp_path / "found").read_text().split("\n", 2)
        assert lesson.token not in address
        assert modes == "600 700"
        assert f"url={lesson.address}" in page
    assert not Path(address.removeprefix("file://")).exists()


def test_a_backend_that_dies_costs_its_own_row(command):
    with served(*command) as lesson:
        lesson.wait_until_ready()
        lesson.workers()[1].kill()
        fused, numpy, openblas = lesson.answers(stroke())
        assert "SIGKILL" in numpy["error"]
        assert fused["digit"] == openblas["digit"] == 1


@linux
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_however_the_lesson_ends_no_process_is_left(command, number):
    with served(*command) as lesson:
        wait_for(lambda: lesson.backends()["fused"]["state"] == "ready")
        every = psutil.Process(lesson.process.pid).children(recursive=True)
        drawing = lesson.connect()
        drawing.sendall(lesson.drawing(stroke()))
        lesson.process.send_signal(number)
        code = lesson.process.wait(180)
        drawing.close()
        assert code == (0 if number != signal.SIGKILL else -signal.SIGKILL)
        if number != signal.SIGKILL:
            assert "Traceback" not in lesson.process.stderr.read()
        wait_for(lambda: not any(alive(one.pid) for one in every))


def started(*factories):
    late_s = LATE_S if Hangs in factories else 120
    live = Live([entry(factory) for factory in factories], late_s=late_s)
    live.begin()
    wait_for(lambda: all(one["state"] in ("ready", "failed") for one in live.states()))
    return live


@pytest.mark.parametrize(
    ("factory", "starts", "reason"),
    [
        pytest.param(Hangs, True, "timeout", marks=pytest.mark.slow),
        (KillsItself, True, "SIGKILL"),
        (Raises, True, "the descriptor is stale"),
        (AnswersWronglyWhenTimed, True, "wrong: its probabilities differ"),
        (CannotRun, False, "unavailable: its library is missing"),
        (AnswersWrongly, False, "wrong: "),
    ],
)
def test_one_that_fails_each_time_is_asked_no_more(factory, starts, reason):
    live = started(factory, Honest)
    try:
        if starts:
            for _ in range(3):  # as often as it is started
                wait_for(lambda: live.ready() == [factory.__name__, "Honest"])
                with pytest.raises(LenetBenchError, match=reason):
                    live.ask(factory.__name__, stroke())
        assert live.states()[0]["state"] == "failed"
        assert reason in live.states()[0]["reason"]
        assert live.ready() == ["Honest"]
        assert live.ask("Honest", stroke()).digit == 1
    finally:
        live.close()


def test_no_other_is_asked_for_a_client_that_has_gone(monkeypatch):
    live, asked = started(Honest, Raises), []

    def ask(name, image):
        asked.append(name)
        connection.recv(1 << 16)  # or it is a reset
        connection.close()
        return answer(name, image)

    answer = live.ask
    monkeypatch.setattr(live, "ask", ask)
    lesson = served_here(live)
    connection = lesson.connect()
    connection.sendall(lesson.drawing(stroke()))
    wait_for(lambda: asked and not any("request" in one.name for one in threading.enumerate()))
    live.close()
    assert asked == ["Honest"]


def test_none_is_started_where_memory_is_short():
    live = Live(["numpy"], spare_mib=1 << 40)
    live.begin()
    wait_for(lambda: live.states()[0]["state"] == "failed")
    assert "memory" in live.states()[0]["reason"]
    assert live.ready() == []
    live.close()


def test_what_is_not_installed_is_not_tried():
    here = installed()
    assert {"fused", "numpy", "reference"} <= set(here)
    assert "theano" not in here
    assert not any(":" in name for name in here)


def test_a_taken_port_is_a_sentence(refused, saved):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        said = refused("classroom", saved, "--serve", "--backend", "numpy", "--port", port)
    assert f"port {port}" in said
    assert "--port" in said


def test_engines_without_npm_are_a_sentence(refused, saved, tmp_path):
    nowhere = {"PATH": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path)}
    said = refused("classroom", saved, "--serve", "--browser-engines", **nowhere)
    assert "npm is not installed" in said


def test_a_site_is_a_folder_for_a_web_server(run, refused, saved, tmp_path):
    address = "https://a.example/lesson/"
    done = run("classroom", saved, "--site", "-o", tmp_path / "site", "--address", address)
    assert done.code == 0, done.errors
    names = sorted(path.name for path in (tmp_path / "site").iterdir())
    assert names == ["index.html", "kernels.bin", "lesson.bin", "weights.bin"]
    (tmp_path / "file").touch()
    refused("classroom", saved, "--site", "-o", tmp_path / "file")


def test_without_serve_it_writes_a_page(run, saved, tmp_path):
    page = tmp_path / "lesson.html"
    done = run("classroom", saved, "-o", page)
    assert done.code == 0, done.errors
    assert page.read_text(encoding="utf-8").lower().startswith("<!doctype html>")

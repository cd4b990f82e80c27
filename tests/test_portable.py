"""A result names files, and nothing of where they lie on the machine that it was measured on."""

import os
import socket
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from lenet_bench import CompareOptions, compare
from lenet_bench.cli.compare import compare as compare_command
from lenet_bench.cli.why import why as why_command
from lenet_bench.errors import ResultError
from lenet_bench.questions.share import given
from lenet_bench.results import Log
from lenet_bench.results import private as private_texts
from lenet_bench.results.log import as_lines
from lenet_bench.results.portable import argument, portable
from lenet_bench.results.private import LONGEST, options, public
from lenet_bench.texts import is_seen
from msgspec.structs import replace
from sample_results import possible_log, write_log
from scratch_backends import SaysWhereItIs, entry


@pytest.mark.parametrize(
    ("of", "text", "left"),
    [
        (
            portable,
            'File "/home/me/env/lib/python3.11/site-packages/keras/src/a.py", line 3',
            'File "keras/src/a.py", line 3',
        ),
        (portable, "cannot open /usr/lib/a/libcudnn.so.9: none", "cannot open libcudnn.so.9: none"),
        (portable, "and/or 1/2 of 3 MB/s, see https://example.org/a/b", None),
        (portable, "--output=/tmp/a/b.jsonl", "--output=…/b.jsonl"),
        (portable, "/usr/lib/libgomp.so.1.0.0 /home/alice smith", "libgomp.so.1.0.0 …/alice smith"),
        (portable, "/build/src/conv.cc:1234: no kernel", "conv.cc:1234: no kernel"),
        (argument, "/tmp/my digits/a.jsonl", "a.jsonl"),
        (argument, "--output=/tmp/a.jsonl", "--output=a.jsonl"),
        (argument, "mine/a.jsonl", None),
        (argument, "--rounds", None),
    ],
)
def test_folders_go(of, text, left):
    assert of(text) == (left or text)


#: Spellings of a folder, a host or a user, and what is left of each; see `bob` for who is here.
HOSTILE = {
    "/home/alice/x": "…",
    "see /home/alice smith/x": "see …",
    "/home/bob smith/x": "…",
    "users/alice/secret/w.safetensors": "…",
    "-o/home/alice/x.jsonl": "…",
    "--weights=users/alice/w": "…",
    "~alice/x": "…",
    "../alice": "…",
    "file:///home/alice/x": "file: …",
    "'/home/alice/x'": "…",
    "C:\\Users\\alice\\x": "…",
    "\\\\server\\alice": "…",
    "/home/alice/lib/a.so.9: none": "a.so.9: none",
    "/home/\u200balice/x": "…",
    "%2Fhome%2Falice": "…",
    "see %252Fhome%252Falice": "see …",
    "\u2215home\u2215alice": "…",
    "\uff0fhome\uff0falice": "…",
    "C:\uff3cUsers\uff3calice": "…",
    "cannot connect to pine7.acme.example:8470": "cannot connect to (host):8470",
    "pine7: no route": "(host): no route",
    "failed to connect to db.acme.example:5432;": "failed to connect to (host);",
    "10.1.2.3:8470 is down": "(host) is down",
    "ipv4:10.0.0.7:443 refused": "ipv4:(host) refused",
    "no route to 10.20.30.40": "no route to (host)",
    "Could not resolve host: build-7.corp.internal": "Could not resolve host: (host)",
    "Pool(host='proxy.corp.internal', port=3128)": "Pool(host='(host)', port=3128)",
    "write to john.doe@corp.example.com": "write to (host)",
    "ssh bob@build7.corp.example failed": "ssh (host) failed",
    "no route to 10.20.30.40.": "no route to (host).",
    "host db7.corp:8080.": "host (host).",
    "web@1.22.0, memcpy@GLIBC_2.14": "web@1.22.0, memcpy@GLIBC_2.14",
    "upgrade to 9.10.2.21, device to host: 3 ms": "upgrade to 9.10.2.21, device to host: 3 ms",
    "cuRAND 10.3.2.106, torch@gpu": "cuRAND 10.3.2.106, torch@gpu",
    "by Bob Smith": "by (user)",
    "bob\u200b smith": "(user)",
    "%\u200b2Fhome%\u200b2Falice": "…",
}


@pytest.fixture
def bob(monkeypatch):
    """The user whose machine this is, and its name."""
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(nodename="pine7.acme.example"))
    monkeypatch.setenv("HOME", "/home/bob smith")
    monkeypatch.setenv("USER", "bob smith")


@pytest.mark.usefixtures("bob")
@pytest.mark.parametrize("text", HOSTILE)
def test_a_shared_text_tells_no_folder_or_user(text):
    assert public(text) == HOSTILE[text]
    assert public(HOSTILE[text]) == HOSTILE[text]


@pytest.mark.parametrize("folder", ["/home/carol", "/srv/secret.proj", "/srv/secret/"])
def test_of_a_folder_in_a_result_file_nothing_is_shared(folder):
    assert public(portable(f"--xla_dump_to={folder}")) == "…"


@pytest.mark.usefixtures("bob")
@pytest.mark.parametrize(
    "text",
    [
        *("AMD EPYC (Zen 5)", "openvino 2026.4.1", "and so on", "bobsmith", "pine70", "100%"),
        *("0000:01:00.0", "2026-01-01T00:00:00+00:00", "conv.cc:1234: no kernel", "axis:3"),
    ],
)
def test_a_text_without_a_folder_or_a_user_stays(text):
    assert public(text) == text


def test_a_name_that_gets_too_long_is_refused_in_a_sentence(tmp_path, monkeypatch):
    monkeypatch.setenv("USER", "al")
    path = tmp_path / "mine.jsonl"
    source = possible_log()
    write_log(path, Log(replace(source.header, version="al " * 60), source.blocks, source.end))
    with pytest.raises(ResultError, match="no public form"):
        given(path)


def test_however_long_a_text_is_little_of_it_is_looked_at(monkeypatch):
    """And each word of it once: without that, 32,000 characters without a space took 40 s."""
    looked_at: list[str] = []

    def looks(character):
        looked_at.append(character)
        return is_seen(character)

    monkeypatch.setattr(private_texts, "is_seen", looks)
    for text in ("a" * 2**15, "a " * 2**14, "\u00b5" * 2**15 + "/home/alice", "%25" * 2**13):
        looked_at.clear()
        found = public(text)
        assert len(found) <= LONGEST
        assert len(looked_at) <= 10 * LONGEST
        assert public(found) == found


def test_a_machine_named_as_what_stands_for_its_name_keeps_it(monkeypatch):
    monkeypatch.setattr(os, "uname", lambda: SimpleNamespace(nodename="host"))
    assert public("host 10.1.2.3:8470 is down") == "host (host) is down"


@pytest.mark.parametrize("user", ["root", "torch", "crashed"])
def test_a_user_named_as_what_results_say_may_share(monkeypatch, user):
    for name in ("HOME", "USER", "LOGNAME", "SUDO_USER"):
        monkeypatch.setenv(name, user)
    assert public(f"{user} was timed") == f"{user} was timed"


def test_of_the_command_line_the_names_of_options_are_shared(tmp_path):
    words = ("/opt/a/lenet-bench", "compare", "fused", "--weights=users/alice/w", "-o/home/a/x")
    source = possible_log(weights="client-acme.safetensors")
    path = tmp_path / "mine.jsonl"
    header = replace(source.header, argv=(*words, "--budget", "10s", "-o", "--acme-merger"))
    write_log(path, Log(header, source.blocks, source.end))
    found = given(path).log
    assert found.header.argv == ("lenet-bench", "compare", "--weights", "-o", "--budget", "-o")
    for secret in (b"alice", b"acme", b"mine", b'fused","--'):
        assert secret not in as_lines(found)


def test_every_option_of_a_run_is_shared():
    for command in (compare_command, why_command):
        for spelled in (one for parameter in command.params for one in parameter.opts):
            assert options([spelled]) == ((spelled,) if spelled.startswith("-") else ())


def test_a_result_file_names_no_folder_user_or_host(tmp_path):
    path = tmp_path / "mine.jsonl"
    argv = ("/opt/env/bin/lenet-bench", "compare", "-o", str(path))
    entries = (entry(SaysWhereItIs), "fused")
    result = compare(CompareOptions(entries, rounds=1, output=path, argv=argv))
    assert sorted(row.status for row in result.backends) == ["crashed", "ok"]
    content = path.read_text()
    assert '"argv":["lenet-bench","compare","-o","mine.jsonl"]' in content
    places = (tmp_path, Path.home(), Path(__file__).parent, socket.gethostname(), sys.prefix)
    for place in map(str, places):
        assert f"{place}/" not in content
        assert f'"{place}"' not in content
    assert "libengine.so" in content

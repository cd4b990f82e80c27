"""A result names files, and nothing of where they lie on the machine that it was measured on."""

import socket
import sys
from pathlib import Path

import pytest
from lenet_bench import CompareOptions, compare
from lenet_bench.questions.share import given
from lenet_bench.results import Log, read_log
from lenet_bench.results.log import as_lines
from lenet_bench.results.plausible import faults
from lenet_bench.results.portable import argument, portable
from lenet_bench.results.private import private, public
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
        (portable, "--output=/tmp/a/b.jsonl", "--output=b.jsonl"),
        (argument, "/tmp/my digits/a.jsonl", "a.jsonl"),
        (argument, "--output=/tmp/a.jsonl", "--output=a.jsonl"),
        (argument, "mine/a.jsonl", None),
        (argument, "--rounds", None),
    ],
)
def test_folders_go(of, text, left):
    assert of(text) == (left or text)


#: Spellings of a folder or of a user, and what is left of each; the user here is "bob smith".
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
    "by Bob Smith": "by (user)",
    "bob\u200b smith": "(user)",
}


@pytest.fixture
def bob(monkeypatch):
    """The user whose machine this is."""
    monkeypatch.setenv("HOME", "/home/bob smith")
    monkeypatch.setenv("USER", "bob smith")


@pytest.mark.usefixtures("bob")
@pytest.mark.parametrize("text", HOSTILE)
def test_a_shared_text_tells_no_folder_or_user(text):
    assert public(text) == HOSTILE[text]
    assert private(HOSTILE[text]) is None


@pytest.mark.usefixtures("bob")
@pytest.mark.parametrize("text", HOSTILE)
def test_a_text_with_a_folder_or_a_user_is_refused(text):
    source = possible_log()
    variables = {"LD_PRELOAD": text}
    software = replace(source.header.machine.software, variables=variables)
    machine = replace(source.header.machine, software=software)
    log = Log(replace(source.header, machine=machine), source.blocks, source.end)
    found = list(faults(log))
    assert any("folder or a user" in fault or "control characters" in fault for fault in found)


@pytest.mark.usefixtures("bob")
@pytest.mark.parametrize("text", ["AMD EPYC (Zen 5)", "openvino 2026.4.1", "and so on", "bobsmith"])
def test_a_text_without_a_folder_or_a_user_stays(text):
    assert public(text) == text
    assert private(text) is None


@pytest.mark.parametrize("user", ["root", "torch", "comparison"])
def test_a_user_named_as_what_results_say_may_share(monkeypatch, tmp_path, user):
    monkeypatch.setenv("USER", user)
    path = tmp_path / "mine.jsonl"
    write_log(path, possible_log())
    assert given(path).log.header.backends == read_log(path).header.backends


def test_of_the_command_line_the_names_of_options_are_shared(tmp_path):
    words = ("/opt/a/lenet-bench", "compare", "fused", "--weights=users/alice/w", "-o/home/a/x")
    source = possible_log(weights="client-acme.safetensors")
    path = tmp_path / "mine.jsonl"
    header = replace(source.header, argv=(*words, "--budget", "10s", "-o", "../alice/mine.jsonl"))
    write_log(path, Log(header, source.blocks, source.end))
    found = given(path).log
    assert found.header.argv == ("lenet-bench", "compare", "--weights", "-o", "--budget", "-o")
    for secret in (b"alice", b"acme", b"mine", b'fused","--'):
        assert secret not in as_lines(found)


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

"""A result names files, and nothing of where they lie on the machine that it was measured on."""

import socket
import sys
from pathlib import Path

import pytest
from lenet_bench import CompareOptions, compare
from lenet_bench.results.portable import argument, portable
from scratch_backends import SaysWhereItIs, entry


@pytest.mark.parametrize(
    ("text", "left"),
    [
        (
            'File "/home/me/env/lib/python3.11/site-packages/keras/src/a.py", line 3',
            'File "keras/src/a.py", line 3',
        ),
        ("cannot open /usr/lib/x86_64/libcudnn.so.9: none", "cannot open libcudnn.so.9: none"),
        ("and/or 1/2 of 3 MB/s, see https://example.org/a/b", None),
        ("--output=/tmp/a/b.jsonl", "--output=b.jsonl"),
    ],
)
def test_folders_go_and_names_stay(text, left):
    assert portable(text) == (left or text)


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        ("/tmp/my digits/a.jsonl", "a.jsonl"),
        ("--output=/tmp/a.jsonl", "--output=a.jsonl"),
        ("mine/a.jsonl", "mine/a.jsonl"),
        ("--rounds", "--rounds"),
    ],
)
def test_an_argument_loses_its_folders(given, kept):
    assert argument(given) == kept


def test_a_result_file_tells_no_folder_user_or_host(weights_file, tmp_path):
    path = tmp_path / "mine.jsonl"
    argv = ("/opt/env/bin/lenet-bench", "compare", "-o", str(path))
    entries = (entry(SaysWhereItIs), "fused")
    result = compare(
        CompareOptions(entries, rounds=1, weights=weights_file, output=path, argv=argv)
    )
    assert sorted(row.status for row in result.backends) == ["crashed", "ok"]
    content = path.read_text()
    assert '"argv":["lenet-bench","compare","-o","mine.jsonl"]' in content
    for told in (
        str(tmp_path),
        str(Path.home()),
        str(Path(__file__).parent),
        socket.gethostname(),
        sys.prefix,
    ):
        assert f"{told}/" not in content
        assert f'"{told}"' not in content
    assert "libengine.so" in content

"""A result names files, and nothing of where they lie on the machine that it was measured on."""

import socket
import sys
from pathlib import Path

import pytest
from lenet_bench import CompareOptions, compare
from lenet_bench.results.portable import argument, portable
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
def test_folders_go_and_names_stay(of, text, left):
    assert of(text) == (left or text)


def test_a_result_file_names_no_folder_user_or_host(weights_file, tmp_path):
    path = tmp_path / "mine.jsonl"
    argv = ("/opt/env/bin/lenet-bench", "compare", "-o", str(path))
    entries = (entry(SaysWhereItIs), "fused")
    result = compare(
        CompareOptions(entries, rounds=1, weights=weights_file, output=path, argv=argv)
    )
    assert sorted(row.status for row in result.backends) == ["crashed", "ok"]
    content = path.read_text()
    assert '"argv":["lenet-bench","compare","-o","mine.jsonl"]' in content
    places = (tmp_path, Path.home(), Path(__file__).parent, socket.gethostname(), sys.prefix)
    for place in map(str, places):
        assert f"{place}/" not in content
        assert f'"{place}"' not in content
    assert "libengine.so" in content

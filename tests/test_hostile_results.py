"""Result files that claim too much: each costs little memory and one sentence."""

import csv
import gzip
import io
import json
import re

import pytest
from conftest import environment
from lenet_bench.results import Batch
from lenet_bench.results.log import as_lines
from lenet_bench.show.comparison import render
from lenet_bench.show.figures.pictures import pictures
from lenet_bench.show.page import gather, page
from processes import python
from sample_results import (
    blocks,
    experiments,
    failed,
    log,
    result,
    sample_log,
    with_checksums,
    write_log,
)

MOST_KB = 1_000_000
#: The command, and then the most memory that its process had. Linux has it without the size of the
#: process that forked it, which getrusage includes.
AND_MEMORY = """
import resource, sys
from lenet_bench.cli import run
from lenet_bench.measure.worker import peak_rss_mib
code = run(sys.argv[1:])
peak_mib = peak_rss_mib()
peak_kb = peak_mib * 1024 if peak_mib else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(int(peak_kb), file=sys.stderr)
sys.exit(code)
"""


def with_field(line, field):
    return line.replace(b'"crc32"', field + b',"crc32"')


def many_backends(header):
    listed = b",".join(b'{"name":"b%d"}' % number for number in range(20_000))
    return header.replace(b'"backends":[', b'"backends":[' + listed + b",")


#: Each makes a file of a header, a block and an end.
CLAIMS = {
    "calls with several images": lambda h, b, e: (
        h.replace(b'"kind":"comparison"', b'"kind":"shared comparison"')
        + with_field(
            re.sub(rb'"samples_ns":\[.*?\]', b'"samples_ns":[]', b),
            b'"batches":[{"size":8,"thinned_ns":[[9,4000000000]]}]',
        )
        + e
    ),
    "a line": lambda h, b, e: h + with_field(b, b'"samples_ns":[1%s]' % (b",1" * 3_000_000)) + e,
    "blocks": lambda h, _b, e: h + b'{"backend":"first","round":0,"at_s":0}\n' * 200_000 + e,
    "lines": lambda h, _b, e: h + b"\n" * 2**25 + e,
    "objects in its header": lambda h, _b, _e: with_field(h, b'"x":[{}%s]' % (b",{}" * 2**24)),
    "backends": lambda h, b, e: many_backends(h) + b + e,
    "a long reason": lambda h, b, e: h + with_field(b, b'"reason":"%s"' % (b"a" * 2**25)) + e,
    "objects in objects": lambda h, b, e: (
        h + with_field(b, b'"x":' + b'{"a":' * 5000 + b"1" + b"}" * 5000) + e
    ),
    "more bytes than a file may have": lambda _h, _b, _e: b"0" * (2**26 + 1),
}


@pytest.mark.parametrize("claim", CLAIMS)
def test_a_file_that_claims_much_takes_less_than_a_gigabyte(tmp_path, claim):
    path = tmp_path / "result.jsonl.gz"
    header, block, *_, end = as_lines(sample_log()).splitlines(keepends=True)
    content = with_checksums(CLAIMS[claim](header, block, end))
    path.write_bytes(gzip.compress(content, 1))
    done = python(AND_MEMORY, "report", path, code=1, env=environment())
    *said, memory_kb = done.stderr.splitlines()
    assert int(memory_kb) < MOST_KB
    assert len(said) == 1
    assert len(said[0]) < 1000
    assert re.search(
        "damaged result file: line|not a result file|got that of a|more than 64 MiB", said[0]
    )


def test_a_device_that_never_ends_is_read_to_a_bound(refused):
    assert "more than 64 MiB" in refused("report", "/dev/zero")


def test_a_way_that_takes_no_time_is_no_bug(tmp_path, run):
    path = tmp_path / "result.jsonl"
    write_log(path, log(blocks("first", 20, experiments=experiments()), apart=True))
    old = b'{"kind":"way","name":"entering","us":12'
    content = path.read_bytes()
    assert old in content
    path.write_bytes(with_checksums(content.replace(old, old[:-2] + b"0.0")))
    done = run("report", path, "-o", tmp_path / "p.html")
    assert "bug" not in done.errors
    assert done.code in (0, 1)


def test_json_has_no_number_that_is_not_finite():
    found = result(blocks("first", 20, installed_mib=float("inf"), difference=float("nan")))
    assert found.backend("first").installed_mib == float("inf")
    assert json.loads(render(found, form="json"), parse_constant=pytest.fail)


@pytest.mark.parametrize("name", ["=1+1", "@SUM(A1)", "\t=1"])
def test_no_cell_of_csv_is_a_formula(name):
    text = render(result(blocks(name, 20), failed("=b", "crashed", name)), form="csv")
    for row in csv.reader(io.StringIO(text)):
        assert not [one for one in row if one[:1] in ("=", "+", "-", "@", "\t")]


#: Characters that are not seen, or turn the text around.
HIDDEN = "\u202e\u200b\ufeff\U000e0041\x1b\x07\x9b"


@pytest.mark.parametrize("character", HIDDEN, ids=lambda one: f"U+{ord(one):04X}")
def test_a_hidden_character_is_shown_as_an_escape(character):
    found = result(
        blocks(f"fi{character}rst", 20),
        blocks("second", 30),
        failed("third", "crashed", f"no {character} way", output=f"no {character} way"),
    )
    assert character not in found.backend("third").output
    escape = character.encode("unicode_escape").decode()
    runs = gather([("a.jsonl", found)])
    for shown in (
        *(render(found, form=form) for form in ("text", "csv", "markdown", "json")),
        page(runs),
    ):
        assert character not in shown
        assert escape in shown.replace("\\\\", "\\")
    assert not [one for one in pictures(runs).values() if character in one]


@pytest.mark.parametrize("name", ["constructor", "__proto__"])
def test_a_name_that_objects_have_in_javascript_is_drawn_as_any_other(name):
    def drawn(name):
        more = {"peak_rss_mib": 40.0, "batches": tuple(Batch(n, (n * 9000,) * 20) for n in (8, 64))}
        found = result(blocks(name, 20, **more), blocks("second", 30, **more), batches=(8, 64))
        return pictures(gather([("a.jsonl", found)]))

    for figure, text in drawn(name).items():
        marks = text.count("graphics-symbol")
        assert marks == drawn("first")[figure].count("graphics-symbol"), figure

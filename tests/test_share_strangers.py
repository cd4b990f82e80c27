"""What strangers send in place of a result: each is refused in a sentence, and nothing crashes."""

import gzip
import os
import re

import pytest
from lenet_bench.cli import run as command
from lenet_bench.errors import ResultError
from lenet_bench.questions.share import MOST_BYTES, check
from lenet_bench.results import End, Log, read_log
from lenet_bench.results.thin import thinned
from msgspec.structs import replace
from sample_results import with_checksums

# What strangers send. Each is one change of a good file's lines, and what is said of it.
HOSTILE = {
    "control characters": (b"AMD EPYC", b"AMD\\u001b[2JEPYC", "control"),
    "characters that turn the text around": (b"AMD EPYC", "AMD \u202eEPYC".encode(), "control"),
    "markup": (b"AMD EPYC", b"<img src=x>", "markup"),
    "a link": (b"AMD EPYC", b"see https://x.example", "link"),
    "a long text": (
        b'"OMP_NUM_THREADS":"1"',
        b'"OMP_NUM_THREADS":"%s"' % (b"A" * 401),
        "400 characters",
    ),
    "a folder": (b"AMD EPYC", b"/home/me/AMD", "folder"),
    "a command line": (
        b'"argv":["lenet-bench","compare"',
        b'"argv":["lenet-bench","compare","mine.jsonl"',
        "command line",
    ),
    "weights with a name": (b"lenet.safetensors", b"client-acme.safetensors", "weights"),
    "calls that fill the memory": (b",50]]", b",4000000000]]", "more calls"),
    "calls with several images that fill the memory": (
        b'"wall_ns":',
        b'"batches":[{"size":8,"thinned_ns":[[40000,4000000000]]}],"wall_ns":',
        "more calls",
    ),
    "times that do not increase": (
        b'"thinned_ns":[[20',
        b'"thinned_ns":[[99999,1],[20',
        "do not increase",
    ),
    "a call below the memory's limit": (b"[[20000,", b"[[1999,1],[20000,", "weights"),
    "calls longer than the run": (b'"wall_ns":1200000', b'"wall_ns":1000', "than its timed span"),
    "more CPU time than CPUs": (b'"cpu_ns":1000000', b'"cpu_ns":10000000000', "more CPU time"),
    "blocks at once": (b'"at_s":4.0,"took_s":1.9', b'"at_s":4.0,"took_s":9.9', "ran at once"),
    "a run shorter than its blocks": (b'"elapsed_s":72', b'"elapsed_s":7', "than the run"),
    "a start longer than the block": (b'"build_s":0.4', b'"build_s":40.0', "longer than its block"),
    "more memory than there is": (b'"wall_ns":', b'"peak_rss_mib":1e9,"wall_ns":', "more memory"),
    "more threads than CPUs": (b'"threads":1', b'"threads":3', "threads or cores"),
    "wrong answers": (re.compile(b'"difference":1e-7'), b'"difference":0.5', "wrong"),
    "any answer allowed": (b'"tolerance":0.00001', b'"tolerance":1.0', "too large"),
    "an unknown backend": (re.compile(b'"numpy"'), b'"abacus"', "no backend"),
    "a stranger's empty backend": (re.compile(b'"empty"'), b'"void"', "empty backend"),
    "a date to come": (b"2026-01-01T", b"2999-01-01T", "measured"),
    "a run that was killed": (re.compile(rb'\{"ended".*\n'), b"", "not completed"),
    "a run of why": (b'"apart":false', b'"apart":true', "a run of `why`"),
    "every call": (b'"kind":"shared comparison"', b'"kind":"comparison"', "format"),
    "a field that nobody asked for": (
        b'"floor":"empty"',
        b'"mine":"x","floor":"empty"',
        "other fields",
    ),
    "the same field twice": (b'"wall_ns"', b'"wall_ns":1,"wall_ns"', "other fields"),
    "half a line at the end": (re.compile(rb"\n$"), b'\n{"backend":', "other fields"),
}


def in_lines(old, new):
    """The change of the file's lines, once where they have it in bytes."""

    def change(path):
        lines = gzip.decompress(path.read_bytes())
        changed = old.sub(new, lines) if isinstance(old, re.Pattern) else lines.replace(old, new, 1)
        assert changed != lines
        path.write_bytes(gzip.compress(with_checksums(changed)))

    return change


def in_bytes(change):
    """The change of the file's content."""
    return lambda path: path.write_bytes(change(path.read_bytes()))


def replaced(by):
    """Another thing of that name."""
    return lambda path: (path.rename(path.with_name("mine.jsonl")), by(path))


FILES = {
    "another name": (lambda path: path.rename(path.with_name("other.jsonl.gz")), "the name"),
    "cut off": (in_bytes(lambda content: content[:-20]), "truncated"),
    "large": (in_bytes(lambda _: os.urandom(MOST_BYTES + 1)), "450 kB"),
    "a bomb": (in_bytes(lambda _: gzip.compress(b"0" * 2**26)), "4 MiB"),
    "a link to it": (replaced(lambda path: path.symlink_to("mine.jsonl")), "plain file"),
    "a pipe": (replaced(os.mkfifo), "plain file"),
}
STRANGE = {what: (in_lines(old, new), said) for what, (old, new, said) in HOSTILE.items()} | FILES


@pytest.mark.parametrize("what", STRANGE)
def test_what_a_stranger_sends_is_refused_in_a_sentence(shared_file, capsys, what):
    change, said = STRANGE[what]
    change(shared_file)
    renamed = shared_file.with_name("other.jsonl.gz")
    assert command(["share", "--check", str(renamed if renamed.exists() else shared_file)]) == 1
    complaint = capsys.readouterr().err.partition("\n")[0]
    assert said in complaint
    assert "bug" not in complaint
    assert len(complaint) < 700


def test_thousands_of_blocks_are_refused(result_file):
    whole = read_log(result_file)
    block = replace(whole.blocks[1], samples_ns=())
    many = tuple(replace(block, at_s=2.0 * n) for n in range(5001))
    few = thinned(whole)
    with pytest.raises(ResultError, match="5000 blocks"):
        check(result_file, Log(few.header, (*few.blocks, *many), End("rounds", 1e6)))

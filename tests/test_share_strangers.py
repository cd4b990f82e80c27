"""What strangers send in place of a result: each is refused in a sentence, and nothing crashes."""

import gzip
import os
import re

import pytest
from lenet_bench.questions.share import MOST_BYTES
from sample_results import with_checksums

# What strangers send. Each is one change of a good file's lines, and what is said of it.
HOSTILE = {
    "characters that turn the text around": (b"AMD EPYC", "AMD \u202eEPYC".encode(), "not write"),
    "markup": (b"AMD EPYC", b"<img src=x>", "not write"),
    "a folder": (b"AMD EPYC", b"/home/me/AMD", "not write"),
    "a command line": (
        b'"argv":["lenet-bench","compare"',
        b'"argv":["lenet-bench","compare","mine.jsonl"',
        "not write",
    ),
    "weights with a name": (b"lenet.safetensors", b"client-acme.safetensors", "not write"),
    "what a program printed": (b'"wall_ns"', b'"output":"my secret","wall_ns"', "not write"),
    "a field that nobody asked for": (
        b'"floor":"empty"',
        b'"mine":"x","floor":"empty"',
        "not write",
    ),
    "the same field twice": (b'"wall_ns"', b'"wall_ns":1,"wall_ns"', "not write"),
    "half a line at the end": (re.compile(rb"\n$"), b'\n{"backend":', "not write"),
    "calls that fill the memory": (b",50]]", b",4000000000]]", "more calls"),
    "times that do not increase": (
        b'"thinned_ns":[[20',
        b'"thinned_ns":[[99999,1],[20',
        "do not increase",
    ),
    "every call": (b'"kind":"shared comparison"', b'"kind":"comparison"', "format"),
    "a call that is too short": (b"[[20000,", b"[[999,1],[20000,", "less than 1000 ns"),
    "wrong answers": (b'"difference":1e-7', b'"difference":0.5', "wrong"),
    "any answer allowed": (
        re.compile(rb'"tolerance":0.00001|"difference":1e-7'),
        lambda found: found[0].split(b":")[0] + b":0.5",
        "wrong",
    ),
    "an unknown backend": (re.compile(rb'"numpy"'), b'"abacus"', "no backend"),
    "a run that was killed": (re.compile(rb'\{"ended".*\n'), b"", "not completed"),
    "a run of why": (b'"apart":false', b'"apart":true', "a run of `why`"),
    "no time": (re.compile(rb'"thinned_ns":\[.*?\]\]'), b'"thinned_ns":[]', "no backend was timed"),
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
    "a link to it": (replaced(lambda path: path.symlink_to("mine.jsonl")), "plain file"),
    "a pipe": (replaced(os.mkfifo), "plain file"),
}
STRANGE = {what: (in_lines(old, new), said) for what, (old, new, said) in HOSTILE.items()} | FILES


@pytest.mark.parametrize("what", STRANGE)
def test_what_a_stranger_sends_is_refused_in_a_sentence(shared_file, run_here, what):
    change, said = STRANGE[what]
    change(shared_file)
    renamed = shared_file.with_name("other.jsonl.gz")
    done = run_here("share", "--check", renamed if renamed.exists() else shared_file)
    assert done.code == 1
    complaint = done.errors.partition("\n")[0]
    assert said in complaint
    assert "bug" not in complaint
    assert len(complaint) < 700

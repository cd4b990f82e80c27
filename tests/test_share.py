"""A result that is given to others: all its figures, in few bytes, and nothing of its owner's."""

import gzip
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import msgspec
import pytest
from jsonschema import Draft202012Validator
from lenet_bench import render
from lenet_bench.cli import run as command
from lenet_bench.errors import ResultError
from lenet_bench.questions.share import MOST_BYTES, check, check_file, given, shared_files
from lenet_bench.results import SHARED, End, Log, as_result, read_log, read_result
from lenet_bench.results.log import as_lines
from lenet_bench.results.machine import Machine, Processor
from lenet_bench.results.schema import make_schema
from lenet_bench.results.thin import KEPT, thinned
from lenet_bench.show.figures.rows import as_runs
from msgspec.structs import replace
from sample_results import blocks, failed, log, write_log

ROOT = Path(__file__).parents[1]
COMMITTED = sorted((ROOT / "results/cpu").glob("*.jsonl"))
MACHINE = Machine(Processor(model="AMD EPYC", logical=2, cores=2, allowed=2), memory_bytes=2**34)


def run_log(*rows, **rest):
    """A run that may be shared: blocks one after the other, of backends that there are."""
    rows = rows or (blocks("fused", 20), blocks("numpy", 90))
    made = log(*rows, machine=rest.pop("machine", MACHINE), **rest)
    following = tuple(
        replace(one, at_s=2.0 * number, took_s=1.9, difference=1e-7 if one.calls else None)
        for number, one in enumerate(made.blocks)
    )
    return Log(made.header, following, End("rounds", 2.0 * len(following)))


@pytest.fixture
def result_file(tmp_path):
    """A result as `compare` writes it."""
    path = tmp_path / "mine.jsonl"
    write_log(path, run_log())
    return path


@pytest.fixture
def shared_file(result_file, tmp_path):
    """What `share` makes of it."""
    found = given(result_file)
    path = tmp_path / found.name
    path.write_bytes(found.content)
    return path


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_every_figure_comes_out_as_from_all_calls(path):
    whole = read_log(path)
    few = thinned(whole)
    one, other = as_result(whole), as_result(few)
    for form in ("text", "json", "csv", "markdown"):
        assert render(one, form=form) == render(other, form=form)
    (before,), (after,) = as_runs([("r", one)]), as_runs([("r", other)])
    assert before.rows == after.rows
    assert before.reduced == after.reduced
    assert [block.calls for block in few.blocks] == [block.calls for block in whole.blocks]


def test_a_thinned_block_has_few_times():
    many = tuple(
        replace(one, samples_ns=tuple(20_000 + 37 * n % 5000 for n in range(3000)))
        for one in blocks("fused", 20)
    )
    few = thinned(log(many))
    assert {len(one.samples_ns) for one in few.blocks} == {0}
    cells = 2 * (2 * len(KEPT) + 2) + 1
    assert max(len(one.thinned_ns) for one in few.blocks) <= 2 * cells
    assert {one.calls for one in few.blocks if one.backend == "fused"} == {3000}


def jittered(samples, number):
    """As another start would have them."""
    return tuple(ns + (ns * (number * 7919 + n) % 997) for n, ns in enumerate(samples))


@pytest.mark.slow
def test_a_run_of_all_backends_with_fifteen_starts_each_is_small_enough(tmp_path):
    source = read_log(COMMITTED[0])
    timed = {one.backend: one for one in source.blocks if one.status == "ok"}
    rows = list(timed.values())
    every = [(one, number) for number in range(15) for one in rows]
    every += [(one, 15 + number) for number in range(15) for one in rows[:20]]
    full = tuple(
        replace(
            one,
            round=number,
            at_s=60.0 * place + 0.123456789012 * number,
            took_s=50.0 + number / 97,
            samples_ns=jittered(one.samples_ns, number),
            wall_ns=one.wall_ns + 1000 * len(one.samples_ns) + number,
            probe_before_us=31.0 + number / 7,
            probe_after_us=31.0 + number / 13,
        )
        for place, (one, number) in enumerate(every)
    )
    assert len(full) > 75 * 15
    whole = Log(source.header, full, End("rounds", 60.0 * len(full)))
    path = tmp_path / "all.jsonl"
    path.write_bytes(as_lines(whole))
    assert path.stat().st_size > 5_000_000
    assert len(given(path).content) <= MOST_BYTES


def test_a_shared_file_is_read_like_any_other_and_keeps_the_schema(shared_file, result_file):
    assert render(read_result(shared_file)) == render(read_result(result_file))
    validator = Draft202012Validator(json.loads(make_schema()))
    lines = gzip.decompress(shared_file.read_bytes()).splitlines()
    for line in map(json.loads, lines):
        validator.validate(line)


def test_the_same_result_gives_the_same_bytes_and_a_shared_one_itself(result_file, shared_file):
    assert given(result_file).content == shared_file.read_bytes()
    assert given(shared_file).content == shared_file.read_bytes()
    assert check_file(shared_file).name == shared_file.name


def test_no_run_goes_on_with_a_shared_file(shared_file, run):
    before = shared_file.read_bytes()
    done = run("compare", "fused", "--rounds", "1", "-o", str(shared_file))
    assert done.code == 1
    assert "shared result" in done.errors
    assert shared_file.read_bytes() == before


def test_what_a_failure_printed_and_where_it_was_is_not_given(tmp_path):
    crashed = failed(
        "torch",
        "crashed",
        "cannot open /home/me/lib/a.so: <b>no</b>\nsuch file",
        output="my secret",
        traceback="/home/me/x.py",
    )
    path = tmp_path / "r.jsonl"
    source = run_log(blocks("fused", 20), crashed)
    header = replace(source.header, argv=("/opt/me/lenet-bench", "compare", "-o", "secret/a.jsonl"))
    write_log(path, Log(header, source.blocks, source.end))
    lines = as_lines(given(path).log).decode()
    for private in ("secret", "/home", "me/", "<b>", "/opt"):
        assert private not in lines
    assert "cannot open a.so: (b)no(/b) such file" in lines


# What strangers send. Each is one change of a good file's lines, and what is said of it.
NAN = "damaged result file"
HOSTILE = {
    "control characters": (b"AMD EPYC", b"AMD\\u001b[2JEPYC", "control characters"),
    "characters that turn the text around": (b"AMD EPYC", "AMD \u202eEPYC".encode(), "control"),
    "markup": (b"AMD EPYC", b"<img src=x>", "markup"),
    "a link": (b"AMD EPYC", b"see https://x.example", "link"),
    "a long text": (b"AMD EPYC", b"A" * 401, "more than 400 characters"),
    "a folder": (b"AMD EPYC", b"/home/me/AMD", "names a folder"),
    "no number": (b'"wall_ns":', b'"mhz":NaN,"wall_ns":', NAN),
    "an infinite number": (b'"wall_ns":', b'"mhz":1e999,"wall_ns":', NAN),
    "a huge number": (b'"seed":7', b'"seed":' + b"9" * 400, NAN),
    "a negative seed": (b'"seed":7', b'"seed":-7', NAN),
    "a negative time": (b'"at_s":2.0', b'"at_s":-2.0', "negative"),
    "a call before it began": (b'"thinned_ns":[[20', b'"thinned_ns":[[-20', NAN),
    "calls that fill the memory": (
        b",50]]",
        b",4000000000000000000]]",
        "more calls than can",
    ),
    "no calls at a time": (b",50]]", b",0]]", NAN),
    "times that do not grow": (b'"thinned_ns":[[20', b'"thinned_ns":[[99999,1],[20', "do not grow"),
    "calls in two forms": (b'"thinned_ns"', b'"samples_ns":[5],"thinned_ns"', "another form"),
    "a call below the memory's limit": (b"[[20000,", b"[[1999,1],[20000,", "weights can be read"),
    "calls longer than the run": (
        b'"wall_ns":1200000',
        b'"wall_ns":1000',
        "longer than the time",
    ),
    "more CPU time than CPUs": (b'"cpu_ns":1000000', b'"cpu_ns":10000000000', "more CPU time"),
    "blocks at once": (b'"at_s":4.0,"took_s":1.9', b'"at_s":4.0,"took_s":9.9', "ran at once"),
    "a run shorter than its blocks": (
        b'"elapsed_s":72',
        b'"elapsed_s":7',
        "longer than the run",
    ),
    "a start longer than the block": (
        b'"build_s":0.4',
        b'"build_s":40.0',
        "longer than it ran",
    ),
    "more memory than there is": (b'"wall_ns":', b'"peak_rss_mib":1e9,"wall_ns":', "more memory"),
    "more cores than CPUs": (b'"logical":2', b'"logical":1', "fewer logical CPUs"),
    "more threads than CPUs": (b'"threads":1', b'"threads":99', "more threads"),
    "a clock that nobody has": (b'"mhz_now":null', b'"mhz_now":90000.0', "such a clock"),
    "wrong answers": (re.compile(b'"difference":1e-7'), b'"difference":0.5', "answers are wrong"),
    "any answer allowed": (b'"tolerance":0.00001', b'"tolerance":1.0', "allows wrong answers"),
    "an unknown backend": (re.compile(b'"numpy"'), b'"abacus"', "none of lenet-bench's backends"),
    "a backend twice": (b'{"name":"fused"', b'{"name":"numpy"},{"name":"fused"', "twice"),
    "a stranger's empty backend": (
        re.compile(b'"empty"'),
        b'"void"',
        "empty backend has another name",
    ),
    "a date to come": (b"2026-01-01T", b"2999-01-01T", "when it was measured"),
    "no date": (b"2026-01-01T00:00:00+00:00", b"yesterday", "when it was measured"),
    "a date without a zone": (b"00:00:00+00:00", b"00:00:00", "when it was measured"),
    "no version": (b'"version":"0.1.0"', b'"version":"mine"', "version"),
    "a run that was killed": (re.compile(rb'\{"ended".*\n'), b"", "not measured to its end"),
    "a run that was interrupted": (b'"ended":"rounds"', b'"ended":"interrupted"', "to its end"),
    "a run of why": (b'"apart":false', b'"apart":true', "a run of `why`"),
    "every call": (b'"kind":"shared comparison"', b'"kind":"comparison"', "another form"),
    "another kind": (b'"kind":"shared comparison"', b'"kind":"training"', "expected the result"),
    "a newer form": (b'"schema":2', b'"schema":99', "newer lenet-bench"),
    "a field that nobody asked for": (
        b'"floor":"empty"',
        b'"mine":"x","floor":"empty"',
        "other fields",
    ),
    "a field of a block's": (b'"wall_ns"', b'"mine":"x","wall_ns"', "other fields"),
    "the same field twice": (b'"wall_ns"', b'"wall_ns":1,"wall_ns"', "other fields"),
    "half a line at the end": (re.compile(rb"\n$"), b'\n{"backend":', "other fields"),
    "an object that never ends": (
        b'"variables":{',
        b'"variables":' + b'{"a":' * 10_000,
        "not JSON",
    ),
    "no lines": (re.compile(rb".+", re.DOTALL), b"", "not a result file"),
}


def hostile_copy(shared_file, old, new):
    """The file with that changed once, under the name that it would have."""
    lines = gzip.decompress(shared_file.read_bytes())
    changed = old.sub(new, lines) if isinstance(old, re.Pattern) else lines.replace(old, new, 1)
    assert changed != lines
    shared_file.write_bytes(gzip.compress(changed))
    return shared_file


@pytest.fixture
def checked(capsys):
    """`checked(path)`: the exit code of `share --check`, and what it complained of."""

    def check_it(path):
        code = command(["share", "--check", str(path)])
        return code, capsys.readouterr().err.partition("\n")[0]

    return check_it


@pytest.mark.parametrize("what", HOSTILE)
def test_what_a_stranger_sends_is_refused_in_a_sentence(shared_file, checked, what):
    old, new, said = HOSTILE[what]
    code, complaint = checked(hostile_copy(shared_file, old, new))
    assert code == 1
    assert said in complaint
    assert "bug" not in complaint
    assert len(complaint) < 700


def another_name(path):
    path.rename(path.with_name("other.jsonl.gz"))


def not_compressed(path):
    path.write_bytes(b'{"schema":2}')


def cut_off(path):
    path.write_bytes(path.read_bytes()[:-20])


def more_behind_it(path):
    path.write_bytes(path.read_bytes() * 2)


def one_bit_of_its_checksum_turned(path):
    content = path.read_bytes()
    path.write_bytes(content[:-8] + bytes([content[-8] ^ 1]) + content[-7:])


def large(path):
    path.write_bytes(os.urandom(MOST_BYTES + 1))


def a_bomb(path):
    path.write_bytes(gzip.compress(b"0" * 2**26))


def a_link(path):
    path.symlink_to(path.rename(path.with_name("mine.jsonl")))


def a_pipe(path):
    path.unlink()
    os.mkfifo(path)


def nothing(path):
    path.unlink()


FILES = {
    another_name: "expected the name",
    not_compressed: "cannot be decompressed",
    cut_off: "too soon",
    more_behind_it: "too late",
    one_bit_of_its_checksum_turned: "decompressed",
    large: "has 300 kB",
    a_bomb: "unpacks to more than 4 MiB",
    a_link: "not a plain file",
    a_pipe: "not a plain file",
    nothing: "not a plain file",
}


@pytest.mark.parametrize("spoil", FILES, ids=lambda spoil: spoil.__name__)
def test_a_file_that_is_none_of_ours_is_refused(shared_file, checked, spoil):
    spoil(shared_file)
    there = shared_file.with_name("other.jsonl.gz")
    code, complaint = checked(there if there.exists() else shared_file)
    assert code == 1
    assert FILES[spoil] in complaint


def test_thousands_of_blocks_are_refused(result_file):
    whole = read_log(result_file)
    block = replace(whole.blocks[1], samples_ns=())
    many = tuple(replace(block, at_s=2.0 * n) for n in range(5001))
    few = thinned(whole)
    with pytest.raises(ResultError, match="more than 5000 blocks"):
        check(result_file, Log(few.header, (*few.blocks, *many), End("rounds", 1e6)))


@pytest.mark.parametrize("path", sorted((ROOT / "results/community").glob("*.gz")))
def test_what_others_gave_is_sound(path):
    check_file(path)


def test_a_folder_is_checked_whole_but_for_its_readme(shared_file, run, tmp_path):
    folder = tmp_path / "community"
    folder.mkdir()
    file = shared_file.rename(folder / shared_file.name)
    (folder / "README.md").write_text("what this is")
    file.with_name(file.name.removesuffix(".jsonl.gz") + ".md").write_text("a pull request")
    assert list(shared_files([folder])) == [file]
    assert run("share", "--check", str(folder)).code == 0
    (folder / "run-me.sh").write_text("rm")
    assert run("share", "--check", str(folder)).code == 1


def test_share_shows_asks_and_writes_a_file_and_a_text(result_file, tmp_path, run):
    folder = tmp_path / "community"
    asked = ("share", str(result_file), "-o", str(folder))
    refused = run(*asked, input=b"n\n")
    assert refused.code == 0
    assert not folder.exists()
    done = run(*asked, input=b"y\n")
    assert done.code == 0
    (file,) = folder.glob("*.jsonl.gz")
    (text,) = folder.glob("*.md")
    assert check_file(file)
    assert f"git add {file}" in done.output
    assert '"model": "AMD EPYC"' in done.output
    assert "| numpy | 90.0 µs |" in text.read_text()
    assert sorted(folder.iterdir()) == sorted((file, text))


def test_share_without_an_answer_writes_nothing(result_file, tmp_path, run):
    done = run("share", str(result_file), "-o", str(tmp_path / "community"))
    assert done.code == 130
    assert not (tmp_path / "community").exists()


def test_print_is_every_byte_that_would_be_given(result_file, shared_file, run):
    done = run("share", str(result_file), "--print")
    assert done.output.encode() == gzip.decompress(shared_file.read_bytes())


def test_a_self_test_of_the_machine_comes_with_it(tmp_path, run):
    result = ROOT / "results/cpu/epyc-2026-11-22.jsonl"
    verdicts = ROOT / "results/self-test/epyc-2026-11-22.json"
    folder = tmp_path / "community"
    done = run("share", str(result), "--self-test", str(verdicts), "--yes", "-o", str(folder))
    assert done.code == 0
    (file,) = folder.glob("*.gz")
    points = {one["name"]: one["verdict"] for one in json.loads(verdicts.read_text())["points"]}
    assert check_file(file).log.header.self_test.verdicts == points
    other = run("share", str(COMMITTED[1]), "--self-test", str(verdicts), "--yes")
    assert other.code == 1
    assert "another machine" in other.errors


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_share_leaves_nothing_half_written(result_file, tmp_path, stop):
    folder = tmp_path / "community"
    share = [sys.executable, "-m", "lenet_bench", "share", str(result_file), "--yes"]
    for delay in (0.3, 0.6, 0.8, 1.0):
        child = subprocess.Popen(
            [*share, "-o", str(folder)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(delay)
        child.send_signal(stop)
        child.wait()
        for path in folder.glob("*.gz"):
            check_file(path)


def test_a_shared_file_says_what_it_is(shared_file):
    header = check_file(shared_file).log.header
    assert header.kind == SHARED
    assert header.machine.processor.model == "AMD EPYC"
    assert header.self_test is None
    assert b'"self_test":null' in msgspec.json.encode(header)

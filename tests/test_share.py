"""A result that is given to others: all its figures, in few bytes, and nothing of its owner's."""

import gzip
import re
from pathlib import Path
from typing import Any

import pytest
from lenet_bench import render
from lenet_bench.questions.share import MOST_BYTES, check_file, given, made_public, shared_files
from lenet_bench.results import Anatomy, Log, as_result, breakdowns, read_log, read_result
from lenet_bench.results.log import as_lines
from lenet_bench.results.read import settled
from lenet_bench.results.thin import thinned
from lenet_bench.show.figures.records import as_run
from msgspec.structs import replace
from sample_results import blocks, experiments, failed, log, possible_log, write_log

ROOT = Path(__file__).parents[1]
COMMITTED = sorted((ROOT / "results/cpu").glob("*.jsonl.gz"))


def with_all_calls(kept):
    """Like the run that a shared log was made of: every call, some of them in slow slices."""
    blocks = []
    for number, block in enumerate(kept.blocks):
        slices: Any = ()
        samples = jittered(block.calls_ns.tolist(), number)
        if block.quiet_share is not None:
            first = len(samples) // 3
            loop_ns = 40_000 if number % 4 == 0 else 30_000
            slices = ((first, loop_ns), (len(samples) - first, 30_000))
        batches = [
            replace(one, samples_ns=jittered(one.calls_ns.tolist(), number), thinned_ns=())
            for one in block.batches
        ]
        changes = {"thinned_ns": (), "quarters_ns": None, "quiet_share": None}
        changes |= {"samples_ns": samples, "slices": slices, "batches": tuple(batches)}
        blocks.append(replace(block, **changes))
    return Log(replace(kept.header, kind="comparison"), tuple(blocks), kept.end)


def jittered(samples, number):
    """The same calls in another order, each a little longer."""
    calls = sorted(samples, key=lambda ns: ns * 7919 % 997)
    return tuple(ns + (ns * (number * 7919 + n) % 997) for n, ns in enumerate(calls))


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.name)
def test_every_figure_comes_out_as_from_all_calls(path):
    whole = with_all_calls(read_log(path))
    few = thinned(whole)
    one, other = as_result(whole), as_result(few)
    assert render(one, form="json") == render(other, form="json")
    before, after = as_run("r", one), as_run("r", other)
    assert before.rows == after.rows
    assert before.reduced == after.reduced
    counting = [block.calls for block in settled(whole.blocks, whole.header.floor)]
    assert [block.calls for block in few.blocks] == counting


def test_a_run_of_all_backends_with_fifteen_starts_each_is_small_enough():
    largest = max(COMMITTED, key=lambda path: path.stat().st_size)
    assert len(read_log(largest).blocks) > 75 * 15
    assert largest.stat().st_size <= MOST_BYTES


def test_the_same_result_gives_the_same_bytes(result_file, shared_file, run):
    content = shared_file.read_bytes()
    assert given(result_file).content == content
    assert given(shared_file).content == content
    assert check_file(shared_file).name == shared_file.name
    printed = run("share", result_file, "--print").output
    assert printed.encode() == gzip.decompress(content)


def test_a_text_that_is_repeated_is_made_public_once(tmp_path):
    """With hundreds of thousands in a small file, that took minutes."""
    path = tmp_path / "mine.jsonl"
    source = possible_log()
    named = [
        replace(block, left=tuple(f"{number} {n}" for n in range(250)))
        for number, block in enumerate(source.blocks)
    ]
    write_log(path, Log(source.header, (*named, *named), source.end))
    before = made_public.cache_info().misses
    given(path)
    assert made_public.cache_info().misses - before < 250 * len(named) + 100


def test_a_shared_result_is_not_continued(shared_file, refused):
    content = shared_file.read_bytes()
    said = refused("compare", "fused", "--rounds", "1", "-o", shared_file)
    assert "shared result" in said
    assert shared_file.read_bytes() == content


def test_what_a_failure_printed_is_not_given(tmp_path):
    crashed = failed(
        "torch",
        "crashed",
        "cannot open /home/me/lib/a.so: <b>no</b>\nsuch file",
        output="my secret",
        traceback="/home/me/x.py",
    )
    path = tmp_path / "r.jsonl"
    source = possible_log(blocks("fused", 20), crashed)
    header = replace(source.header, argv=("/opt/me/lenet-bench", "compare", "-o", "secret/a.jsonl"))
    write_log(path, Log(header, source.blocks, source.end))
    lines = as_lines(given(path).log).decode()
    for private in ("secret", "/home", "me/", "<b>", "/opt"):
        assert private not in lines
    assert "cannot open a.so: …" in lines


def test_a_folder_is_checked_whole_but_for_its_readme(shared_file, run, tmp_path):
    for path in (ROOT / "results/community").glob("*.gz"):
        check_file(path)
    folder = tmp_path / "community"
    folder.mkdir()
    file = shared_file.rename(folder / shared_file.name)
    (folder / "README.md").write_text("what this is")
    assert list(shared_files([folder])) == [file]
    assert run("share", "--check", folder).code == 0
    (folder / "run-me.sh").write_text("rm")
    assert run("share", "--check", folder).code == 1


def test_share_writes_nothing_without_a_yes(result_file, tmp_path, run):
    folder = tmp_path / "community"
    for answer, code in ((b"n\n", 0), (b"", 2)):
        assert run("share", result_file, "-o", folder, input=answer).code == code
        assert not folder.exists()


def test_share_does_one_thing_at_a_time(run):
    for words in ("--check --keep", "--keep --print", "--keep --yes", "--print -o x"):
        done = run("share", "mine.jsonl", *words.split())
        assert done.code == 2
        first, second = re.findall(r"(?<!\S)-\S+", words)
        assert f"{first} and {second}: give one of them" in done.errors


def test_share_writes_one_file(result_file, tmp_path, run):
    folder = tmp_path / "community"
    done = run("share", result_file, "-o", folder, input=b"y\n")
    assert done.code == 0
    (file,) = folder.iterdir()
    assert check_file(file)
    assert f"git add {file}" in done.output
    assert '"model": "AMD EPYC"' in done.output


def test_a_run_of_why_is_kept_with_its_parts(tmp_path, run):
    path = tmp_path / "why.jsonl"
    anatomy = Anatomy({"torch": 7})
    apart = blocks("torch", 90, experiments=experiments(python=40), anatomy=anatomy)
    untaken = blocks("numpy", 50, no_experiments_reason="it has no operations")
    write_log(path, log(apart, untaken, apart=True))
    assert run("share", "--keep", path).code == 0
    kept = path.with_suffix(".jsonl.gz")
    assert breakdowns(read_result(kept)) == breakdowns(read_result(path))


def test_what_is_kept_is_of_any_backend(tmp_path, run):
    paths = [tmp_path / f"{name}.jsonl" for name in ("a", "b")]
    for path in paths:
        write_log(path, log(blocks("torch/my_setting", 20), failed("other", "crashed", "<b>")))
    assert run("share", "--keep", *paths).code == 0
    for path in paths:
        kept = read_result(path.with_suffix(".jsonl.gz"))
        assert render(kept) == render(read_result(path))


def test_a_kept_file_never_replaces_what_it_was_made_of(shared_file, refused):
    before = shared_file.read_bytes()
    assert "end in .jsonl," in refused("share", "--keep", shared_file)
    assert shared_file.read_bytes() == before

"""The result file and what is computed from it; what is no result is refused in one sentence."""

import dataclasses
import json
import re
from itertools import product

import numpy as np
import pytest
from conftest import ROOT
from jsonschema import Draft202012Validator
from lenet_bench import read_result
from lenet_bench.errors import LenetBenchError, ResultError
from lenet_bench.results import Appended, as_result, digest, failures, read_log, rows
from lenet_bench.results.files import check_place
from lenet_bench.results.log import as_lines
from lenet_bench.results.machine import Machine, Software
from lenet_bench.results.thin import thinned
from msgspec.structs import replace
from sample_results import (
    QUIET_SLICES,
    SLOW_SLICES,
    blocks,
    failed,
    log,
    log_in_halves,
    quiet_in,
    result,
    sample_log,
    sample_result,
    timed_starts,
    with_checksums,
    write_log,
)

COMMITTED = sorted((ROOT / "results").rglob("*.jsonl.gz"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "r.jsonl"


@pytest.fixture
def written(path):
    return write_log(path, sample_log())


def test_what_is_written_is_read_again(written):
    assert read_log(written) == sample_log()
    assert read_result(written) == sample_result()


def test_every_line_keeps_the_published_schema(written, run):
    schema = run("schema").answer
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    lines = list(map(json.loads, written.read_text().splitlines()))
    for line in lines:
        validator.validate(line)
    for name in ("Header", "Block", "End"):
        assert all(
            "description" in field
            for field in schema["$defs"][name]["properties"].values()
            if "const" not in field
        )
    lines[1]["samples_ns"] = ["fast"]
    assert not validator.is_valid(lines[1])


def test_a_place_to_write_is_checked(path):
    check_place(path.parent / "a" / "b" / path.name)
    assert list((path.parent / "a" / "b").iterdir()) == []
    path.write_text("earlier")
    check_place(path)
    assert path.read_text() == "earlier"
    for no_place in (path.parent, path / path.name):
        with pytest.raises(ResultError, match="cannot be written"):
            check_place(no_place)


def test_a_later_versions_field_is_passed_over(written):
    content = written.read_bytes().replace(b'"round":3', b'"round":3,"news":[]')
    content = content.replace(b'"schema":3', b'"schema":3,"news":[]')
    written.write_bytes(with_checksums(content))
    assert read_log(written) == sample_log()


def test_a_cut_is_said(written):
    content = written.read_bytes()
    for end in range(content.index(b"\n") + 1, len(content), 997):
        written.write_bytes(content[:end])
        blocks = min(content[:end].count(b"\n") - 1, len(sample_log().blocks))
        assert len(read_log(written).blocks) == blocks
        cut_off = any("incomplete" in warning for warning in read_result(written).warnings)
        assert cut_off is not content[:end].endswith(b"\n")


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('"schema":3', '"schema":99', "upgrade with"),
        ('"schema":3', '"schema":2', "measure anew"),
        ('"kind":"comparison"', '"kind":"training"', "not a result file"),
        ('"seed":7', '"seed":"7"', "line 1: Expected `int`"),
        ('"caches":[]', '"caches":[{"level":1}]', "machine.processor.caches"),
        ("40000,40000", "40000,-1", "samples_ns"),
        *(('"import_s":0.2', f'"import_s":{n}', "line 2") for n in ("1e999", "NaN", 10**15 + 1)),
        ('"wall_ns":', '"made":10,"wall_ns":', "more calls than were made"),
        ('"wall_ns":2400000,', '"slices":[[51,9]],"wall_ns":2400000,', "slices"),
        ('"backend":"second"', '"backend":"abacus"', "not among its backends"),
    ],
)
def test_a_damaged_file_is_refused_with_the_place(written, old, new, place):
    content = written.read_text()
    assert old in content
    written.write_bytes(with_checksums(content.replace(old, new, 1).encode()))
    with pytest.raises(ResultError) as caught:
        read_result(written)
    assert place in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_turned_bit_is_an_error_wherever_it_is(path):
    write_log(path, log(blocks("first", 20, rounds=2)))
    content = path.read_bytes()
    for place in range(0, len(content), 41):
        for bit in (0, 3, 5):
            turned = bytes([content[place] ^ 1 << bit])
            path.write_bytes(content[:place] + turned + content[place + 1 :])
            with pytest.raises(ResultError):
                read_log(path)
    path.write_bytes(content[:-1] + b"\x0b")
    with pytest.raises(ResultError, match=r"line \d+: its checksum does not match"):
        read_log(path)


def test_lines_out_of_order_are_an_error(path, written):
    """Moved, repeated, left out, or of another run with the same backends."""
    lines = written.read_bytes().splitlines(keepends=True)
    header = sample_log().header
    other = replace(header, rules=replace(header.rules, seed=8))
    strange = as_lines(dataclasses.replace(sample_log(), header=other)).splitlines(keepends=True)
    unordered = as_lines(dataclasses.replace(sample_log(), ordered=False)).splitlines(keepends=True)
    changes = {
        "moved": [*lines[:3], lines[4], lines[3], *lines[5:]],
        "repeated": [*lines[:3], *lines[2:]],
        "left out": [*lines[:3], *lines[4:]],
        "of another run": [*lines[:3], *strange[3:]],
        "of an earlier version": [*lines[:3], *unordered[3:]],
    }
    for changed in changes.values():
        path.write_bytes(b"".join(changed))
        with pytest.raises(ResultError, match="line 4: it does not follow"):
            read_log(path)


def test_a_file_of_an_earlier_version_is_read_and_continued(path):
    """Its lines do not name the one before."""
    old = dataclasses.replace(sample_log(), ordered=False)
    write_log(path, old)
    assert b'"after"' not in path.read_bytes()
    with Appended(path) as file:
        file.begin(old.header)
        file.append(old.blocks[0])
    assert read_log(path).blocks == (*old.blocks, old.blocks[0])
    assert not read_log(path).ordered


@pytest.mark.parametrize("content", [b"", b"\x00\xff", b"{}", b"[" * 100_000])
def test_what_is_no_result_is_refused(path, content):
    for ending in (b"", b"\n"):
        path.write_bytes(content + ending)
        with pytest.raises(ResultError, match="not a result file"):
            read_result(path)


def test_the_ratio_is_that_of_the_rounds():
    found = sample_result()
    first, second = (found.backend(name).summary for name in ("first", "second"))
    assert first.samples == 600
    assert first.verdict == "baseline"
    assert first.ratio == 1.0
    assert second.ratio == pytest.approx(second.p50_us / first.p50_us, rel=1e-3)
    assert second.verdict == "slower"


def test_a_backend_that_is_not_in_a_result_is_said():
    said = "no backend 'third'; it has first and second$"
    with pytest.raises(LenetBenchError, match=said):
        result(blocks("first", 20), blocks("second", 40)).backend("third")


def test_too_few_calls_have_no_median():
    few = result(blocks("first", 20), blocks("second", 40, rounds=1, samples_ns=(40_000,) * 19))
    second = few.backend("second").summary
    assert second.p50_us is None
    assert second.ratio is None
    assert second.verdict is None


def test_the_median_is_that_of_the_starts():
    one, *others = blocks("first", 20)
    long = replace(one, samples_ns=(90_000,) * 100_000)
    summary = result((long, *others)).backend("first").summary
    assert summary.p50_us == pytest.approx(20, rel=1e-3)
    assert summary.mean_us > 80


def test_a_ratios_interval_is_blind_to_a_drift_that_both_share():
    drift = 1 + 0.1 * np.arange(12)
    rows = (timed_starts(name, *us * drift) for name, us in (("first", 20), ("b", 30)))
    summary = result(*rows).backend("b").summary
    assert summary.ratio_high / summary.ratio_low < 1.3
    assert summary.p50_high_us / summary.p50_low_us > 1.4


@pytest.mark.parametrize(("starts", "known"), [(5, False), (6, True)])
def test_an_interval_is_over_six_starts_or_more(starts, known):
    found = result(*(blocks(name, us, rounds=starts) for name, us in (("first", 9), ("b", 18))))
    summary = found.backend("b").summary
    assert (summary.p50_low_us is not None) == known
    assert (summary.ratio_low is not None) == known
    assert summary.verdict == ("slower" if known else None)
    assert any("too few starts" in warning for warning in found.warnings) is not known
    percentiles = (summary.p95_us, summary.p99_us, summary.p999_us)  # of 250 or 300 calls
    assert [us is not None for us in percentiles] == [True, False, False]


def test_the_last_block_says_what_became_of_a_backend():
    row = result((*failed("a", "crashed", "it fell"), *blocks("a", 9)[1:])).backend("a")
    assert (row.status, row.reason, row.failures, len(row.blocks)) == ("ok", None, 1, 11)
    fell = replace(*failed("a", "crashed", "fell"), round=3)
    row = result((*blocks("a", 9, rounds=3), fell)).backend("a")
    assert (row.status, row.reason) == ("crashed", "fell")


def test_what_cannot_run_is_a_failure_only_where_it_is_named():
    missing = failed("fourth", "unavailable", "not installed")
    found = result(blocks("a", 9), failed("third", "crashed", "fell"), missing)
    assert failures(found.backends) == ["third"]
    assert failures(found.backends, named=["fourth"]) == ["third", "fourth"]


def test_the_calls_count_that_were_made_while_the_machine_was_quiet():
    first, *others = blocks("a", 20)
    mixed = replace(first, samples_ns=(20_000,) * 9 + (9_000,) * 41, slices=((9, 30), (41, 40)))
    others = [replace(one, slices=((50, 30),)) for one in others]
    block = result((mixed, *others)).backend("a").blocks[0]
    assert block.samples_ns == [20_000] * 9
    assert block.quiet_share == 9 / 50
    # of those that were not kept none was
    block = result((replace(mixed, made=90), *others)).backend("a").blocks[0]
    assert block.quiet_share == 9 / 90


def with_caches(name, quick, rounds=8, slow_us=24):
    """So many starts of 20 us are beside a quick shared cache, the others beside a slow one."""
    quiet = blocks(name, 20, rounds=rounds, slices=((50, 30_000, 45_000),))
    slow = blocks(name, slow_us, rounds=rounds, slices=((50, 30_000, 60_000),))
    return (*quiet[:quick], *slow[quick:])


def starts(*rows):
    return [row.summary.starts for row in result(*rows).backends]


def test_calls_beside_a_slow_shared_cache_do_not_count_where_the_others_are_more_precise():
    row = result(with_caches("a", 6)).backend("a")
    assert (row.summary.starts, row.p50_us) == (6, pytest.approx(20, rel=0.001))
    assert starts(with_caches("a", 5)) == [8], "five are too few"
    assert starts(with_caches("a", 6, slow_us=20)) == [8], "the cache made no difference"


def test_of_all_backends_the_same_calls_count_beside_a_slow_shared_cache():
    few, enough = with_caches("a", 5), with_caches("b", 7)
    assert starts(enough, few) == [8, 8]
    assert starts(enough, with_caches("a", 6)) == [7, 6]
    assert starts(enough, with_caches("a", 6, slow_us=20)) == [7, 6], "the gain of one is enough"
    assert starts(enough, with_caches("c", 0, rounds=2)) == [7, 2], "two starts have no say"


def test_blocks_that_were_never_quiet_count_where_there_are_too_few_others():
    quiet = blocks("a", 20, rounds=6, slices=QUIET_SLICES)
    slow = blocks("a", 30, rounds=8, slices=SLOW_SLICES)[5:]
    assert result((*quiet, *slow[1:])).backend("a").summary.starts == 6
    assert result((*quiet[:5], *slow)).backend("a").summary.starts == 8
    row = result(blocks("a", 20, rounds=1, slices=((10, 30), (40, 60)))).backend("a")
    assert row.summary.samples == 50
    assert row.blocks[0].quiet_share == 0


def equals(seed, rounds=20, quiet=0.15, slow=1.3, cycle_s=10):
    """Two backends that are the same, on a machine that is slow between its quiet moments."""
    random = np.random.default_rng(seed)
    ends, at_s, found = [0.0], 0.0, []
    while ends[-1] < 4 * rounds:  # a quiet span, a slow one, ...
        is_quiet = len(ends) % 2
        ends.append(ends[-1] + random.exponential(cycle_s * (quiet if is_quiet else 1 - quiet)))
    for number, name in product(range(rounds), "ab"):
        factors = []  # a slice each
        for _ in range(40):
            is_quiet = np.searchsorted(ends, at_s) % 2
            factors.append(1 if is_quiet else slow)
            at_s += 0.03
        loops = [(5, *(round(ns * one) for ns in (16_000, 40_000))) for one in factors]
        us = 20_000 * np.exp(random.normal(0, 0.003)) * np.repeat(factors, 5)
        (block,) = blocks(name, 20, rounds=1, samples_ns=tuple(us.astype(int).tolist()))
        found.append(replace(block, round=number, at_s=at_s, slices=tuple(loops)))
    return [tuple(one for one in found if one.backend == name) for name in "ab"]


def test_equal_backends_are_not_called_different_on_a_machine_that_is_seldom_quiet():
    said = [result(*equals(seed), baseline="a").backend("b").summary for seed in range(20)]
    assert {one.verdict for one in said} <= {"same", "ambiguous"}
    assert sum(one.ratio_low <= 1 <= one.ratio_high for one in said) >= 17


def test_a_ratio_leaves_out_disturbed_starts_of_both_backends_or_of_neither():
    often, seldom = quiet_in("a", range(6)), quiet_in("b", range(7, 12))
    assert starts(often, seldom) == [6, 12], "for their own figures"
    assert result(often, seldom, baseline="a").backend("b").summary.verdict == "ambiguous"
    both = result(quiet_in("a", range(8)), quiet_in("b", range(1, 9)), baseline="a").backend("b")
    assert sorted(both.beside_us) == list(range(1, 8))
    assert both.summary.verdict == "same"


def test_a_repeated_block_takes_a_disturbed_ones_place():
    first, *others = blocks("a", 20, slices=QUIET_SLICES)
    slow = replace(first, slices=SLOW_SLICES, samples_ns=(40_000,) * 50)
    for both in ((slow, first), (first, slow)):
        found = result((*both, *others))
        assert found.backend("a").blocks[0].median_us == first.median_us
        assert found.disturbance.disturbed == 1
        assert found.disturbance.repeated == 1
        assert found.disturbance.blocks == 12 + 1


def warned(text, *rows, **rest):
    return [warning for warning in result(*rows, **rest).warnings if text in warning]


FAILED = failed("b", "crashed", "x")
SLOWED = Software(variables={"KERAS_BACKEND": "jax", "OPENBLAS_CORETYPE": "Haswell"})


@pytest.mark.parametrize(
    ("word", "changes", "rest"),
    [
        ("hypervisor took 20 %", {"steal_share": 0.2}, {}),
        ("other programs used 20 %", {"other_share": 0.2}, {}),
        ("times a second", {"preempted": 9}, {}),
        ("getting faster", {"samples_ns": (30_000,) * 25 + (20_000,) * 25}, {}),
        ("used CPU time between calls", {"idle_share": 0.5}, {}),
        ("in no figure: a (75 %)", {"made": 50, "wall_ns": 200_000_000}, {"interval_s": 0.001}),
        ("harness itself", {"samples_ns": (3_000,) * 50}, {}),
        ("no ratios", {}, {"baseline": "b"}),
        ("interrupted", {}, {"ended": "interrupted"}),
        ("has not ended, or was killed", {}, {"ended": None}),
        ("3 threads", {}, {"threads": 3}),
        ("load 9.0", {}, {"machine": Machine(load=(9.0, 1.0, 1.0))}),
        ("sets OPENBLAS_CORETYPE=Haswell, which", {}, {"machine": Machine(software=SLOWED)}),
    ],
)
def test_a_warning_says_what_was_wrong(word, changes, rest):
    assert warned(word, blocks("a", 20, **changes), FAILED, **rest)
    assert not warned(word, blocks("a", 20), FAILED)
    assert sample_result().warnings == ()


def test_a_moved_clock_is_warned_of():
    first, *others = blocks("a", 20, mhz=2000.0)
    assert warned("2000 and 3000 MHz", (replace(first, mhz=3000.0), *others))


def test_disturbed_blocks_are_warned_of():
    quiet = blocks("a", 20, slices=QUIET_SLICES)
    assert not warned("disturbed", quiet)
    slow = tuple(replace(block, slices=SLOW_SLICES) for block in quiet[:3])
    (warning,) = warned("3 of 12 blocks", (*slow, *quiet[3:]))
    assert "75 %" in warning
    found = digest(result((*slow, *quiet[3:])))
    assert found["disturbed_blocks"] == 3
    assert found["quiet_share"] == pytest.approx(0.75)
    # what slows the known loop in all of a backend's blocks may be the backend itself
    itself = result(blocks("a", 20), blocks("b", 30, slices=SLOW_SLICES))
    assert itself.disturbance.disturbed == 0


def test_a_budget_that_was_too_short_is_answered_with_one_that_would_do():
    (warning,) = warned("too few starts", blocks("a", 9, rounds=2, took_s=4.0))
    assert "--budget 30s" in warning, "six rounds of this and the empty backend, and a fifth"


@pytest.mark.parametrize(
    ("budget_s", "advice"),
    [(None, "--rounds 6"), (60, "--rounds 6"), (5, "--rounds 6 --budget 30s")],
)
def test_rounds_that_were_too_few_are_answered_with_six(budget_s, advice):
    made = log(blocks("a", 9, rounds=2, took_s=4.0), rounds=2, budget_s=budget_s)
    (warning,) = [text for text in as_result(made).warnings if "too few starts" in text]
    assert warning.endswith(f"; try {advice}")


def test_one_that_never_started_did_not_start_as_often_as_the_others():
    made = log(blocks("a", 9, rounds=2), blocks("b", 9, rounds=2))
    everyone, absent = (
        as_result(dataclasses.replace(made, blocks=some))
        for some in (made.blocks, tuple(one for one in made.blocks if one.backend != "b"))
    )
    assert any("each backend started 2 times" in text for text in everyone.warnings)
    assert any("started too rarely: a (2)" in text for text in absent.warnings)


def test_a_budget_that_was_not_enough_is_not_advised_again():
    short = log(blocks("a", 9, rounds=3, took_s=0.1))
    slow = as_result(dataclasses.replace(short, end=replace(short.end, elapsed_s=10.0)))
    (warning,) = [text for text in slow.warnings if "too few starts" in text]
    assert "--budget 30s" in warning, "six rounds at the pace of these three, and a fifth"


def test_two_modes_are_named_with_both_medians():
    fast, slow = blocks("a", 20, rounds=16)[:8], blocks("a", 24, rounds=16)[8:]
    (warning,) = warned("two groups", (*fast, *slow))
    assert "a (20.0 µs in 8 starts or 24.0 µs in 8 starts)" in warning


def test_a_start_is_compared_with_the_baselines_just_before_and_after_it():
    made = log_in_halves(by=1.2)
    for found in (as_result(made), as_result(thinned(made))):
        assert [row.name for row in found.backends] == ["base", "row"]
        ratios = [row.summary.ratio for row in found.backends if row.summary]
        assert ratios == [1.0, pytest.approx(1.5, rel=1e-3)]


def test_rounds_that_repeat_each_other_are_told():
    drifting = timed_starts("drifting", *(20 + n / 10 for n in range(16)))
    (warning,) = result(blocks("base", 20, rounds=16), drifting).warnings
    assert warning.startswith("the ratios of neighbouring rounds are alike")
    assert "drifting (0.8" in warning


def test_a_row_without_a_verdict_says_how_many_starts_would_decide():
    wanders = timed_starts("wanders", *[20, 22] * 6)
    (warning,) = result(blocks("base", 20), wanders).warnings
    said = re.search(
        r"without a verdict: wanders \(about (\d+) starts\); "
        r"measure longer \(--until decided --budget (\d+)s\)",
        warning,
    )
    assert said
    starts, budget_s = map(int, said.groups())
    again_s = 1.2 * 3.5 * starts / 12  # the whole run again, with so many rounds in place of 12
    assert again_s * 0.98 <= budget_s <= again_s * 1.02 + 10


def test_the_level_of_a_ratios_interval_is_the_runs():
    width = {}
    for level in (0.95, 0.99):
        rows = (noisy_blocks(name, seed) for seed, name in enumerate(("base", "b")))
        summary = result(*rows, confidence=level).backend("b").summary
        width[level] = summary.ratio_high / summary.ratio_low
    assert width[0.99] > width[0.95]


def noisy_blocks(name, seed):
    random = np.random.default_rng(seed)
    return timed_starts(name, *20 * np.exp(0.02 * random.standard_normal(12)))


def test_a_budget_that_ended_before_all_is_told():
    waiting = log(blocks("a", 20), blocks("b", 20), budget_s=5.0, baseline="a", ended="budget")
    (warning,) = as_result(dataclasses.replace(waiting, blocks=())).warnings
    assert warning.startswith("the budget of 5 s ended before anything was timed")


def test_a_baseline_that_was_not_reached_is_told_where_others_were_timed():
    some = log(blocks("a", 20), blocks("b", 20), budget_s=5.0, baseline="a", ended="budget")
    left = tuple(block for block in some.blocks if block.backend != "a")
    (warning,) = as_result(dataclasses.replace(some, blocks=left)).warnings
    assert warning.startswith("the baseline a did not run, so there are no ratios")


def test_a_busy_machine_does_not_matter_where_nothing_was_timed():
    busy = Machine(load=(9.0, 1.0, 1.0))
    assert result(failed("a", "crashed", "in round 1"), machine=busy).warnings == ()


def test_a_shared_warning_names_the_worst():
    many = [blocks(f"b{n:02}", 20, threads_running=2 + n) for n in range(20)]
    (warning,) = result(*many).warnings
    assert "b16 (18) and 16 more" in warning
    assert "b15" not in warning


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_a_committed_result_can_be_read(path):
    found = read_result(path)
    ranked = [row for row in rows(found) if row["ratio"]]
    if found.baseline is None:  # the named one was not reached
        assert not ranked
        return
    assert len(ranked) > 1
    for row in ranked:
        assert row["ratio_low"] is None or row["ratio_low"] <= row["ratio"] <= row["ratio_high"]


def test_ratios_are_to_onednn_where_it_ran():
    first, usual = blocks("first", 20), blocks("onednn", 40)
    assert result(first, usual).baseline == "onednn"
    assert result(first, usual, baseline="first").baseline == "first"
    assert result(first, failed("onednn", "crashed", "fell")).baseline == "first"


def test_without_onednn_ratios_are_to_the_fastest():
    slow, quick = blocks("slow", 90), blocks("quick", 20)
    assert result(slow, quick).baseline == "quick"

"""The result file and what is computed from it; what is no result is refused in one sentence."""

import dataclasses
import json
import sys
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from lenet_bench import read_result, units
from lenet_bench.errors import ResultError
from lenet_bench.results import Appended, as_result, digest, failures, read_log
from lenet_bench.results.machine import Machine
from lenet_bench.results.schema import make_schema
from lenet_bench.results.versioned import check_place, read_bytes
from lenet_bench.show.comparison import cells
from msgspec.structs import replace
from processes import ran
from sample_results import (
    QUIET_SLICES,
    SLOW_SLICES,
    blocks,
    failed,
    log,
    result,
    sample_log,
    sample_result,
    with_checksums,
    write_log,
)

ROOT = Path(__file__).parents[1]
COMMITTED = sorted((ROOT / "results").rglob("*.jsonl.gz"))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "r.jsonl"


@pytest.fixture
def written(path):
    write_log(path, sample_log())
    return path


def test_what_is_written_is_read_again_and_digested_without_its_calls(written):
    assert read_log(written) == sample_log()
    assert read_result(written) == sample_result()
    text = json.dumps(digest(sample_result()), allow_nan=False)
    assert json.loads(text)["baseline"] == "first"
    assert "samples_ns" not in text


def test_every_line_keeps_the_published_schema(written, run):
    schema = json.loads(run("schema").output)
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


def test_each_line_is_there_as_soon_as_it_is_appended(path):
    whole = sample_log()
    with Appended(path) as file:
        file.begin(whole.header)
        for number, block in enumerate(whole.blocks):
            file.append(block)
            assert read_log(path).blocks == whole.blocks[: number + 1]
        assert read_result(path).ended == "running"
        for ends in (whole.end, None, whole.end):  # the last one, where a run went on
            file.append(ends or replace(whole.blocks[-1], round=12))
            assert read_log(path).end == ends


def test_a_place_is_checked_and_what_is_there_stays(path):
    check_place(path.parent / "a" / "b" / path.name)
    assert list((path.parent / "a" / "b").iterdir()) == []
    path.write_text("earlier")
    check_place(path)
    assert path.read_text() == "earlier"
    for no_place in (path.parent, path / path.name):
        with pytest.raises(ResultError, match="cannot be written"):
            check_place(no_place)


def test_a_later_versions_field_is_passed_over_and_a_cut_is_said(written):
    content = written.read_bytes().replace(b'"round":3', b'"round":3,"news":[]')
    content = content.replace(b'"schema":3', b'"schema":3,"news":[]')
    written.write_bytes(with_checksums(content))
    assert read_log(written) == sample_log()

    write_log(written.with_name("other.jsonl"), sample_log())
    written = written.with_name("other.jsonl")
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
        ('"schema":3', '"schema":99', "newer lenet-bench"),
        ('"schema":3', '"schema":2', "older lenet-bench"),
        ('"schema":3', '"schema":"3"', "no schema number"),
        ('"kind":"comparison"', '"kind":"training"', "that of a training"),
        ('"seed":7', '"seed":"7"', "line 1: Expected `int`"),
        ('"margin":0.02', '"margin":1', "margin"),
        ('"baseline":null', '"baseline":"abacus"', "baseline"),
        ('"status":"crashed"', '"status":"fine"', "status"),
        ('"round":3', '"round":-3', "round"),
        ('"model":"µ-processor"', '"model":3', "machine.processor.model"),
        ('"caches":[]', '"caches":3', "machine.processor.caches"),
        ('"caches":[]', '"caches":[{"level":1}]', "machine.processor.caches"),
        ('"packages":{}', '"packages":[]', "machine.software.packages"),
        ('"variables":{}}},', '"variables":[1]}},', "machine.software.variables"),
        ('"memory_bytes":null', '"memory_bytes":"much"', "machine.memory_bytes"),
        ("40000,40000", "40000,40000.5", "samples_ns"),
        ("40000,40000", "40000,-1", "samples_ns"),
        ("40000,40000", "40000,0", "no duration"),
        ('"wall_ns":2400000,', '"slices":[[51,9]],"wall_ns":2400000,', "slices"),
        ('"backend":"second"', '"backend":"abacus"', "not among its backends"),
        ('"wall_ns":2400000,', '"wall_ns":NaN,', "line "),
        ('"wall_ns":2400000,', '"wall_ns":1e999,', "line "),
        ('"at_s":0.1,', '"at_s":' + "9" * 400 + ",", "line "),
        ('"round":3,', "", "round"),
        ('{"ended":"rounds"', '{"ended":"somehow"', "ended"),
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


@pytest.mark.parametrize("content", [b"", b"[]", b"\x00\xff", b'"schema"', b"{}", b"[" * 100_000])
def test_what_is_no_result_is_refused(path, content):
    for ending in (b"", b"\n"):
        path.write_bytes(content + ending)
        with pytest.raises(ResultError, match="not a result file"):
            read_result(path)


def test_an_absent_file_is_refused(path):
    with pytest.raises(ResultError, match="No such file"):
        read_result(path)


def test_the_ratio_is_that_of_the_medians():
    found = sample_result()
    first, second = (found.row(name).summary for name in ("first", "second"))
    assert (first.samples, first.verdict, first.ratio) == (600, "baseline", 1.0)
    assert second.ratio == second.p50_us / first.p50_us == pytest.approx(2, rel=1e-3)
    assert second.verdict == "slower"
    other = result(blocks("first", 20), blocks("second", 40), baseline="second")
    assert other.row("first").summary.ratio == pytest.approx(0.5, rel=1e-3)
    few = result(blocks("first", 20), blocks("second", 40, rounds=1, samples_ns=(40_000,) * 19))
    second = few.row("second").summary
    assert (second.p50_us, second.ratio, second.verdict) == (None, None, "ambiguous")


def test_the_median_is_that_of_the_starts_and_its_interval_blind_to_a_drift_that_both_share():
    one, *others = blocks("first", 20)
    long = replace(one, samples_ns=(90_000,) * 100_000)
    summary = result((long, *others)).row("first").summary
    assert summary.p50_us == pytest.approx(20, rel=1e-3)
    assert summary.mean_us > 80

    drift = [1 + 0.1 * n for n in range(12)]

    def drifting(name, us):
        pairs = zip(blocks(name, us), drift, strict=True)
        return tuple(replace(b, samples_ns=(round(us * 1000 * f),) * 50) for b, f in pairs)

    summary = result(drifting("first", 20), drifting("b", 30)).row("b").summary
    assert summary.ratio_high / summary.ratio_low < 1.3
    assert summary.p50_high_us / summary.p50_low_us > 1.4


@pytest.mark.parametrize(("starts", "known"), [(5, False), (6, True)])
def test_an_interval_is_over_six_starts_or_more(starts, known):
    found = result(*(blocks(name, us, rounds=starts) for name, us in (("first", 9), ("b", 18))))
    summary = found.row("b").summary
    assert (summary.p50_low_us is not None, summary.ratio_low is not None) == (known, known)
    assert summary.verdict == ("slower" if known else "ambiguous")
    assert any("too few starts" in warning for warning in found.warnings) is not known
    percentiles = (summary.p95_us, summary.p99_us, summary.p999_us)  # of 250 or 300 calls
    assert [us is not None for us in percentiles] == [True, False, False]


def test_the_last_block_says_what_became_of_a_backend_and_failures_leave_out_what_cannot_run():
    row = result((*failed("a", "crashed", "it fell"), *blocks("a", 9)[1:])).row("a")
    assert (row.status, row.reason, row.failures, len(row.blocks)) == ("ok", None, 1, 11)
    fell = replace(*failed("a", "crashed", "fell"), round=3)
    row = result((*blocks("a", 9, rounds=3), fell)).row("a")
    assert (row.status, row.reason) == ("crashed", "fell")
    whole = log(blocks("a", 9), blocks("b", 9))
    rest = tuple(block for block in whole.blocks if block.backend != "b")
    assert as_result(dataclasses.replace(whole, blocks=rest)).row("b").status == "unmeasured"

    missing = failed("fourth", "unavailable", "not installed")
    found = result(blocks("a", 9), failed("third", "crashed", "fell"), missing)
    assert failures(found.backends) == ["third"]
    assert failures(found.backends, named=["fourth"]) == ["third", "fourth"]


def test_of_a_block_the_calls_count_that_were_made_while_the_machine_was_quiet():
    first, *others = blocks("a", 20)
    mixed = replace(first, samples_ns=(20_000,) * 9 + (9_000,) * 41, slices=((9, 30), (41, 40)))
    others = [replace(one, slices=((50, 30),)) for one in others]
    block = result((mixed, *others)).row("a").blocks[0]
    assert (block.samples_ns, block.quiet_share) == ([20_000] * 9, 9 / 50)
    # of those that were not kept none was
    block = result((replace(mixed, made=90), *others)).row("a").blocks[0]
    assert block.quiet_share == 9 / 90


def test_blocks_that_were_never_quiet_count_where_there_are_too_few_others():
    quiet = blocks("a", 20, rounds=6, slices=QUIET_SLICES)
    slow = blocks("a", 30, rounds=8, slices=SLOW_SLICES)[5:]
    assert result((*quiet, *slow[1:])).row("a").summary.starts == 6
    assert result((*quiet[:5], *slow)).row("a").summary.starts == 8
    row = result(blocks("a", 20, rounds=1, slices=((10, 30), (40, 60)))).row("a")
    assert (row.summary.samples, row.blocks[0].quiet_share) == (50, 0)


def test_what_several_blocks_say_is_one_figure_and_a_repeated_one_takes_a_disturbed_ones_place():
    made = blocks("a", 9)
    made = (replace(made[0], peak_rss_mib=90.0, lines_of_code=70), *made[1:])
    row = result(made).row("a")
    assert (row.resources.peak_rss_mib, row.lines_of_code) == (90.0, 70)
    assert len(row.cold_starts) == 12
    assert row.cold_start_s == pytest.approx(1.5)

    first, *others = blocks("a", 20, slices=QUIET_SLICES)
    slow = replace(first, slices=SLOW_SLICES, samples_ns=(40_000,) * 50)
    for both in ((slow, first), (first, slow)):
        found = result((*both, *others))
        assert found.row("a").blocks[0].median_us == first.median_us
        assert (found.disturbance.disturbed, found.disturbance.repeated) == (1, 1)
        assert found.disturbance.blocks == 12 + 1


def warned(text, *rows, **rest):
    return [warning for warning in result(*rows, **rest).warnings if text in warning]


FAILED = failed("b", "crashed", "x")


@pytest.mark.parametrize(
    ("word", "changes", "rest"),
    [
        ("hypervisor took 20 %", {"steal_share": 0.2}, {}),
        ("other programs used 20 %", {"other_share": 0.2}, {}),
        ("times a second", {"preempted": 9}, {}),
        ("a (2)", {"threads_running": 2}, {}),
        ("CPU time between calls", {"idle_share": 0.9}, {}),
        ("a (1 more)", {"cores": (0, 1)}, {}),
        ("getting faster", {"samples_ns": (30_000,) * 25 + (20_000,) * 25}, {}),
        ("harness itself", {"samples_ns": (3_000,) * 50}, {}),
        ("no ratios", {}, {"baseline": "b"}),
        ("interrupted", {}, {"ended": "interrupted"}),
        ("3 threads", {}, {"threads": 3}),
        ("load 9.0", {}, {"machine": Machine(load=(9.0, 1.0, 1.0))}),
    ],
)
def test_a_warning_says_what_was_wrong(word, changes, rest):
    assert warned(word, blocks("a", 20, **changes), FAILED, **rest)
    assert not warned(word, blocks("a", 20), FAILED)
    assert sample_result().warnings == ()


def test_a_moved_clock_is_warned_of_and_no_interruption_by_one_backends_own_threads():
    first, *others = blocks("a", 20, mhz=2000.0)
    assert warned("2000 and 3000 MHz", (replace(first, mhz=3000.0), *others))
    assert not warned("interrupted", blocks("a", 20, preempted=9), blocks("b", 20))


def test_disturbed_blocks_are_warned_of_and_a_budget_that_was_too_short_with_one_that_would_do():
    quiet = blocks("a", 20, slices=QUIET_SLICES)
    assert not warned("disturbed", quiet)
    slow = tuple(replace(block, slices=SLOW_SLICES) for block in quiet[:3])
    (warning,) = warned("3 of 12 blocks", (*slow, *quiet[3:]))
    assert "75 %" in warning
    found = digest(result((*slow, *quiet[3:])))
    assert (found["disturbed_blocks"], found["quiet_share"]) == (3, pytest.approx(0.75))
    # what slows the known loop in all of a backend's blocks may be the backend itself
    itself = result(blocks("a", 20), blocks("b", 30, slices=SLOW_SLICES))
    assert itself.disturbance.disturbed == 0

    (warning,) = warned("too few starts", blocks("a", 9, rounds=2, took_s=4.0))
    assert "--budget 30s" in warning, "six rounds of this and the empty backend, and a fifth"


def test_two_modes_are_named_with_both_medians_and_a_shared_warning_names_the_worst():
    fast, slow = blocks("a", 20, rounds=16)[:8], blocks("a", 24, rounds=16)[8:]
    (warning,) = warned("two groups", (*fast, *slow))
    assert "a (20.0 µs in 8 starts or 24.0 µs in 8 starts)" in warning
    assert not warned("the median differs", (*fast, *slow))
    many = [blocks(f"b{n:02}", 20, threads_running=2 + n) for n in range(20)]
    (warning,) = result(*many).warnings
    assert "b16 (18) and 16 more" in warning
    assert "b15" not in warning


def test_ratios_are_to_onednn_unless_another_is_named_or_it_did_not_run():
    first, usual = blocks("first", 20), blocks("onednn", 40)
    assert result(first, usual).baseline == "onednn"
    assert result(first, usual, baseline="first").baseline == "first"
    assert result(first, failed("onednn", "crashed", "fell")).baseline == "first"
    assert result(first, failed("b", "crashed", "fell"), baseline="b").baseline is None


def printed(figure):
    """Of what was drawn: 47.1 µs, 1.08 ms, 2,469."""
    number, _, unit = figure.replace(",", "").partition(" ")
    return float(number) * {"ns": 1e-3, "": 1, "µs": 1, "ms": 1e3, "s": 1e6}[unit]


def test_the_page_about_the_file_is_drawn_from_the_model():
    ran(sys.executable, ROOT / "bench" / "result_schema.py", "--check")


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_a_committed_result_keeps_the_schema_and_prints_ratios_of_what_it_prints(path):
    lines = list(map(json.loads, read_bytes(path).splitlines()))
    validator = Draft202012Validator(json.loads(make_schema()))
    for line in {line.get("backend", n): line for n, line in enumerate(lines)}.values():
        validator.validate(line)
    found = read_result(path)
    assert min(row.summary.p50_us or 0 for row in found.backends if row.status == "ok") > 0
    assert found.baseline
    base = found.row(found.baseline).summary.p50_us
    ranked = [row for row in found.backends if row.summary and row.summary.ratio]
    assert len(ranked) > 1
    for row in ranked:
        s, shown = row.summary, cells(row)
        assert s.ratio == s.p50_us / base
        last_digit = 0.006 / s.ratio if s.ratio < 10 else 0.006  # as printed, of each of the three
        assert printed(shown["ratio"]) == pytest.approx(
            printed(shown["p50"]) / printed(units.time(base)), rel=0.01 + last_digit
        )
        assert s.ratio_low is None or s.ratio_low <= s.ratio <= s.ratio_high

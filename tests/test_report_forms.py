"""A result as CSV, Markdown and JSON, and `lenet-bench report` that draws a saved one."""

import csv
from dataclasses import replace

import pytest
from lenet_bench.results import Batch, Callers, as_result, rows
from lenet_bench.results.machine import Machine, Processor
from lenet_bench.show.comparison import in_csv, in_markdown
from lenet_bench.show.terminal.screen import encodable
from sample_results import blocks, log, sample_log, sample_result, write_log


@pytest.fixture
def result():
    return sample_result()


HOSTILE = sample_log('a|b, "c"\n<script>')


def test_csv_has_every_row_of_each_result_with_the_figures_of_json(result):
    other = replace(result, machine=Machine(Processor(model="other")))
    read = list(csv.DictReader(in_csv([result, other])))
    assert [row["name"] for row in read] == 2 * ["first", "second", "third"]
    assert [row["machine"] for row in read] == ["µ-processor"] * 3 + ["other"] * 3
    assert float(read[1]["p50_us"]) == rows(result)[1]["p50_us"]
    assert read[2]["status"] == "crashed"
    assert read[2]["p50_us"] == ""


def test_csv_has_the_calls_a_second_of_several_callers():
    called = (Callers(1, "each", 100.0), Callers(2, "one", 150.0))
    found = as_result(
        log(blocks("first", 20), blocks("second", 40, callers=called), callers=(1, 2))
    )
    first, second = csv.DictReader(in_csv([found]))
    assert (second["calls_per_s_1_each"], second["calls_per_s_2_one"]) == ("100.0", "150.0")
    assert first["calls_per_s_2_one"] == ""


def test_csv_keeps_text_with_quotes():
    text = "\n".join(in_csv([as_result(HOSTILE)]))
    *_, crashed = csv.DictReader(text.splitlines(keepends=True))
    assert crashed["reason"].endswith('a|b, "c"\n<script>')


def test_markdown_keeps_text_with_quotes():
    printed = "\n".join(in_markdown(as_result(HOSTILE)))
    assert 'a\\|b, "c" \\<script\\>' in printed


def test_markdown_has_failures_with_warnings(result):
    printed = list(in_markdown(replace(result, warnings=("it was loud",))))
    lines = [line for line in printed if line.startswith("|")]
    assert len(lines) == 4
    assert len({line.count("|") for line in lines}) == 1
    assert "lines" not in "\n".join(printed)
    assert any("- third: crashed" in line for line in printed)
    assert "- warning: it was loud" in printed


def test_markdown_has_the_throughput_by_batch():
    row = blocks("first", 20, batches=(Batch(8, (2_000_000,)),))
    printed = "\n".join(in_markdown(as_result(log(row, batches=(8,)))))
    assert "| first | 49,993 | 49,993 | 4,000 |" in printed


def test_compare_answers_in_a_form_too(run, tmp_path):
    done = run("compare", "fused", "--rounds", "1", "--csv", "-o", tmp_path / "r.jsonl")
    (row,) = csv.DictReader(done.output.splitlines())
    assert row["name"] == "fused"
    assert row["status"] == "ok"


def test_report_says_which_of_several_results_is_which(run, saved, tmp_path):
    other = tmp_path / "other.jsonl"
    other.write_bytes(saved.read_bytes())
    for form in ([], ["--markdown"]):
        printed = run("report", saved, other, *form, COLUMNS="300").output.replace("\\", "")
        assert printed.index(str(saved)) < printed.index(str(other))
    assert str(saved) not in run("report", saved, COLUMNS="300").output


def test_a_terminal_of_ascii_gets_ascii(run, saved):
    done = run("report", saved, PYTHONIOENCODING="ascii")
    assert done.code == 0
    assert done.output.isascii()
    assert " us" in done.output
    assert encodable("…/b", "ascii") == "*/b"  # ~ would be the home folder


def test_report_has_a_killed_runs_figures(run, result, tmp_path):
    killed = log(blocks("first", 20), blocks("second", 40), ended=None)
    path = write_log(tmp_path / "killed.jsonl", killed)
    row = run("report", path, "--json").answer["backends"][1]
    assert row["p50_us"] == result.backend("second").summary.p50_us

"""A result as CSV, Markdown and JSON, and `lenet-bench report` that draws a saved one."""

import csv
import json
from dataclasses import replace

import pytest
from lenet_bench import summarise
from lenet_bench.report import markdown, spreadsheet
from lenet_bench.results import Batch, ResultFile, rows
from sample_results import sample_result


@pytest.fixture
def result():
    """A run of two rungs, one twice as slow, and of one that crashed."""
    return summarise(sample_result())


@pytest.fixture
def saved(result, tmp_path):
    """Its file."""
    ResultFile(tmp_path / "r.json").write(result)
    return tmp_path / "r.json"


def hostile(result):
    """A result whose texts mean something to Markdown and to CSV."""
    crashed = replace(result.rungs[2], reason='a|b, "c"\n<script>')
    return replace(result, rungs=(*result.rungs[:2], crashed))


def test_csv_has_every_row_with_the_figures_of_json(result):
    read = list(csv.DictReader(spreadsheet.comparison([result])))
    assert [row["name"] for row in read] == ["first", "second", "third"]
    assert float(read[1]["p50_us"]) == rows(result)[1]["p50_us"]


def test_csv_leaves_empty_what_was_not_measured(result):
    *_, crashed = csv.DictReader(spreadsheet.comparison([result]))
    assert (crashed["status"], crashed["p50_us"]) == ("crashed", "")


def test_csv_of_two_results_is_one_table_that_says_which_is_which(result):
    other = replace(result, machine={"processor": {"model": "other"}})
    read = list(csv.DictReader(spreadsheet.comparison([result, other])))
    assert [row["machine"] for row in read] == ["µ-processor"] * 3 + ["other"] * 3


def test_csv_keeps_text_with_quotes_commas_and_new_lines(result):
    text = "\n".join(spreadsheet.comparison([hostile(result)]))
    *_, crashed = csv.DictReader(text.splitlines(keepends=True))
    assert crashed["reason"] == 'a|b, "c"\n<script>'


def test_markdown_has_a_table_with_as_many_cells_in_each_line(result):
    lines = [line for line in markdown.comparison(result) if line.startswith("|")]
    assert len(lines) == 4
    assert len({line.count("|") for line in lines}) == 1


def test_markdown_leaves_out_columns_without_a_figure(result):
    assert "lines" not in "\n".join(markdown.comparison(result))


def test_markdown_tells_failures_and_warnings(result):
    told = "\n".join(markdown.comparison(replace(result, warnings=("it was loud",))))
    assert "- third: crashed: in round 1: killed" in told
    assert "- warning: it was loud" in told


def test_markdown_has_the_throughput_by_batch(result):
    batched = replace(
        result.rungs[0], batches=(Batch(8, (2_000_000,), 1),), batch_refusals={"64": "too large"}
    )
    rules = replace(result.rules, batches=(8, 64))
    told = "\n".join(markdown.comparison(replace(result, rungs=(batched,), rules=rules)))
    assert "| rung | best images/s | at batch | 8 |" in told
    assert "| first | 4,000 | 8 | 4,000 |" in told
    assert "- first: no batch of 64: too large" in told


def test_compare_answers_in_a_form_too(run, tmp_path):
    done = run("compare", "fused", "--rounds", "1", "--csv", "-o", tmp_path / "r.json")
    (row,) = csv.DictReader(done.output.splitlines())
    assert (row["name"], row["status"]) == ("fused", "ok")


def test_markdown_shows_text_as_it_is(result):
    told = "\n".join(markdown.comparison(hostile(result)))
    assert '- third: crashed: a\\|b, "c" \\<script\\>' in told


def test_report_draws_a_saved_result_in_the_terminals_form(run, saved):
    done = run("report", saved)
    assert done.code == 0
    assert "first" in done.output
    assert "third: crashed" in done.output


def test_report_json_is_what_compare_prints(run, saved):
    done = run("report", saved, "--json")
    assert [rung["verdict"] for rung in json.loads(done.output)["rungs"]] == [
        "baseline",
        "slower",
        None,
    ]


def test_report_works_the_figures_out_anew(run, result, tmp_path):
    killed = replace(sample_result(), ended="running")
    ResultFile(tmp_path / "killed.json").write(killed)
    row = json.loads(run("report", tmp_path / "killed.json", "--json").output)["rungs"][1]
    assert row["p50_us"] == result.rung("second").summary.p50_us


def test_report_csv_of_two_files_has_one_header(run, saved):
    lines = run("report", saved, saved, "--csv").output.splitlines()
    assert sum(line.startswith("started,") for line in lines) == 1
    assert len(lines) == 7


def test_two_forms_at_once_are_misuse(run, saved):
    done = run("report", saved, "--csv", "--markdown")
    assert done.code == 2
    assert "--csv and --markdown exclude each other" in done.errors


def test_a_file_that_is_none_is_one_sentence(run, tmp_path):
    (tmp_path / "r.json").write_text("{}")
    done = run("report", tmp_path / "r.json")
    assert (done.code, done.output) == (1, "")
    assert "not a result file" in done.errors
    assert "Traceback" not in done.errors

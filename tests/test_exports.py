"""A result in the forms of other tools, checked by these tools or by their published schemas."""

import json
import os
import re
import sys
import textwrap
from pathlib import Path
from statistics import median

import pytest
from jsonschema import Draft7Validator
from lenet_bench.cli import run as command
from lenet_bench.results import read_result, rows, start_medians_us
from processes import ran
from sample_results import blocks, log, write_log

ROOT = Path(__file__).parents[1]
COMMITTED = sorted((ROOT / "results/cpu").glob("*.jsonl.gz"))


def every(of):
    """An object whose fields are all like that."""
    return {"type": "object", "patternProperties": {".+": of}}


def fields(needed, **known):
    known = {name: {"type": kind} for name, kind in known.items()}
    rest = {"required": needed.split(), "additionalProperties": False}
    return {"type": "object", "properties": known, **rest}


TEXT, NUMBER = "string", "number"
#: https://bencher.dev/docs/reference/bencher-metric-format/
BENCHER = every(every(fields("value", value=NUMBER, lower_value=NUMBER, upper_value=NUMBER)))
#: https://github.com/benchmark-action/github-action-benchmark, customSmallerIsBetter
GITHUB_ACTION_BENCHMARK = {
    "type": "array",
    "items": fields("name unit value", name=TEXT, unit=TEXT, value=NUMBER, range=TEXT, extra=TEXT),
}
SCHEMAS = {"bencher": BENCHER, "github-action-benchmark": GITHUB_ACTION_BENCHMARK}


@pytest.fixture
def exported(capsys):
    """`exported(path, name)`: what `report --format` prints, as data."""

    def export(path, name):
        assert command(["report", str(path), "--format", name]) == 0
        return json.loads(capsys.readouterr().out)

    return export


@pytest.mark.parametrize("name", SCHEMAS)
@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_an_export_keeps_the_schema_that_its_tool_publishes(path, name, exported):
    Draft7Validator(SCHEMAS[name]).validate(exported(path, name))


def test_bencher_gets_medians_with_intervals(exported):
    found = exported(COMMITTED[0], "bencher")
    for row in rows(read_result(COMMITTED[0])):
        if row["p50_us"] is None:
            assert row["name"] not in found
            continue
        latency = found[row["name"]]["latency"]
        assert latency["value"] == pytest.approx(row["p50_us"] * 1000, abs=0.1)
        if row["p50_low_us"] is None:
            assert list(latency) == ["value"]
        else:
            assert latency["lower_value"] <= latency["value"] <= latency["upper_value"]


def test_github_action_benchmark_gets_medians_with_ratios(exported):
    found = {one["name"]: one for one in exported(COMMITTED[0], "github-action-benchmark")}
    (fused,) = (row for row in rows(read_result(COMMITTED[0])) if row["name"] == "fused")
    assert found["fused"]["unit"] == "ns"
    assert found["fused"]["value"] == pytest.approx(fused["p50_us"] * 1000, abs=0.1)
    assert found["fused / onednn"]["value"] == pytest.approx(fused["ratio"], abs=1e-4)
    assert found["fused / onednn"]["unit"] == "ratio"
    assert "onednn / onednn" not in found


def pyperf(*arguments):
    return ran(sys.executable, "-m", "pyperf", *arguments).stdout


def test_pyperf_reads_a_start_as_a_run(exported, tmp_path):
    target = tmp_path / "one.json"
    target.write_text(json.dumps(exported(COMMITTED[0], "pyperf")))
    stats = pyperf("stats", target, "-b", "fused")
    row = read_result(COMMITTED[0]).row("fused")
    assert f"Number of run with values: {len(row.blocks)}" in stats
    middle = median(start_medians_us(row.blocks).values())
    said = re.search(r"Median \+- MAD: +([\d.]+) us", stats)
    assert said is not None
    assert float(said[1]) == pytest.approx(middle, abs=0.05)


def test_pyperf_sees_what_diff_sees(exported, tmp_path):
    for name, us in {"old": 20, "new": 26}.items():
        write_log(tmp_path / f"{name}.jsonl", log(blocks("fused", us), blocks("numpy", 90)))
        found = exported(tmp_path / f"{name}.jsonl", "pyperf")
        (tmp_path / f"{name}.json").write_text(json.dumps(found))
    answer = pyperf("compare_to", tmp_path / "old.json", tmp_path / "new.json")
    assert "1.30x slower" in answer
    assert re.search("not significant.*numpy", answer, re.DOTALL)


def test_an_export_is_of_one_result(capsys):
    for words in (["--json"], ["-o", "page.html"], ["--figures", "figures"], [str(COMMITTED[1])]):
        assert command(["report", str(COMMITTED[0]), "--format", "bencher", *words]) == 2
        assert "one RESULT" in capsys.readouterr().err


def steps(workflow):
    found = re.findall(r"- name: (.+)\n((?:  +#.*\n)*)  +run: \|\n((?: {10}.*\n|\n)+)", workflow)
    return {name: textwrap.dedent(script) for name, _, script in found}


@pytest.mark.slow
def test_the_gate_of_the_docs_passes_where_nothing_changed(tmp_path):
    found = steps((ROOT / "docs/gate.yml").read_text())
    for version in ("base", "change"):
        folder = tmp_path / version / ".venv/bin"
        folder.mkdir(parents=True)
        program = folder / "lenet-bench"
        program.write_text(f'#!/bin/sh\nexec {sys.executable} -m lenet_bench "$@"\n')
        program.chmod(0o755)
    summary = tmp_path / "summary.md"
    variables = {**os.environ, "BACKENDS": "fused", "GITHUB_STEP_SUMMARY": str(summary)}
    bash = ("bash", "-e", "-o", "pipefail", "-c")
    ran(*bash, found["Measure in turns"], cwd=tmp_path, env=variables)
    for version in ("base", "change"):
        assert read_result(tmp_path / f"{version}.jsonl").rounds == 12
    (gate,) = [script for name, script in found.items() if name.startswith("Fail where")]
    ran("bash", "-e", "-c", gate.replace("5%", "90%"), cwd=tmp_path, env=variables)
    assert "| fused |" in summary.read_text()

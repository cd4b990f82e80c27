"""The published schema of result files: the shipped one is the code's, and every file keeps it."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator
from lenet_bench import CompareOptions, compare, diff, summarise
from lenet_bench.results import Batch, Gpu, ResultFile, read_result
from lenet_bench.results.schema import shipped_schema
from sample_results import rung, sample_result

ROOT = Path(__file__).parents[1]
FROZEN = Path(__file__).parent / "schema-1.json"  # as it was first written; never change it


def is_result(path):
    """Whether it is a result file, and not another program's."""
    content = json.loads(path.read_text())
    return isinstance(content, dict) and {"schema", "rungs", "turns"} <= set(content)


COMMITTED = [path for path in sorted((ROOT / "results").rglob("*.json")) if is_result(path)]


@pytest.fixture(scope="module")
def validator():
    """Of the shipped schema."""
    schema = json.loads(shipped_schema())
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def thinned(path):
    """The file's content with a few samples of each turn: `read_result` checks them all."""
    content = json.loads(path.read_text())
    for turns in content["turns"].values():
        for turn in turns:
            del turn["samples_ns"][3:]
    return content


def test_the_shipped_schema_and_its_page_are_what_the_code_gives():
    command = [sys.executable, str(ROOT / "bench" / "result_schema.py"), "--check"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_command_prints_the_shipped_schema(run):
    assert json.loads(run("schema").output) == json.loads(shipped_schema())


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_a_committed_result_keeps_the_schema(validator, path):
    validator.validate(thinned(path))
    assert read_result(path).rungs


def test_a_fresh_result_keeps_the_schema(validator, weights_file, tmp_path):
    options = CompareOptions(("fused",), rounds=1, weights=weights_file, output=tmp_path / "r.json")
    compare(options)
    validator.validate(json.loads((tmp_path / "r.json").read_text()))


def test_a_result_with_everything_that_there_is_keeps_the_schema(validator, tmp_path):
    full = replace(
        rung("first", 20),
        device="gpu",
        installed_mib=1.5,
        gpu=Gpu("some", 1.0, 2.0, 3.0, 4.0, 5.0, {"kernels": 6.0}),
        batches=(Batch(8, (1, 2), 1),),
    )
    result = summarise(replace(sample_result(), rungs=(full,)))
    ResultFile(tmp_path / "r.json").write(result)
    validator.validate(json.loads((tmp_path / "r.json").read_text()))
    assert read_result(tmp_path / "r.json") == result


def test_a_list_of_samples_is_one_line(tmp_path):
    one = replace(rung("first", 20), batches=(Batch(8, (11, 22, 33), 1),), output="[\n 1, 2\n]")
    result = replace(sample_result(), rungs=(one,))
    ResultFile(tmp_path / "r.json").write(result)
    assert '"samples_ns": [11,22,33]' in (tmp_path / "r.json").read_text()
    assert read_result(tmp_path / "r.json") == result


def test_the_first_schemas_file_stays_readable(validator):
    validator.validate(json.loads(FROZEN.read_text()))
    result = summarise(read_result(FROZEN))
    assert [rung.status for rung in result.rungs] == ["ok", "ok", "unavailable"]
    assert result.rung("fused").turns[0].samples_ns[0] > 0
    assert result.rung("numpy").batches[0].size == 1
    assert not diff(result, result).circumstances


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"status": "ok"', '"status": "fine"'),
        ('"seed": ', '"sead": '),
        ('"schema": 1', '"schema": 2'),
        ('"wall_ns": ', '"wall_ns": 0.5, "x": '),
        ('"rungs": ', '"rungs": {}, "x": '),
    ],
)
def test_what_breaks_the_schema_is_found(validator, old, new):
    text = FROZEN.read_text()
    assert old in text
    assert not validator.is_valid(json.loads(text.replace(old, new, 1)))

"""`lenet-bench doctor` and `backends`: what runs here, what does not, and what mends it."""

import json
import os
from dataclasses import replace
from pathlib import Path

import pytest
from lenet_bench.measure.environment import read_machine
from lenet_bench.questions.doctor import Examination, Finding
from lenet_bench.registry import names
from lenet_bench.registry.availability import Availability
from lenet_bench.show.terminal.doctor import backends as all_backends
from lenet_bench.show.terminal.doctor import examination
from lenet_bench.show.terminal.screen import Screen
from msgspec import to_builtins
from sample_results import sample_log, write_log

LIBRARIES = ("libcudart", "libnvrtc", "libcublas", "libcudnn")
KEYS = {"name", "device", "available", "reason"}


@pytest.fixture(scope="module")
def found(run):
    return {entry["name"]: entry for entry in json.loads(run("doctor", "--json").output)}


def test_json_has_all_backends_the_machine_the_software_the_weights_and_the_way_to_a_gpu(found):
    assert list(found)[: len(names())] == names()
    assert all(entry.keys() >= KEYS for entry in found.values())
    assert found["machine"]["details"]["processor"]["logical"] == os.cpu_count()
    assert "numpy" in found["software"]["details"]["packages"]
    assert "mnist" in found
    weights = found["weights"]["details"]  # the canonical ones, whole
    assert len(weights["sha256"]) == 64
    assert float(weights["test_accuracy"]) >= 0.995
    for name in ("driver", "module", *LIBRARIES):
        link = found[name]
        assert link["available"] == (link["reason"] is None)
        assert link["reason"] or link["details"]["found"]


def test_backends_says_why_one_cannot_run(run):
    done = run("backends", "fused", "numpy", "--json", LENET_BENCH_ISA="vax")
    entries = json.loads(done.output)
    assert [entry["name"] for entry in entries] == ["fused", "fused:int16", "numpy"]
    assert all(entry.keys() >= KEYS for entry in entries)
    assert not entries[0]["available"]
    assert "vax" in entries[0]["reason"]


def test_backends_gives_a_reason_that_variants_share_once():
    absent = "{} needs PyTorch; fix it with: pip install torch"
    names = ("torch", "torch:compile", "torch:export")
    found = [Availability(name, "", "", "cpu", False, absent.format(name)) for name in names]
    found[2] = replace(found[2], reason="torch:export crashes")
    lines = [line.strip() for line in all_backends(Screen(100, colour=False), found)]
    assert lines.count("pip install torch") == 1
    assert "torch:export crashes" in lines


def test_doctor_downloads_no_data(run, small_mnist, tmp_path):
    done = run("doctor", "reference", "--json", LENET_BENCH_MNIST=str(small_mnist))
    found = {entry["name"]: entry for entry in json.loads(done.output)}
    assert found["mnist"]["details"] == {"path": str(small_mnist), "images": 30}

    done = run("doctor", "reference", "--json", LENET_BENCH_MNIST="", XDG_CACHE_HOME=str(tmp_path))
    found = {entry["name"]: entry for entry in json.loads(done.output)}
    assert not found["mnist"]["available"]
    assert "export LENET_BENCH_MNIST=" in found["mnist"]["reason"]
    assert not (tmp_path / "lenet-bench").exists()  # what a framework caches there is its own


def examined(*, backends, weights):
    good = Finding("weights", None, weights, None if weights else "no such file")
    rows = [
        Finding(
            f"backend{n}", "cpu", runs, None if runs else "not here; fix it with: pip install it"
        )
        for n, runs in enumerate(backends)
    ]
    return Examination(tuple(rows), (good,), good, good, read_machine())


def test_one_backend_that_runs_is_enough_and_the_weights_are_needed():
    assert examined(backends=[False, True], weights=True).works
    assert not examined(backends=[False, False], weights=True).works
    assert not examined(backends=[True], weights=False).works


@pytest.mark.parametrize("columns", [72, 80, 140])
def test_the_command_that_mends_is_on_a_line_of_its_own(columns):
    screen = Screen(columns, colour=False)
    lines = examination(screen, examined(backends=[True, False], weights=True))
    assert "pip install it" in [line.strip() for line in lines]
    reason = "it is broken; if it is damaged, fix it with: pip install it"
    lines = findings_of(("backend", reason))
    assert any("it is broken" in line for line in lines)
    assert "pip install it" in lines


def findings_of(*reasons, device="cpu", no_gpu=None):
    backends = tuple(Finding(name, device, reason is None, reason) for name, reason in reasons)
    good = Finding("weights", None, True, None)
    link = Finding("module", None, False, "not built")
    found = Examination(backends, (link,), good, good, read_machine(), no_gpu)
    return [line.strip() for line in examination(Screen(100, colour=False), found)]


def test_variants_that_fail_alike_are_reported_once_and_others_each():
    absent = "{} needs PyTorch; fix it with: pip install torch"
    names = ("torch", "torch:compile", "torch:export")
    lines = findings_of(*((name, absent.format(name)) for name in names), ("keras", "it crashes"))
    assert lines.count("pip install torch") == 1
    assert "also torch:compile, torch:export" in lines
    assert any(line.startswith("✗ keras") for line in lines)
    lines = findings_of(("jax", None), ("jax:other", None), ("jax:third", "it answers wrongly"))
    assert not any(line.startswith("also") for line in lines)
    assert sum("jax" in line for line in lines) >= 3


NO_GPU = "there is none"
NEED_ONE = tuple((name, f"{NO_GPU}; fix it with: get {name}") for name in ("cuda", "cudnn"))


def test_all_that_needs_a_gpu_is_reported_once_and_what_is_asked_for_alone_keeps_its_command():
    text = " ".join(findings_of(*NEED_ONE, ("cupy", NO_GPU), device="gpu", no_gpu=NO_GPU))
    assert text.count(NO_GPU) == 1
    assert "also cudnn, cupy" in text
    assert "get cud" not in text
    lines = findings_of(
        NEED_ONE[0], ("cuda:cudagraph", NEED_ONE[0][1]), device="gpu", no_gpu=NO_GPU
    )
    assert "get cuda" in lines
    assert "also cuda:cudagraph" in lines


def test_the_way_to_a_gpu_is_shown_where_there_is_one_or_the_package_is_built_for_one():
    title = "GPU"
    assert title in findings_of(("fused", None))
    assert title not in findings_of(("fused", None), no_gpu=NO_GPU)
    built = Finding("module", None, True, None)
    found = Examination((built,), (built,), built, built, read_machine(), NO_GPU)
    assert found.concerns_gpus


def test_the_machine_is_plain_data_and_on_linux_has_its_processor_and_caches():
    machine = read_machine()
    environment = to_builtins(machine)
    assert json.loads(json.dumps(environment)).keys() == environment.keys()
    if Path("/proc/cpuinfo").exists():
        processor = machine.processor
        assert processor.model
        assert processor.allowed == len(os.sched_getaffinity(0))
        assert all(cache.level in (1, 2, 3, 4) and cache.bytes > 0 for cache in processor.caches)


@pytest.mark.parametrize("value", ["/" + "x" * 5000, "/\udcff"], ids=["too long", "not UTF-8"])
@pytest.mark.parametrize("variable", ["LENET_BENCH_MNIST", "LENET_BENCH_CUDA_LIBRARIES"])
def test_a_variable_that_names_no_folder_is_no_bug(run, variable, value):
    assert "this is a bug" not in run("doctor", "numpy", **{variable: value}).errors


@pytest.mark.parametrize("value", ["/" + "x" * 5000, "/\udcff"], ids=["too long", "not UTF-8"])
@pytest.mark.parametrize("variable", ["HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"])
def test_a_result_is_reported_whatever_a_folders_variable_says(run, variable, value, tmp_path):
    write_log(tmp_path / "result.jsonl", sample_log())
    assert run("report", tmp_path / "result.jsonl", **{variable: value}).code == 0

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

LIBRARIES = ("libcudart", "libnvrtc", "libcublas", "libcudnn")
KEYS = {"name", "device", "available", "reason"}


@pytest.fixture(scope="module")
def found(run):
    """All that doctor finds; to ask every backend takes long, so it is asked once."""
    return {entry["name"]: entry for entry in json.loads(run("doctor", "--json").output)}


def test_json_is_a_list_that_begins_with_all_backends(found):
    assert list(found)[: len(names())] == names()
    assert all(entry.keys() >= KEYS for entry in found.values())


def test_all_backends_as_json_has_the_backends_that_are_asked_for_and_their_variants(run):
    entries = json.loads(run("backends", "fused", "numpy", "--json").output)
    assert [entry["name"] for entry in entries] == ["fused", "fused:int16", "numpy"]
    assert all(entry.keys() >= KEYS for entry in entries)


def test_all_backends_has_what_each_backend_is_and_calls(run):
    done = run("backends", "fused", "openblas")
    assert done.code == 0
    assert "our own SIMD kernels" in done.output
    assert "assembly kernels" in done.output


def test_backends_gives_a_reason_that_variants_share_once():
    absent = "{} needs PyTorch; fix it with: pip install torch"
    names = ("torch", "torch:compile", "torch:export")
    found = [Availability(name, "", "", "cpu", False, absent.format(name)) for name in names]
    found[2] = replace(found[2], reason="torch:export crashes")
    lines = [line.strip() for line in all_backends(Screen(100, colour=False), found)]
    assert lines.count("pip install torch") == 1
    assert "torch:export crashes" in lines


def test_doctor_has_the_machine_the_software_the_weights_and_the_data(found):
    assert found["machine"]["details"]["processor"]["logical"] == os.cpu_count()
    assert "numpy" in found["software"]["details"]["packages"]
    assert {"weights", "mnist"} <= found.keys()


def test_doctor_has_the_weights_checksum(found):
    """The canonical weights are there, whole, and have their accuracy in them."""
    details = found["weights"]["details"]
    assert len(details["sha256"]) == 64
    assert float(details["test_accuracy"]) >= 0.995


def test_doctor_prints_its_sections(run):
    lines = run("doctor", "reference").output.splitlines()
    assert {"Machine", "Software", "Files", "Backends"} <= set(lines)


def test_doctor_has_every_link_between_a_backend_and_a_gpu(found):
    for name in ("driver", "module", *LIBRARIES):
        link = found[name]
        assert link["available"] == (link["reason"] is None)
        assert link["reason"] or link["details"]["found"]


def test_a_backend_that_cannot_run_says_why(run):
    done = run("backends", "fused", "--json", LENET_BENCH_ISA="vax")
    fused = json.loads(done.output)[0]
    assert not fused["available"]
    assert "vax" in fused["reason"]


def test_absent_data_is_found_out_and_nothing_downloaded(run, tmp_path):
    done = run("doctor", "reference", "--json", LENET_BENCH_MNIST="", XDG_CACHE_HOME=str(tmp_path))
    found = {entry["name"]: entry for entry in json.loads(done.output)}
    assert not found["mnist"]["available"]
    assert "export LENET_BENCH_MNIST=" in found["mnist"]["reason"]
    assert not (tmp_path / "lenet-bench").exists()  # what a framework caches there is its own


def test_the_data_is_found_where_the_environment_says(run, small_mnist):
    done = run("doctor", "reference", "--json", LENET_BENCH_MNIST=str(small_mnist))
    found = {entry["name"]: entry for entry in json.loads(done.output)}
    assert found["mnist"]["details"] == {"path": str(small_mnist), "images": 30}


def examined(*, backends, weights):
    good = Finding("weights", None, weights, None if weights else "no such file")
    rows = [
        Finding(
            f"backend{n}", "cpu", runs, None if runs else "not here; fix it with: pip install it"
        )
        for n, runs in enumerate(backends)
    ]
    return Examination(tuple(rows), (good,), good, good, read_machine())


def test_one_backend_that_runs_is_enough():
    assert examined(backends=[False, True], weights=True).works


def test_nothing_works_without_a_backend_or_without_weights():
    assert not examined(backends=[False, False], weights=True).works
    assert not examined(backends=[True], weights=False).works


@pytest.mark.parametrize("columns", [72, 80, 140])
def test_the_command_that_mends_is_on_a_line_of_its_own(columns):
    screen = Screen(columns, colour=False)
    lines = examination(screen, examined(backends=[True, False], weights=True))
    assert "pip install it" in [line.strip() for line in lines]


def findings_of(*reasons, device="cpu", no_gpu=None):
    """What is printed of backends with these names and reasons."""
    backends = tuple(Finding(name, device, reason is None, reason) for name, reason in reasons)
    good = Finding("weights", None, True, None)
    link = Finding("module", None, False, "not built")
    found = Examination(backends, (link,), good, good, read_machine(), no_gpu)
    return [line.strip() for line in examination(Screen(100, colour=False), found)]


def test_variants_that_fail_alike_are_reported_once():
    absent = "{} needs PyTorch; fix it with: pip install torch"
    names = ("torch", "torch:compile", "torch:export")
    lines = findings_of(*((name, absent.format(name)) for name in names), ("keras", "it crashes"))
    assert lines.count("pip install torch") == 1
    assert "also torch:compile, torch:export" in lines
    assert any(line.startswith("✗ keras") for line in lines)


def test_variants_that_run_or_fail_in_their_own_way_are_reported_each():
    lines = findings_of(("jax", None), ("jax:other", None), ("jax:third", "it answers wrongly"))
    assert not any(line.startswith("also") for line in lines)
    assert sum("jax" in line for line in lines) >= 3


NO_GPU = "there is none"
NEED_ONE = tuple((name, f"{NO_GPU}; fix it with: get {name}") for name in ("cuda", "cudnn"))


def test_all_that_needs_a_gpu_is_reported_once_where_there_is_none():
    text = " ".join(findings_of(*NEED_ONE, ("cupy", NO_GPU), device="gpu", no_gpu=NO_GPU))
    assert text.count(NO_GPU) == 1
    assert "also cudnn, cupy" in text
    assert "get cud" not in text


def test_what_needs_a_gpu_and_is_asked_for_alone_keeps_its_command():
    lines = findings_of(NEED_ONE[0], ("cuda:graph", NEED_ONE[0][1]), device="gpu", no_gpu=NO_GPU)
    assert "get cuda" in lines
    assert "also cuda:graph" in lines


def test_the_way_to_a_gpu_is_shown_where_there_is_one_or_the_package_is_built_for_one():
    title = "GPU"
    assert title in findings_of(("fused", None))
    assert title not in findings_of(("fused", None), no_gpu=NO_GPU)
    built = Finding("module", None, True, None)
    found = Examination((built,), (built,), built, built, read_machine(), NO_GPU)
    assert found.concerns_gpus


def test_a_condition_stays_before_the_command_that_mends():
    reason = "it is broken; if it is damaged, fix it with: pip install it"
    lines = findings_of(("backend", reason))
    assert any("it is broken" in line for line in lines)
    assert "pip install it" in lines


def test_the_environment_is_plain_data():
    environment = to_builtins(read_machine())
    assert json.loads(json.dumps(environment)).keys() == environment.keys()


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="only Linux tells all of this")
def test_linux_has_the_processor_and_its_caches():
    processor = read_machine().processor
    assert processor.model
    assert processor.allowed == len(os.sched_getaffinity(0))
    assert all(cache.level in (1, 2, 3, 4) and cache.bytes > 0 for cache in processor.caches)

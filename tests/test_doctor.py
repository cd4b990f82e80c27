"""`lenet-bench doctor` and `backends`: what runs here, what does not, and what mends it."""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from conftest import Run
from lenet_bench.backends import names
from lenet_bench.doctor import Examination, Finding
from lenet_bench.measure.environment import read_environment
from lenet_bench.printout.examination import examination
from lenet_bench.terminal import Screen

LIBRARIES = ("libcudart", "libnvrtc", "libcublas", "libcudnn")
KEYS = {"name", "device", "available", "reason"}

Found = dict[str, dict[str, Any]]  # by name


@pytest.fixture(scope="module")
def found(run: Run) -> Found:
    """All that doctor finds; to ask every rung takes long, so it is asked once."""
    return {entry["name"]: entry for entry in json.loads(run("doctor", "--json").output)}


def test_json_is_a_list_that_begins_with_the_ladder(found: Found) -> None:
    assert list(found)[: len(names())] == names()
    assert all(entry.keys() >= KEYS for entry in found.values())


def test_a_rung_is_available_or_has_a_reason(found: Found) -> None:
    for entry in found.values():
        assert entry["available"] == (entry["reason"] is None)


def test_the_ladder_as_json_has_the_rungs_that_are_asked_for_and_their_variants(run: Run) -> None:
    entries = json.loads(run("backends", "fused", "numpy", "--json").output)
    assert [entry["name"] for entry in entries] == ["fused", "fused:int16", "numpy"]
    assert all(entry.keys() >= KEYS for entry in entries)


def test_the_ladder_tells_what_each_rung_is_and_calls(run: Run) -> None:
    done = run("backends", "fused", "openblas")
    assert done.code == 0
    assert "our own SIMD kernels" in done.output
    assert "calls OpenBLAS's assembly kernels" in done.output


def test_doctor_tells_the_machine_the_software_the_weights_and_the_data(found: Found) -> None:
    assert found["machine"]["details"]["processor"]["logical"] == os.cpu_count()
    assert "numpy" in found["software"]["details"]["packages"]
    assert {"weights", "mnist"} <= found.keys()


def test_doctor_tells_the_weights_checksum(found: Found) -> None:
    """The canonical weights are there, whole, and have their accuracy in them."""
    details = found["weights"]["details"]
    assert len(details["sha256"]) == 64
    assert float(details["test_accuracy"]) >= 0.995


def test_doctor_prints_its_sections(run: Run) -> None:
    lines = run("doctor", "reference").output.splitlines()
    assert {"Machine", "Software", "Files", "The way to a GPU", "Rungs"} <= set(lines)


def test_doctor_tells_every_link_between_a_rung_and_a_gpu(found: Found) -> None:
    for name in ("driver", "libcuda", "device", "module", *LIBRARIES):
        link = found[name]
        assert link["available"] == (link["reason"] is None)
        assert link["reason"] or link["details"]["found"]


def test_a_rung_that_cannot_run_says_why(run: Run) -> None:
    done = run("backends", "fused", "--json", LENET_BENCH_ISA="vax")
    fused = json.loads(done.output)[0]
    assert not fused["available"]
    assert "vax" in fused["reason"]


def test_a_rung_that_crashes_costs_its_own_line_only(run: Run, tmp_path: Path) -> None:
    crash = "import os, sys\nif sys.orig_argv[-1] == 'openblas': os.abort()\n"
    (tmp_path / "sitecustomize.py").write_text(crash)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    asked = run("backends", "fused", "openblas", "--json", PYTHONPATH=path)
    fused, _, openblas = json.loads(asked.output)
    assert not openblas["available"]
    assert "SIGABRT" in openblas["reason"]
    assert fused["available"]


def test_absent_data_is_found_out_and_nothing_downloaded(run: Run, tmp_path: Path) -> None:
    done = run("doctor", "reference", "--json", LENET_BENCH_MNIST="", XDG_CACHE_HOME=str(tmp_path))
    found = {entry["name"]: entry for entry in json.loads(done.output)}
    assert not found["mnist"]["available"]
    assert "export LENET_BENCH_MNIST=" in found["mnist"]["reason"]
    assert not (tmp_path / "lenet-bench").exists()  # what a framework caches there is its own


def test_the_data_is_found_where_the_environment_says(run: Run, small_mnist: Path) -> None:
    done = run("doctor", "reference", "--json", LENET_BENCH_MNIST=str(small_mnist))
    found = {entry["name"]: entry for entry in json.loads(done.output)}
    assert found["mnist"]["details"] == {"path": str(small_mnist), "images": 30}


def examined(*, rungs: list[bool], weights: bool) -> Examination:
    good = Finding("weights", None, weights, None if weights else "no such file")
    ladder = [
        Finding(f"rung{n}", "cpu", runs, None if runs else "not here; mend it with: pip install it")
        for n, runs in enumerate(rungs)
    ]
    return Examination(tuple(ladder), (good,), good, good, read_environment())


def test_one_rung_that_runs_is_enough() -> None:
    assert examined(rungs=[False, True], weights=True).works


def test_nothing_works_without_a_rung_or_without_weights() -> None:
    assert not examined(rungs=[False, False], weights=True).works
    assert not examined(rungs=[True], weights=False).works


@pytest.mark.parametrize("columns", [72, 80, 140])
def test_the_command_that_mends_is_on_a_line_of_its_own(columns: int) -> None:
    screen = Screen(columns, colour=False, unicode=False)
    lines = examination(screen, examined(rungs=[True, False], weights=True))
    assert "pip install it" in [line.strip() for line in lines]


def told_of(*reasons: tuple[str, str | None]) -> list[str]:
    """What is printed of rungs with these names and reasons."""
    rungs = tuple(Finding(name, "cpu", reason is None, reason) for name, reason in reasons)
    good = Finding("weights", None, True, None)
    found = Examination(rungs, (good,), good, good, read_environment())
    return [line.strip() for line in examination(Screen(100, colour=False, unicode=False), found)]


def test_variants_that_fail_alike_are_told_once() -> None:
    absent = "{} needs PyTorch; mend it with: pip install torch"
    names = ("torch", "torch:compile", "torch:export")
    lines = told_of(*((name, absent.format(name)) for name in names), ("keras", "it crashes"))
    assert lines.count("pip install torch") == 1
    assert "and so torch:compile, torch:export" in lines
    assert any(line.startswith("- keras") for line in lines)


def test_variants_that_run_or_fail_in_their_own_way_are_told_each() -> None:
    lines = told_of(("jax", None), ("jax:other", None), ("jax:third", "it answers wrongly"))
    assert not any("and so" in line for line in lines)
    assert sum("jax" in line for line in lines) >= 3


def test_a_condition_stays_before_the_command_that_mends() -> None:
    reason = "it is broken; if it is damaged, mend it with: pip install it"
    rung, good = Finding("rung", "cpu", False, reason), Finding("weights", None, True, None)
    found = Examination((rung,), (good,), good, good, read_environment())
    lines = examination(Screen(100, colour=False, unicode=False), found)
    assert any(line.endswith("it is broken; if it is damaged:") for line in lines)
    assert "pip install it" in [line.strip() for line in lines]


def test_the_environment_is_plain_data() -> None:
    environment = read_environment().to_json()
    assert json.loads(json.dumps(environment)).keys() == environment.keys()


@pytest.mark.skipif(not Path("/proc/cpuinfo").exists(), reason="only Linux tells all of this")
def test_linux_tells_the_processor_and_its_caches() -> None:
    processor = read_environment().processor
    assert processor.model
    assert processor.allowed == len(os.sched_getaffinity(0))
    assert all(cache.level in (1, 2, 3, 4) and cache.bytes > 0 for cache in processor.caches)

"""`lenet-bench doctor` and `backends`: what runs here, what does not, and what mends it."""

import json
import os
import sys
from itertools import groupby
from pathlib import Path

import pytest
from conftest import environment
from lenet_bench.measure.environment import read_machine
from lenet_bench.questions.doctor import Examination, Finding
from lenet_bench.registry import BACKENDS, FAMILIES, names
from lenet_bench.show.terminal.doctor import examination
from lenet_bench.show.terminal.screen import Screen
from processes import under_way

KEYS = {"name", "device", "available", "reason"}
NO_FOLDERS = {"/" + "x" * 5000: "too long", "/\udcff": "not UTF-8"}


def asked(run, *words, **variables):
    """What `doctor --json` says, by name."""
    done = run("doctor", *words, "--json", **variables)
    return {entry["name"]: entry for entry in json.loads(done.output)}


@pytest.fixture(scope="module")
def found(run):
    return asked(run)


def test_json_has_all_that_was_examined(found):
    assert list(found)[: len(names())] == names()
    assert all(entry.keys() >= KEYS for entry in found.values())
    assert found["machine"]["details"]["processor"]["logical"] == os.cpu_count()
    assert "numpy" in found["software"]["details"]["packages"]
    assert "mnist" in found
    weights = found["weights"]["details"]  # the canonical ones, whole
    assert len(weights["sha256"]) == 64
    assert float(weights["test_accuracy"]) >= 0.995


def test_the_way_to_a_gpu_ends_at_the_first_broken_link(found):
    links = [found[name] for name in ("driver", "device", "module") if name in found]
    assert all(link["details"]["found"] for link in links[:-1])
    last = links[-1]
    assert last["available"] == (last["reason"] is None)
    assert last["name"] == "module" or last["reason"]


def test_doctor_says_why_one_cannot_run(run):
    entries = asked(run, "fused", "numpy", LENET_BENCH_ISA="vax")
    assert [*entries][:3] == ["fused", "fused:int16", "numpy"]
    assert not entries["fused"]["available"]
    assert "vax" in entries["fused"]["reason"]


def test_backends_lists_as_installed_what_runs(run, found):
    entries = json.loads(run("backends", "--json").output)
    installed = {entry["name"]: entry["installed"] for entry in entries}
    assert installed == {name: found[name]["available"] for name in installed}
    assert [*installed] == names()
    assert all(entry["installed"] == (entry["reason"] is None) for entry in entries)


def before_the_path(folder):
    return os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))


def test_backends_loads_none(run, tmp_path):
    (tmp_path / "onnxruntime.py").write_text("raise SystemExit(3)")
    done = run("backends", "onnxruntime", PYTHONPATH=before_the_path(tmp_path))
    assert "✓ onnxruntime (cpu): " in done.output
    assert "to check what runs: lenet-bench doctor" in done.output


def test_each_family_is_listed_once():
    """A row is shown when it is known, so the registry's order is the list's."""
    assert [family for family, _ in groupby(row.family for row in BACKENDS)] == [*FAMILIES]


WAITS = """
import pathlib, time
here, began = pathlib.Path(__file__).parent, time.monotonic()
while not (here / "go").exists():
    time.sleep(0.01)
    if time.monotonic() > began + 180:
        (here / "gave_up").touch()
        break
raise ImportError("it has waited")
"""


def test_a_row_is_shown_while_later_ones_are_asked(tmp_path):
    folder = tmp_path / "onnxruntime"
    folder.mkdir()
    (folder / "__init__.py").write_text(WAITS)
    words = (sys.executable, "-m", "lenet_bench", "doctor", "numpy", "onnxruntime")
    with under_way(*words, env=environment(PYTHONPATH=before_the_path(tmp_path))) as process:
        shown = next(line for line in process.stdout if "numpy" in line)
        (folder / "go").touch()
        rest = process.stdout.read()
    assert not (folder / "gave_up").exists()
    assert "onnxruntime" not in shown
    assert "onnxruntime" in rest


def test_doctor_finds_mnist(run, small_mnist):
    found = asked(run, "reference", LENET_BENCH_MNIST=str(small_mnist))
    assert found["mnist"]["details"] == {"path": str(small_mnist), "images": 30}


def test_doctor_downloads_no_data(run, tmp_path):
    found = asked(run, "reference", LENET_BENCH_MNIST="", XDG_CACHE_HOME=str(tmp_path))
    assert not found["mnist"]["available"]
    assert "export LENET_BENCH_MNIST=" in found["mnist"]["reason"]
    assert not (tmp_path / "lenet-bench").exists()  # what a framework caches there is its own


def examined(*reasons, device="cpu", weights=None, no_gpu=None):
    """Each backend with the reason why it cannot run, or None; as the weights have one or not."""
    backends = tuple(Finding(name, device, reason is None, reason) for name, reason in reasons)
    found = Finding("weights", None, weights is None, weights)
    link = Finding("module", None, False, "not built")
    return Examination(backends, (link,), found, found, read_machine(), no_gpu)


def test_one_backend_that_runs_is_enough():
    runs, fails = ("numpy", None), ("fused", "not here")
    assert examined(fails, runs).works
    assert not examined(fails).works
    assert not examined(runs, weights="no such file").works


def findings_of(*reasons, **rest):
    screen = Screen(100, colour=False)
    return [line.strip() for line in examination(screen, examined(*reasons, **rest))]


def test_variants_that_fail_alike_are_reported_once():
    absent = "{} needs PyTorch; fix it with: pip install torch"
    names = ("torch", "torch:compile", "torch:export")
    lines = findings_of(*((name, absent.format(name)) for name in names), ("keras", "it crashes"))
    assert lines.count("pip install torch") == 1
    assert any(line.startswith("✗ torch, torch:compile, torch:export: ") for line in lines)
    assert "✗ keras: it crashes" in lines


NO_GPU = "there is none"
NEED_ONE = tuple((name, f"{NO_GPU}; fix it with: get {name}") for name in ("cuda", "cudnn"))


def test_all_that_needs_a_gpu_is_reported_once():
    text = " ".join(findings_of(*NEED_ONE, ("cupy", NO_GPU), device="gpu", no_gpu=NO_GPU))
    assert text.count(NO_GPU) == 1
    assert f"✗ cuda, cudnn, cupy: {NO_GPU}" in text
    assert "get cud" not in text


def test_a_gpu_backend_asked_for_alone_keeps_its_command():
    lines = findings_of(
        NEED_ONE[0], ("cuda:cudagraph", NEED_ONE[0][1]), device="gpu", no_gpu=NO_GPU
    )
    assert "get cuda" in lines
    assert any(line.startswith("✗ cuda, cuda:cudagraph: ") for line in lines)


def test_the_way_to_a_gpu_is_shown_where_there_is_one():
    assert "✗ module: not built" in findings_of(("fused", None))
    assert "✗ module: not built" not in findings_of(("fused", None), no_gpu=NO_GPU)


def test_on_linux_the_machine_has_its_processor():
    machine = read_machine()
    if Path("/proc/cpuinfo").exists():
        processor = machine.processor
        assert processor.model
        assert processor.allowed == len(os.sched_getaffinity(0))
        assert all(cache.level in (1, 2, 3, 4) and cache.bytes > 0 for cache in processor.caches)


@pytest.mark.parametrize("value", NO_FOLDERS, ids=NO_FOLDERS.get)
def test_a_variable_that_names_no_folder_is_no_bug(run, value):
    done = run("doctor", "numpy", LENET_BENCH_MNIST=value, LENET_BENCH_CUDA_LIBRARIES=value)
    assert "this is a bug" not in done.errors


@pytest.mark.parametrize("value", NO_FOLDERS, ids=NO_FOLDERS.get)
def test_a_result_is_reported_whatever_a_folders_variable_says(run, value, saved):
    folders = dict.fromkeys(("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME"), value)
    assert run("report", saved, **folders).code == 0

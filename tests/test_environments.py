"""Isolated environments: listed, made whole or not at all, and used by their backends."""

import os
import shutil
import sys
from contextlib import nullcontext
from pathlib import Path
from queue import Queue
from threading import Thread
from types import SimpleNamespace

import pytest
from lenet_bench import CompareOptions, compare
from lenet_bench.errors import LenetBenchError
from lenet_bench.installed import fits, package_name
from lenet_bench.registry import BACKENDS, environments, find


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("LENET_BENCH_ENVIRONMENTS", str(tmp_path))
    return tmp_path


def pretend(name, home):
    (home / name / "bin").mkdir(parents=True)
    (home / name / "bin" / "python").write_text("")
    known = environments.of(name)
    assert known
    (home / name / "complete").write_text(known.pins)


def test_each_backend_names_an_environment_that_pins_every_package():
    every = environments.environments()
    assert {backend.environment for backend in BACKENDS if backend.environment} <= set(every)
    for environment in every.values():
        lines = [line for line in environment.pins.splitlines() if line[:1] != "#"]
        assert all("==" in line for line in lines)
        assert environment.pythons
        pinned = dict(line.lower().split("==") for line in lines)
        for requirement in environment.beside:  # what it pins would do beside lenet-bench too
            assert fits(pinned[package_name(requirement)], requirement)


def test_a_backend_runs_in_its_environment(home):
    assert environments.interpreter(find("caffe")[0]) == sys.executable
    pretend("caffe", home)
    assert environments.interpreter(find("caffe")[0]) == str(home / "caffe" / "bin" / "python")
    path = environments.variables(find("caffe")[0], threads=1)["PYTHONPATH"]
    assert [entry.name for entry in Path(path).iterdir()] == ["lenet_bench"], "and nothing beside"
    assert not Path(path).is_relative_to(home), "which another installation may use as well"


def test_an_environment_of_other_pins_is_none(home):
    pretend("caffe", home)
    made_from = home / "caffe" / "complete"
    made_from.write_text("# another comment\n" + made_from.read_text())
    assert environments.environments()["caffe"].created
    made_from.write_text("opencv-python==3.0")
    assert not environments.environments()["caffe"].created


def test_a_result_has_the_versions_in_an_environment(home):
    pretend(name := "onnxruntime==1.26.0", home)
    for package in ("numpy-2.2.6", "onnxruntime-1.26.0", "click-8.1", "flatbuffers-25.9"):
        folder = home / name / f"lib/python3/site-packages/{package}.dist-info"
        folder.mkdir(parents=True)
        known = package.replace("-", "\nVersion: ")
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {known}\n")
    packages = compare(CompareOptions((name,), rounds=1)).machine.software.packages
    found = {one: version for one, version in packages.items() if " of " in one}
    assert found == {f"numpy of {name}": "2.2.6", f"onnxruntime of {name}": "1.26.0"}


def test_a_folder_that_cannot_be_made_is_one_sentence(run, tmp_path):
    (tmp_path / "file").write_text("")
    done = run("env", "create", "caffe", LENET_BENCH_ENVIRONMENTS=str(tmp_path / "file" / "x"))
    assert done.code == 1
    assert f"{tmp_path / 'file'} is no folder" in done.errors
    assert "Traceback" not in done.errors


@pytest.mark.parametrize("name", ["caffe", "onnxruntime==99.0"])
def test_what_fails_to_install_leaves_nothing(run, home, tmp_path_factory, monkeypatch, name):
    """Pip is told of an index that is not there. No module of the working directory is run."""
    here = tmp_path_factory.mktemp("downloads")
    for file in ("venv.py", "pip.py"):
        (here / file).write_text("open('ran', 'w')\n")
    monkeypatch.chdir(here)
    nowhere = {
        "PIP_INDEX_URL": "http://127.0.0.1:9",
        "PIP_RETRIES": "0",
        "PIP_CONFIG_FILE": "/dev/null",
    }
    done = run("env", "create", name, **nowhere)
    assert done.code == 1
    assert f"{name}: the package index does not answer, or has no " in done.errors
    assert list(home.iterdir()) == []
    assert not (here / "ran").exists()


@pytest.fixture
def steps(monkeypatch):
    """The commands that make environments, which here only make an empty interpreter."""
    found = []

    def step(command):
        found.append(command)
        if "venv" in command:
            (Path(command[-1]) / "bin").mkdir(parents=True)
            (Path(command[-1]) / "bin/python").touch()
        return ""

    monkeypatch.setattr(environments, "_run", step)
    return found


def test_a_full_disk_is_told_before_anything_is_made(home, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=50_000_000))
    with pytest.raises(LenetBenchError, match=r"takes 0\.1 GB, and .+ has 0\.05 GB left"):
        environments.create("numpy==1.26.4")
    assert not list(home.iterdir())


def test_two_that_make_one_environment_at_once_make_it_once(home, steps):
    name, told = "onnxruntime==1.26.0", Queue[str]()
    second = Thread(target=environments.create, args=(name, told.put))

    def started(_):
        if second.ident is None:
            second.start()
            assert "waiting for another process" in told.get(timeout=60)

    environments.create(name, started)
    second.join()
    assert sum("venv" in command for command in steps) == 1
    assert (home / name / "complete").exists()


@pytest.mark.usefixtures("steps")
@pytest.mark.parametrize("fails", [True, False])
def test_what_cannot_be_made_anew_stays_as_it_was(home, monkeypatch, fails):
    environments.create(name := "onnxruntime==1.26.0")
    (old := home / name / "old").touch()

    def refuse(_):
        raise LenetBenchError("no")

    if fails:
        monkeypatch.setattr(environments, "_python_for", refuse)
    with pytest.raises(LenetBenchError) if fails else nullcontext():
        environments.create(name)
    assert old.exists() == fails
    assert (home / name / "complete").exists()
    assert list(home.iterdir()) == [home / name]
    (home / f".{name}").mkdir()  # of a process that was killed meanwhile
    assert environments.remove(name)
    assert not list(home.iterdir())


def test_list_names_backends(run, home):
    pretend("caffe", home)
    found = {entry["name"]: entry for entry in run("env", "list", "--json").answer}
    assert found["mxnet"]["backends"] == ["mxnet"]
    assert not found["mxnet"]["created"]
    assert found["caffe"]["created"]


def test_remove_says_what_it_did(run, home):
    pretend("caffe", home)
    assert "removed" in run("env", "remove", "caffe").errors
    assert "was not created" in run("env", "remove", "caffe").errors
    assert not (home / "caffe").exists()


def test_the_link_to_an_environment_is_left_to_the_user(refused, home):
    (home / "caffe").symlink_to(home)
    assert f"{home}/caffe cannot be removed" in refused("env", "remove", "caffe")
    assert home.exists()


def test_no_python_that_fits_is_one_sentence(monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr("sys.version_info", type("Version", (), {"major": 3, "minor": 99}))
    with pytest.raises(LenetBenchError, match=r"Python 3.11 or 3.10"):
        environments.create("chainer")


@pytest.mark.skipif(
    "caffe" not in os.environ.get("LENET_BENCH_TEST_ENVIRONMENTS", ""),
    reason="LENET_BENCH_TEST_ENVIRONMENTS does not name caffe, which would be installed",
)
def test_caffe_runs_in_an_environment_made_for_it(run, picture):
    assert run("env", "create", "caffe").code == 0
    done = run("infer", picture, "--json", "--backend", "caffe", "--backend", "reference")
    assert [answer["agrees"] for answer in done.answers] == [True, True]

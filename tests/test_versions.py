"""A version as a part of a backend's name: its environment, what is refused, and the verdict."""

import platform
import sys

import pytest
from lenet_bench.errors import LenetBenchError
from lenet_bench.registry import (
    canonical_name,
    environments,
    find,
    tolerance,
    why_absent,
    without_version,
)
from lenet_bench.show.comparison import render
from lenet_bench.show.figures.records import as_run
from lenet_bench.show.page import page
from lenet_bench.show.versions import passes, said, uncompared, versions
from msgspec.structs import replace
from sample_results import blocks, failed, result, timed_starts

OFFLINE = {
    "PIP_INDEX_URL": "http://127.0.0.1:9",
    "PIP_RETRIES": "0",
    "PIP_CONFIG_FILE": "/dev/null",
    "PIP_FIND_LINKS": "",
    "PIP_EXTRA_INDEX_URL": "",
}


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("LENET_BENCH_ENVIRONMENTS", str(tmp_path))
    return tmp_path


def test_a_version_is_a_part_of_the_name():
    row, variant = find("torch:compile==2.9.1")
    assert (row.name, variant, row.version) == ("torch", "compile", "2.9.1")
    assert canonical_name("keras:predict==3.8.0") == "keras==3.8.0"
    assert canonical_name("torch:compile==2.9.1 (2 threads)") == "torch:compile==2.9.1"
    assert tolerance("litert:int8==2.0.1") == tolerance("litert:int8")
    assert without_version("torch:compile==2.9.1 (2 threads)") == "torch:compile"


@pytest.mark.parametrize(
    "name",
    [*(f"onnxruntime=={one}" for one in ("", "1.2;x", "1.*", "=1", "1 --pre")), "fused==1"],
)
def test_what_is_no_version_is_refused(name):
    with pytest.raises(LenetBenchError, match=r"version"):
        find(name)


@pytest.mark.parametrize("name", ["torch>=2", "torch[x]==2", "https://x/torch.whl", "mxnet==1.9.1"])
def test_what_pip_would_take_is_refused(name):
    with pytest.raises(LenetBenchError):
        find(name)


def environment_of(name):
    found = environments.of(name)
    assert found
    return found


def test_its_environment_has_that_version_and_what_the_core_needs(home):
    environment = environment_of("onnxruntime==1.26.0")
    lines = environment.pins.splitlines()
    assert lines[0] == "onnxruntime==1.26.0"
    assert any(line.startswith("msgspec") for line in lines)
    assert not environment.created
    small = "tensorflow-cpu" if platform.machine() == "x86_64" else "tensorflow"
    assert environment_of("tensorflow==2.18.0").pins.startswith(f"{small}==2.18.0\n")
    assert environment.folder == home / "onnxruntime==1.26.0"


@pytest.mark.usefixtures("home")
def test_what_is_not_installed_is_not_measured_as_another_version(run, tmp_path):
    file = str(tmp_path / "r.jsonl")
    done = run("compare", "numpy==1.99.0", "numpy", "--rounds", "1", "-o", file, **OFFLINE)
    assert done.code == 1
    assert "the package index does not answer, or has no numpy==1.99.0" in done.errors
    said = " ".join(done.output.split())
    assert "numpy==1.99.0 is not installed; lenet-bench env create numpy==1.99.0 installs" in said
    assert "Traceback" not in done.errors


def of_versions(new_us, imports=0.2):
    old, new = blocks("onnxruntime==1.20.1", 20), blocks("onnxruntime==1.26.0", new_us)
    new = tuple(replace(one, cold_start=replace(one.cold_start, import_s=imports)) for one in new)
    return result(old, new)


@pytest.mark.parametrize(
    ("us", "imports", "sentence"),
    [
        (24, 0.2, "onnxruntime 1.26.0 takes 1.20 times (1.20 to 1.20) as long as 1.20.1."),
        (20, 0.2, "onnxruntime 1.26.0 takes as long as 1.20.1, within 2 %."),
        (20, 0.1, "within 2 %; its import takes 0.50 times as long."),
    ],
)
def test_the_verdict_in_words(us, imports, sentence):
    found = of_versions(us, imports)
    (told,) = said(versions(found), found.rules.margin)
    assert told.endswith(sentence)
    assert "Versions of an API:" in render(found)
    assert sentence.split(";")[0] in render(found, form="markdown")


def of_releases(times_us, **rest):
    """A run of these versions."""
    return result(*(blocks(f"onnxruntime=={one}", us, **rest) for one, us in times_us.items()))


def test_a_difference_within_the_floor_is_none():
    found = of_releases({"1.20.1": 20, "1.20.1 (again)": 21, "1.26.0": 21})
    floor, verdict = said(versions(found), found.rules.margin)
    assert "onnxruntime 1.20.1 in a second environment takes 1.05 times" in floor
    assert "by no more than the floor" in verdict


def test_the_floor_is_of_the_version_that_is_there_twice():
    found = of_releases({"1.20.1": 20, "1.26.0": 26, "1.26.0 (again)": 26})
    verdict, floor = said(versions(found), found.rules.margin)
    assert verdict.startswith("onnxruntime 1.26.0 takes 1.30 times")
    assert "takes 1.00 times" in floor
    assert not passes(found, 0.05)


def test_a_release_is_newer_than_what_came_before_it():
    found = of_releases({"1.27.0": 30, "1.27.0rc1": 20})
    assert [row["version"] for row in versions(found)] == ["1.27.0rc1", "1.27.0"]
    assert not passes(found, 0.05)
    assert passes(found, 0.6)


@pytest.mark.parametrize(
    ("library", "version"),
    [
        ("OpenVINO 2026.4.1-22982-e213a147257-releases/2026/4", "2026.4.1"),
        ("PyTorch 2.13.0+cpu", "2.13.0+cpu"),
        ("Chainer 7.8.1 on NumPy 1.23.5", "7.8.1"),
    ],
)
def test_a_version_is_read_of_what_ran(library, version):
    runs = {"library": library}
    found = result(blocks("openvino==0.0.1", 20), blocks("openvino", 40, runs=runs))
    assert [row["version"] for row in versions(found)] == ["0.0.1", version]
    assert not passes(found, 0.05)
    assert uncompared(found) == []


def test_a_version_that_stands_beside_no_other_does_not_pass():
    old, new = blocks("openvino==1.0", 20), blocks("openvino", 20, runs={"library": "a fork"})
    found = result(old, new, blocks("fused", 9))
    assert uncompared(found) == ["openvino==1.0", "openvino"]
    assert not passes(found, 0.05)


def test_without_an_interval_no_version_passes():
    assert not passes(of_releases({"1.20.1": 20, "1.26.0": 40}, rounds=5), 0.05)


def test_a_version_that_does_not_run_does_not_pass():
    old = [blocks(f"onnxruntime==1.{n}.1", 20) for n in (20, 21)]
    for name in ("onnxruntime==1.26.0", "onnxruntime"):
        assert not passes(result(*old, failed(name, "unsupported", "x")), 0.05)
    assert passes(result(*old), 0.05)


def test_a_noisy_floor_does_not_open_the_gate():
    times = {"1.20.1": (20,) * 12, "1.20.1 (again)": (10, 40) * 6, "1.26.0": (24,) * 12}
    found = result(*(timed_starts(f"onnxruntime=={name}", *us) for name, us in times.items()))
    assert versions(found)[2]["within"]
    assert not passes(found, 0.05)


@pytest.mark.parametrize("name", ["litert", "mnn", "numpy", "onnxruntime", "tensorflow", "torch"])
def test_each_api_that_is_measured_release_by_release_has_versions(name):
    assert environment_of(f"{name}==1.2.3").pins.partition("\n")[0].endswith("==1.2.3")


def test_packages_that_are_released_together_have_that_version(home):
    pins = environment_of("mlx==0.30.0").pins
    assert pins.startswith("mlx==0.30.0\n")
    assert "mlx-cpu==0.30.0" in pins or "mlx-cpu" not in pins
    with pytest.raises(LenetBenchError, match="has no versions"):
        environments.create("opencv==4.10.0.84")
    assert why_absent("opencv==4.5") == (
        "opencv==4.5 is not installed; opencv has no versions to choose from"
    )
    assert list(home.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "asked"),
    [("onnxruntime==1.17.3", "onnxruntime>="), ("onnxruntime==99.0", ""), ("onnxruntime", "")],
)
def test_a_version_that_is_too_old_is_known(name, asked):
    assert environments.newer_than(find(name)[0]).startswith(asked)
    assert bool(environments.newer_than(find(name)[0])) == bool(asked)


def test_versions_are_in_the_order_of_their_numbers():
    found = of_releases({"1.10.0": 20, "1.9.0": 20, "1.20.0": 20})
    assert [row["version"] for row in versions(found)] == ["1.9.0", "1.10.0", "1.20.0"]
    assert versions(of_releases({"1.9.0": 20})) == []


def test_a_version_needs_this_python():
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert environment_of("torch==2.9.1").pythons == (here,)


def test_versions_that_cannot_be_told_apart_share_a_sentence():
    steps = {"1.20.1": 1.0, "1.26.0": 1.05, "1.27.0": 1.06}
    times = {f"onnxruntime=={name}": (20 / by, 20, 20 * by) * 4 for name, by in steps.items()}
    found = result(*(timed_starts(name, *us) for name, us in times.items()))
    (told,) = said(versions(found), found.rules.margin)
    assert told == "onnxruntime 1.26.0 and 1.27.0 cannot be told apart from 1.20.1."


def test_what_its_interval_tells_apart_is_not_called_alike():
    times: dict[str, list[float]] = {
        "1.20.1": [20] * 6,
        "1.26.0": [20.3, 20.5, 20.7] * 2,
        "1.27.0": [20.2, 20.4, 20.6] * 2,
    }
    found = result(*(timed_starts(f"onnxruntime=={name}", *us) for name, us in times.items()))
    told = list(said(versions(found), found.rules.margin))
    assert [one.partition("; ")[2] for one in told] == ["whether by more than 2 % is open."] * 2


def test_a_difference_that_may_be_beyond_the_floor_is_not_within_it():
    times: dict[str, list[float]] = {
        "1.20.1": [20] * 6,
        "1.20.1 (again)": [20, 20.2] * 3,
        "1.26.0": [19, 21.4] * 3,
    }
    found = result(*(timed_starts(f"onnxruntime=={name}", *us) for name, us in times.items()))
    _, verdict = said(versions(found), found.rules.margin)
    assert "cannot be told apart from 1.20.1" in verdict


def test_versions_are_judged_by_the_intervals_of_the_run():
    times: dict[str, list[float]] = {
        "1.20.1": [20] * 6,
        "1.26.0": [20.6, 20.8, 21, 21.2, 21.4, 21.6],
    }
    rows = [timed_starts(f"onnxruntime=={name}", *us) for name, us in times.items()]
    found = result(*rows)
    strict = result(*rows, confidence=0.9999)
    lows = [versions(one)[1]["low"] for one in (strict, found)]
    assert lows[0] < 1.02 < lows[1]
    assert [passes(one, 0.02) for one in (strict, found)] == [True, False]


def test_the_page_has_the_table_of_versions_and_its_sentences():
    drawn = page([as_run("r.jsonl", of_versions(24))])
    table = drawn.partition('<table id="versions"')[2].partition("</table>")[0]
    assert "1.20 times" in drawn
    assert "onnxruntime==1.26.0" in table
    assert "the oldest" in table

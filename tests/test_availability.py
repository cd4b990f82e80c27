"""Whether a backend runs here: what is broken, absent or of another version is one sentence.

The frameworks are made up, so none has to be installed.
"""

import re
from pathlib import Path

import pytest
from lenet_bench import CompareOptions, compare, load, read_weights
from lenet_bench.errors import Unavailable
from lenet_bench.installed import extra_requirements, fits
from lenet_bench.registry import BACKENDS, find
from lenet_bench.registry.availability import ask, backends
from lenet_bench.registry.own_process import InOwnProcess

GONE = [row.name for row in BACKENDS if row.gone]

#: Enough of onnx for its backends to come as far as their own framework.
ONNX = """
class _Anything:
    def __getattr__(self, name):
        return self
    def __call__(self, *_, **__):
        return self
    SerializeToString = lambda self: b""
TensorProto = checker = helper = numpy_helper = _Anything()
"""


@pytest.fixture
def first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that Python searches first."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", GONE)
def test_what_is_gone_says_since_when_and_what_took_its_place(name: str) -> None:
    with pytest.raises(Unavailable, match=r"(?s)20\d\d.*took its place"):
        load(name)


def test_each_names_what_brings_it() -> None:
    for row in BACKENDS:
        if row.framework:
            assert row.extra or row.environment


@pytest.mark.parametrize(
    ("package", "reason"),
    [
        ("raise ImportError('libxyz.so: cannot open')", "cannot be imported .*libxyz"),
        ("raise AttributeError('no such thing')", "cannot be imported .*no such thing"),
        ("", r"cannot be (imported|built) \(AttributeError"),
        ("import os; os.abort()", "SIGABRT"),
        ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
        ("raise SystemExit('I leave')", "I leave"),
        ("print('hello from C')\nraise ImportError('half')", "half"),
    ],
    ids=["broken", "damaged", "empty", "aborts", "segfaults", "exits", "prints"],
)
def test_a_broken_framework_is_one_sentence_and_the_asker_lives(
    package: str, reason: str, first: Path
) -> None:
    onnxruntime_that(package, first)
    found = ask(find("onnxruntime")[0])
    assert not any(entry.available for entry in found)
    for entry in found:
        assert entry.reason is not None
        assert "\n" not in entry.reason
    assert re.search(reason, found[0].reason or "")


def onnxruntime_that(does: str, folder: Path, version: str | None = None) -> None:
    """A package of that name, and enough of onnx to come to it."""
    package("onnx", ONNX, folder, version and "1.17.0")
    package("onnxruntime", does, folder, version)


def package(module: str, source: str, folder: Path, version: str | None, name: str = "") -> None:
    """A module and, with a version, what pip writes beside it."""
    (folder / module).mkdir()
    (folder / module / "__init__.py").write_text(source)
    if version:
        records = folder / f"{name or module}-{version}.dist-info"
        records.mkdir()
        (records / "METADATA").write_text(f"Name: {name or module}\nVersion: {version}\n")


def test_a_framework_of_another_version_is_told_as_that(first: Path) -> None:
    onnxruntime_that("", first, version="1.3.1")
    found = ask(find("onnxruntime")[0])[0]
    assert re.search(r">=1\.20.*1\.3\.1 .*AttributeError.*\[onnxruntime\]", found.reason or "")


def test_a_framework_of_another_version_beside_its_environment_says_so(
    first: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenCV 5, for the backend `opencv`, has what `caffe` imports and reads no Caffe."""
    monkeypatch.setenv("LENET_BENCH_ENVIRONMENTS", str(first / "none"))
    opencv = "setNumThreads = print\nclass dnn: pass\n"
    package("cv2", opencv, first, "5.0.0.93", name="opencv_python_headless")
    (found,) = ask(find("caffe")[0])
    said = r"headless>=4,<5.*5\.0\.0\.93 .*readNetFromCaffe.*env create caffe"
    assert re.search(said, found.reason or "")


def test_a_crash_of_another_version_is_told_as_that_wherever_it_is_asked(first: Path) -> None:
    onnxruntime_that("import os; os.abort()", first, version="1.3.1")
    needed = r">=1\.20.*1\.3\.1"
    found = ask(find("onnxruntime")[0])[0]
    assert re.search(rf"{needed} .*SIGABRT", found.reason or "")
    (row,) = compare(CompareOptions(("onnxruntime",), rounds=1)).backends
    assert row.status == "crashed"
    assert re.search(rf"{needed} .*SIGABRT", row.reason or "")
    with pytest.raises(Unavailable, match=rf"{needed} .*SIGABRT"):
        InOwnProcess("onnxruntime", read_weights(), threads=1, quiet=True)


def test_a_damaged_framework_is_mended_by_what_pip_would_not_leave_alone(first: Path) -> None:
    onnxruntime_that("", first, version="1.20.0")
    found = ask(find("onnxruntime")[0])[0]
    anew = "pip install --force-reinstall --no-deps onnxruntime==1.20.0 onnx==1.17.0"
    assert (found.reason or "").endswith(f"; if it is damaged, fix it with: {anew}")


def test_records_that_are_damaged_are_no_version(first: Path) -> None:
    onnxruntime_that("", first, version="1.3.1")
    (first / "onnxruntime-1.3.1.dist-info" / "METADATA").unlink()
    found = ask(find("onnxruntime")[0])[0]
    assert (found.reason or "").endswith("fix it with: pip install 'lenet-bench[onnxruntime]'")


@pytest.mark.parametrize(
    ("version", "requirement", "fit"),
    [
        ("4.14.0.94", "opencv-python-headless>=4,<5", True),
        ("5.0.0.93", "opencv-python-headless>=4,<5", False),
        ("3.4", "opencv-python-headless>=4,<5", False),
        ("1.10", "numpy>=1.9", True),  # numbers, not text
        ("2023.2", "onednn-cpu-gomp==2023.2.0", True),
        ("2023.2.1", "onednn-cpu-gomp==2023.2.0", False),
        ("2.21.0rc1+cpu", "tensorflow[and-cuda]>=2.18", True),
        ("0.1", "rich", True),
    ],
)
def test_a_version_fits_or_does_not(version: str, requirement: str, fit: bool) -> None:
    assert fits(version, requirement) is fit


def test_every_bound_of_an_extra_is_understood() -> None:
    """So that no version is taken for one that fits because its bound was not read."""
    asked = {text for row in BACKENDS if row.extra for text in extra_requirements(row.extra)}
    assert len(asked) > 20
    for requirement in asked:
        day_release = ">=0.dev" in requirement  # which comes before any version
        assert not fits("0.dev1" if day_release else "0.0.1", requirement)


@pytest.mark.slow
def test_a_framework_that_hangs_when_imported_costs_its_own_time_only(first: Path) -> None:
    onnxruntime_that("import time; time.sleep(600)", first)
    found = backends(["onnxruntime", "numpy"], seconds=20)
    assert [entry.name for entry in found if entry.available] == ["numpy"]
    hung = [entry for entry in found if not entry.available]
    assert all("within 20 s" in (entry.reason or "") for entry in hung)


def test_a_variant_that_crashes_leaves_the_others_their_answer(first: Path) -> None:
    crash = (
        "import os, lenet_bench.registry.availability as b\n"
        "load = b.load\n"
        "b.load = lambda n, **k: os.abort() if n == 'fused:int16' else load(n, **k)\n"
    )
    (first / "sitecustomize.py").write_text(crash)
    plain, int16 = ask(find("fused")[0])
    assert plain.available
    assert re.fullmatch(r"fused:int16: .*SIGABRT \(Aborted\)", int16.reason or "")


def test_a_compiled_variant_without_a_compiler_says_what_brings_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    (found,) = ask(find("torch")[0], ["torch:compile"])
    assert "no-such-compiler is not installed" in (found.reason or "")


def test_a_name_asks_that_backend_only() -> None:
    assert [entry.name for entry in backends(["fused"])] == ["fused", "fused:int16"]
    assert [entry.name for entry in backends(["fused:int16"])] == ["fused:int16"]


def test_an_absent_framework_says_how_to_install_it(first: Path) -> None:
    (first / "ncnn.py").write_text("raise ModuleNotFoundError(\"No module named 'ncnn'\")\n")
    (first / "ncnn-1.dist-info").mkdir()  # hides the records of one that is installed here
    found, *_ = ask(find("ncnn")[0])
    assert not found.available
    assert "pip install 'lenet-bench[ncnn]'" in (found.reason or "")


def test_an_absent_compiler_is_named(first: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = ("tinygrad", "tinygrad/nn")
    for package in packages:
        (first / package).mkdir()
        (first / package / "__init__.py").write_text("Tensor = TinyJit = None\n")
    (first / "tinygrad" / "nn" / "state.py").write_text("load_state_dict = None\n")
    monkeypatch.setenv("PATH", str(first))
    found = ask(find("tinygrad")[0])
    assert "program clang" in (found[0].reason or "")

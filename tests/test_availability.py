"""Whether a backend runs here: what is broken, absent or of another version is one sentence.

The frameworks are made up, so none has to be installed.
"""

import re
from contextlib import suppress
from importlib.util import find_spec

import pytest
from conftest import ROOT
from lenet_bench import CompareOptions, compare, load, read_weights
from lenet_bench.errors import LenetBenchError, Unavailable
from lenet_bench.installed import extra_requirements, fits
from lenet_bench.registry import (
    BACKENDS,
    availability,
    check_needs,
    find,
    is_installed,
    why_absent,
)
from lenet_bench.registry.availability import _by_import, ask, backends, rows_of
from lenet_bench.registry.building import _imported, build
from lenet_bench.registry.own_process import InOwnProcess
from lenet_bench.registry.rows import GONE
from packaging.requirements import Requirement

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


def reasons(name, *variants):
    """Why each variant cannot run here; None where one can."""
    return [one.reason for one in ask(find(name)[0], variants)[0]]


@pytest.fixture
def first(tmp_path, monkeypatch):
    """A folder that Python searches first."""
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_each_framework_names_what_brings_it():
    for row in BACKENDS:
        if row.framework:
            assert row.extra or row.environment


@pytest.mark.parametrize("name", GONE)
def test_what_took_the_place_of_a_dead_api_is_said(name):
    with pytest.raises(LenetBenchError, match=r"(?s)20\d\d.*took its place"):
        load(name)


@pytest.mark.parametrize(
    ("package", "reason"),
    [
        ("raise ImportError('libxyz.so: cannot open')", "cannot be imported .*libxyz"),
        ("", r"cannot be (imported|built) \(AttributeError"),
        ("import os; os.abort()", "SIGABRT"),
        ("print('hello from C')\nraise ImportError('half')", "half"),
    ],
    ids=["broken", "empty", "aborts", "prints"],
)
def test_a_broken_framework_is_one_sentence(package, reason, first):
    onnxruntime_that(package, first)
    found = reasons("onnxruntime")
    assert all(found)
    assert not any("\n" in said for said in found)
    assert re.search(reason, found[0])


def onnxruntime_that(does, folder, version=None):
    """A package of that name, and enough of onnx to come to it."""
    package("onnx", ONNX, folder, version and "1.17.0")
    package("onnxruntime", does, folder, version)


def package(module, source, folder, version, name=""):
    """A module and, with a version, what pip writes beside it."""
    (folder / module).mkdir()
    (folder / module / "__init__.py").write_text(source)
    if version:
        records = folder / f"{name or module}-{version}.dist-info"
        records.mkdir()
        (records / "METADATA").write_text(f"Name: {name or module}\nVersion: {version}\n")


def test_a_framework_of_another_version_says_so(first):
    onnxruntime_that("import os; os.abort()", first, "1.3.1")
    said = r">=1\.20.*1\.3\.1 .*SIGABRT"
    assert re.search(said, reasons("onnxruntime")[0])
    (row,) = compare(CompareOptions(("onnxruntime",), rounds=1)).backends
    assert row.status == "crashed"
    assert re.search(said, row.reason or "")
    with pytest.raises(Unavailable, match=said):
        InOwnProcess("onnxruntime", read_weights(), threads=1, hide_output=True)


def test_a_damaged_framework_is_installed_anew(first):
    """Pip would leave alone what is of the right version."""
    onnxruntime_that("", first, "1.20.0")
    reason, *_ = reasons("onnxruntime")
    said = "; if it is damaged, fix it with: pip install .* onnxruntime==1.20.0 onnx=.*$"
    assert re.search(said, reason)
    assert "--force-reinstall --no-deps" in reason


def test_another_version_beside_the_environment_says_so(first, monkeypatch):
    """OpenCV 5, for the backend `opencv`, has what `caffe` imports and reads no Caffe."""
    monkeypatch.setenv("LENET_BENCH_ENVIRONMENTS", str(first / "none"))
    opencv = "setNumThreads = print\nclass dnn: pass\n"
    package("cv2", opencv, first, "5.0.0.93", name="opencv_python_headless")
    (reason,) = reasons("caffe")
    said = r"headless>=4,<5.*5\.0\.0\.93 .*readNetFromCaffe.*env create caffe"
    assert re.search(said, reason)


FITS = {
    "opencv-python-headless>=4,<5": {"4.14.0.94": True, "5.0.0.93": False, "3.4": False},
    "numpy>=1.9": {"1.10": True},  # numbers, not text
    "onednn-cpu-gomp==2023.2.0": {"2023.2": True, "2023.2.1": False},
    "tensorflow[and-cuda]>=2.18": {"2.21.0rc1+cpu": True},
    "rich": {"0.1": True},
}


def test_a_version_fits_or_does_not():
    for requirement, versions in FITS.items():
        found = {version: fits(version, requirement) for version in versions}
        assert found == versions, requirement


def test_every_bound_of_an_extra_is_understood():
    """So that no version is taken for one that fits because its bound was not read."""
    asked = {text for row in BACKENDS if row.extra for text in extra_requirements(row.extra)}
    assert len(asked) > 20
    for requirement in asked:
        day_release = ">=0.dev" in requirement  # which comes before any version
        assert not fits("0.dev1" if day_release else "0.0.1", requirement)


def test_an_engine_brings_no_framework_that_it_is_not_made_on():
    """Such as the one that converts LeNet for it: a model of the user's own takes none."""
    toml = pytest.importorskip("tomllib")
    extras = toml.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    frameworks = {"tensorflow", "tensorflow-cpu", "keras", "torch", "jax"}
    engines = [row for row in BACKENDS if row.family in ("inference engines", "compilers")]
    for row in engines:
        brought = set(packages(row.extra, extras)) if row.extra else set()
        assert brought & frameworks <= set(_imported(row.module)), row.name


def packages(extra, extras):
    """The names of what it installs."""
    for requirement in map(Requirement, extras[extra]):
        if requirement.name == "lenet-bench":
            for other in requirement.extras:
                yield from packages(other, extras)
        else:
            yield requirement.name


@pytest.mark.slow
def test_a_framework_that_hangs_when_imported_costs_its_own_time_only(first):
    onnxruntime_that("import time; time.sleep(600)", first)
    found = backends(["onnxruntime", "numpy"], seconds=60)
    assert [entry.name for entry in found if entry.available] == ["numpy"]
    hung = [entry for entry in found if not entry.available]
    assert all("within 60 s" in (entry.reason or "") for entry in hung)


CRASHES = """
import os, lenet_bench.registry.availability as b
load = b.load
b.load = lambda n, **k: os.abort() if n == {name!r} else load(n, **k)
"""


def test_a_variant_that_crashes_costs_itself(first):
    (first / "sitecustomize.py").write_text(CRASHES.format(name="fused:int16"))
    plain, int16 = reasons("fused")
    assert plain is None
    assert re.fullmatch(r"fused:int16: .*SIGABRT \(Aborted\)", int16)


def test_one_that_crashes_costs_no_other_of_its_process(first):
    (first / "sitecustomize.py").write_text(CRASHES.format(name="numpy"))
    asked = ["numpy", "reference", "fused:int16"]
    found = {one.name: one.reason for one in backends(asked)}
    assert "SIGABRT" in (found.pop("numpy") or "")
    assert found == {"reference": None, "fused:int16": None}


def test_those_that_import_the_same_share_a_process_and_the_slowest_begin_first():
    asked = [
        "numpy",
        "tvm",
        "litert",
        "keras",
        "iree",
        "tensorflow",
        "torch",
        "fused",
        "tract",
        "mlx",
    ]
    rows = rows_of(asked)
    groups = [[rows[number][0].name for number in group] for group in _by_import(rows)]
    assert [sorted(group) for group in groups] == [
        ["fused", "numpy"],
        ["torch", "tvm"],
        ["iree", "mlx"],
        ["keras", "tensorflow"],
        ["litert", "tract"],
    ]


def test_an_absent_one_is_known_without_a_process(monkeypatch):
    """In the words of one that tried to import it."""
    absent = [row for row in BACKENDS if row.framework and not row.gpu and _is_absent(row)]
    if not absent:
        pytest.skip("every framework is installed")
    monkeypatch.setattr(availability, "Child", None)
    for row in absent:
        with pytest.raises(Unavailable) as imported:
            build(row, row.default, read_weights(), 1)
        assert reasons(row.name, row.name)[0] == str(imported.value)


def _is_absent(row):
    with suppress(LenetBenchError):
        check_needs(row, row.default)
        missing = [one for one in _imported(row.module) if find_spec(one) is None]
        return bool(missing) and not is_installed(row)
    return False


def test_what_brings_an_absent_one_is_said(first):
    hide("ncnn", first)
    assert "pip install 'lenet-bench[ncnn]'" in reasons("ncnn")[0]


#: What an engine is imported from, and the package whose converter makes its file.
LITERT = ("compiled_model", "cpu_options", "interpreter", "options")
CONVERTED = {
    "litert": ([f"ai_edge_litert/{module}.py" for module in LITERT], "keras"),
    "openvino:int8": (["openvino/__init__.py"], "onnxruntime"),
}


@pytest.mark.parametrize("name", CONVERTED)
def test_what_converts_lenet_for_an_engine_is_said(name, first):
    files, converter = CONVERTED[name]
    for file in files:
        (first / file).parent.mkdir(exist_ok=True)
        (first / file).write_text("def __getattr__(name): return None")
    hide(converter, first)
    (reason,) = reasons(name.partition(":")[0], name)
    assert re.fullmatch(
        rf"{name} cannot be built \(its model file is made by [\w ]+: No module named '\w+'\); "
        rf"a model file of your own needs no {converter}; "
        rf"fix it with: pip install 'lenet-bench\[\w+,{converter}\]'",
        reason,
    )


def hide(module, folder):
    """As if it were not installed."""
    (folder / f"{module}.py").write_text(
        f"raise ModuleNotFoundError(\"No module named '{module}'\")"
    )
    (folder / f"{module}-1.dist-info").mkdir()


def test_an_engine_for_a_file_of_ones_own_needs_its_own_extra_only(first):
    (first / "ai_edge_litert-1.dist-info").mkdir()
    hide("keras", first)
    said = "litert is not installed; {}fix it with: pip install 'lenet-bench[{}]'"
    assert why_absent("litert", "own.tflite (1234)") == said.format("", "litert")
    for_lenet = said.format("a model file of your own needs no keras; ", "litert,keras")
    assert why_absent("litert") == for_lenet


def test_a_compiler_that_is_missing_is_named(monkeypatch):
    monkeypatch.setenv("CXX", "no-such-compiler")
    (reason,) = reasons("torch", "torch:compile")
    assert "no-such-compiler is not installed" in reason


def test_keras_is_asked_where_its_framework_was_imported_and_again_alone(first):
    seen = first / "seen"
    says = f"open({str(seen)!r}, 'a').write(str('tensorflow' in sys.modules) + ' ')"
    package("tensorflow", "", first, None)
    package("keras", f"import sys\n{says}\nraise ImportError('half a Keras')", first, None)
    found = {one.name: one.reason or "" for one in backends(["tensorflow", "keras"])}
    assert "AttributeError" in found["tensorflow"]
    assert "half a Keras" in found["keras"]
    together, alone = seen.read_text().split()[0], seen.read_text().split()[-1]
    assert (together, alone) == ("True", "False")


@pytest.mark.parametrize(
    ("name", "hidden"), [("keras:call", "matplotlib jax"), ("keras-jax:call", "matplotlib")]
)
def test_keras_imports_nothing_that_it_does_not_need(name, hidden, first):
    package("tensorflow", "", first, None)
    lines = ["hidden = []"]
    for module in ("matplotlib", "jax"):
        package(module, "", first, None)
        lines += ["try:", f"    import {module}", "except ImportError:"]
        lines += [f"    hidden.append({module!r})"]
    package("keras", "\n".join([*lines, "raise ImportError(' '.join(hidden))"]), first, None)
    (reason,) = (one.reason for one in backends([name]))
    assert f"cannot be imported ({hidden})" in str(reason)


def test_an_engine_that_dies_costs_no_other_light_engine(first):
    package("ncnn", "raise ImportError('half an ncnn')", first, None)
    package("tract", "import os; os.abort()", first, None)
    package("ai_edge_litert", "raise ImportError('half a LiteRT')", first, None)
    found = {one.name: one.reason or "" for one in backends(["litert", "ncnn", "tract"])}
    assert all("half a LiteRT" in why for name, why in found.items() if "litert" in name)
    assert all("half an ncnn" in why for name, why in found.items() if "ncnn" in name)
    assert "SIGABRT" in found["tract"]

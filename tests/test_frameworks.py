"""The rungs above the native ones: each framework that is here gives the reference's answers.

Each name runs in one process of its own, as it does when it is measured. What is not installed, or
in a version that it is not made for, is skipped and named; what else cannot run fails.
"""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from conftest import Run
from lenet_bench import CompareOptions, compare, load, read_weights
from lenet_bench.backends import LADDER, find, names, tolerance, usual_name
from lenet_bench.backends.apart import Apart
from lenet_bench.backends.availability import ask, backends
from lenet_bench.environments import interpreter, variables
from lenet_bench.errors import Unavailable
from lenet_bench.installed import extra_requirements, fits
from lenet_bench.mnist import find_mnist, read_mnist
from lenet_bench.weights import Weights
from numpy.typing import NDArray
from processes import alive, wait_for

Array = NDArray[np.float32]

FRAMEWORKS = [name for name in names() if find(name)[0].framework]
COMPILED = ("torch:compile", "torch:export")  # for many seconds
QUICK = [name for name in FRAMEWORKS if name not in COMPILED]
GONE = [rung.name for rung in LADDER if rung.gone]

#: What is said where a framework, or the program that it calls, is absent or of another version.
NOT_HERE = r"No module named|is not on the PATH|needs \S+ and \S+ is here"

#: Enough of onnx for its rungs to come as far as their own framework.
ONNX = """
class _Anything:
    def __getattr__(self, name):
        return self
    def __call__(self, *_, **__):
        return self
    SerializeToString = lambda self: b""
TensorProto = checker = helper = numpy_helper = _Anything()
"""


@pytest.fixture(scope="module")
def weights() -> Weights:
    """The canonical ones: parity is a matter of them."""
    return read_weights()


@pytest.fixture(scope="module")
def images() -> Array:
    """Noise, paper, ink and, where MNIST is, its first test images."""
    random = np.random.default_rng(5)
    plain = [np.zeros((1, 28, 28), np.float32), np.ones((1, 28, 28), np.float32)]
    made = np.concatenate([random.random((20, 28, 28), np.float32), *plain])
    folder = os.environ.get("LENET_BENCH_MNIST")
    if not folder:
        return made
    digits = read_mnist("test", find_mnist(Path(folder)))
    return np.concatenate([made, digits.ink(slice(0, 100))])


@pytest.fixture(scope="module")
def expected(weights: Weights, images: Array) -> Array:
    """What the reference says of them."""
    return load("reference", weights=weights).infer(images)


def opened(name: str, weights: Weights, threads: int = 1) -> Apart:
    """The rung in a process of its own; skips where its framework, or one that fits, is not."""
    try:
        return Apart(name, weights, threads=threads, quiet=True)
    except Unavailable as error:
        if re.search(NOT_HERE, str(error)):
            pytest.skip(str(error))
        raise


@pytest.fixture(scope="module", params=FRAMEWORKS)
def name(request: pytest.FixtureRequest) -> str:
    """Each rung and variant in turn."""
    chosen: str = request.param
    return chosen


@pytest.fixture(scope="module")
def rung(name: str, weights: Weights) -> Iterator[Apart]:
    """One process for all that is asked of it."""
    backend = opened(name, weights)
    yield backend
    backend.close()


def test_one_image_has_the_reference_probabilities(
    name: str, rung: Apart, images: Array, expected: Array
) -> None:
    found = np.array([rung.infer(image) for image in images[:40]])
    assert np.abs(found - expected[:40]).max() <= tolerance(name)


def test_a_batch_has_the_reference_probabilities(
    name: str, rung: Apart, images: Array, expected: Array
) -> None:
    assert np.abs(rung.infer(images) - expected).max() <= tolerance(name)


def test_an_answer_is_ten_floats(rung: Apart, images: Array) -> None:
    answer = rung.infer(images[0])
    assert (answer.shape, answer.dtype) == ((10,), np.float32)


def test_a_batch_of_one_and_a_batch_of_none_keep_their_shape(rung: Apart, images: Array) -> None:
    assert rung.infer(images[:1]).shape == (1, 10)
    assert rung.infer(images[:0]).shape == (0, 10)


@pytest.mark.parametrize("shape", [(28,), (27, 28), (1, 1, 28, 28), (0,)])
def test_a_wrong_shape_is_refused(rung: Apart, shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"expected shape \(28, 28\)"):
        rung.infer(np.zeros(shape, np.float32))


def test_a_wrong_type_is_refused(rung: Apart) -> None:
    with pytest.raises(TypeError, match="expected native float32, got float64"):
        rung.infer(np.zeros((28, 28)))


@pytest.mark.parametrize("value", [np.nan, -0.1, 255.0])
def test_a_wrong_value_is_refused(rung: Apart, value: float) -> None:
    with pytest.raises(ValueError, match="from 0"):
        rung.infer(np.full((28, 28), value, np.float32))


def test_it_says_what_library_runs(rung: Apart) -> None:
    assert rung.describe()["library"]


@pytest.mark.parametrize("name", QUICK)
def test_two_threads_give_the_same_probabilities(
    name: str, weights: Weights, images: Array, expected: Array
) -> None:
    backend = opened(name, weights, threads=2)
    found = backend.infer(images[:30])
    backend.close()
    assert np.abs(found - expected[:30]).max() <= tolerance(name)


@pytest.mark.parametrize("name", QUICK)
def test_an_answer_is_not_changed_by_the_next_call(name: str, weights: Weights) -> None:
    opened(name, weights).close()
    program = (
        "import sys, numpy, lenet_bench\n"
        "rung = lenet_bench.load(sys.argv[1])\n"
        "answer = rung.infer(numpy.zeros((28, 28), numpy.float32))\n"
        "kept = answer.copy()\n"
        "rung.infer(numpy.ones((28, 28), numpy.float32))\n"
        "assert (answer == kept).all()\n"
        "answer[:] = 0\n"
    )
    command = [interpreter(find(name)[0]), "-c", program, name]
    changes = variables(find(name)[0], threads=1)
    done = subprocess.run(command, env={**os.environ, **changes}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", [rung.name for rung in LADDER if rung.framework])
def test_nothing_but_the_answers_is_printed(
    run: Run, name: str, weights: Weights, picture: Path
) -> None:
    """Not when it is imported, nor when it first answers, nor when it is taken down."""
    opened(name, weights).close()
    variants = [variant for variant in find(name)[0].names() if variant not in COMPILED]
    chosen = [option for variant in variants for option in ("--backend", variant)]
    done = run("infer", picture, "--json", *chosen)
    assert [json.loads(line)["backend"] for line in done.output.splitlines()] == variants
    assert done.errors == ""


@pytest.mark.parametrize(
    ("name", "said"), [("tensorflow", "oneDNN"), ("litert:compiled", "Creating LiteRT environment")]
)
def test_verbose_shows_what_a_framework_says(
    run: Run, name: str, said: str, weights: Weights, picture: Path
) -> None:
    opened(name, weights).close()
    assert said in run("infer", picture, "--backend", name, "--verbose").errors


def test_a_usual_variant_is_the_rung_itself() -> None:
    assert usual_name("keras:predict") == "keras"
    assert "keras:predict" not in names()


@pytest.mark.parametrize("name", GONE)
def test_what_is_gone_says_since_when_and_what_took_its_place(name: str) -> None:
    with pytest.raises(Unavailable, match=r"(?s)20\d\d.*took its place"):
        load(name)


def test_each_rung_names_what_brings_it() -> None:
    for rung in LADDER:
        if rung.framework:
            assert rung.extra or rung.environment


@pytest.mark.parametrize(
    ("package", "reason"),
    [
        ("raise ImportError('libxyz.so: cannot open')", "cannot be imported .*libxyz"),
        ("raise AttributeError('no such thing')", "cannot be imported .*no such thing"),
        ("", "cannot be built"),
        ("import os; os.abort()", "SIGABRT"),
        ("import ctypes; ctypes.string_at(0)", "SIGSEGV"),
        ("raise SystemExit('I leave')", "I leave"),
        ("print('hello from C')\nraise ImportError('half')", "half"),
    ],
    ids=["broken", "damaged", "empty", "aborts", "segfaults", "exits", "prints"],
)
def test_a_broken_framework_is_one_sentence_and_the_asker_lives(
    package: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnxruntime_that(package, tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
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


def test_a_framework_of_another_version_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnxruntime_that("", tmp_path, version="1.3.1")
    monkeypatch.syspath_prepend(tmp_path)
    (found, _) = ask(find("onnxruntime")[0])
    assert re.fullmatch(
        r"onnxruntime needs onnxruntime>=1\.20 and 1\.3\.1 is here \(AttributeError: .*\); "
        r"mend it with: pip install 'lenet-bench\[onnxruntime\]'",
        found.reason or "",
    )


def test_a_framework_of_another_version_beside_its_rungs_environment_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenCV 5, for the rung `opencv`, has what `caffe` imports and reads no Caffe."""
    monkeypatch.setenv("LENET_BENCH_ENVIRONMENTS", str(tmp_path / "none"))
    opencv = "setNumThreads = print\nclass dnn: pass\n"
    package("cv2", opencv, tmp_path, "5.0.0.93", name="opencv_python_headless")
    monkeypatch.syspath_prepend(tmp_path)
    (found,) = ask(find("caffe")[0])
    assert re.fullmatch(
        r"caffe needs opencv-python-headless>=4,<5 and 5\.0\.0\.93 is here "
        r"\(.*readNetFromCaffe.*\); mend it with: lenet-bench env create caffe",
        found.reason or "",
    )


def test_a_crash_of_another_version_is_told_as_that(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnxruntime_that("import os; os.abort()", tmp_path, version="1.3.1")
    monkeypatch.syspath_prepend(tmp_path)
    (found, _) = ask(find("onnxruntime")[0])
    assert "needs onnxruntime>=1.20 and 1.3.1 is here (its process was" in (found.reason or "")


def test_a_crash_of_another_version_is_told_as_that_wherever_it_is_asked(
    weights: Weights, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnxruntime_that("import os; os.abort()", tmp_path, version="1.3.1")
    monkeypatch.syspath_prepend(tmp_path)
    needed = r"onnxruntime needs onnxruntime>=1\.20 and 1\.3\.1 is here"
    (row,) = compare(CompareOptions(("onnxruntime",), rounds=1)).rungs
    assert row.status == "crashed"
    assert re.match(rf"{needed} \(while starting: killed by SIGABRT", row.reason or "")
    with pytest.raises(Unavailable, match=rf"{needed} \(its process ended with status"):
        Apart("onnxruntime", weights, threads=1, quiet=True)


def test_a_damaged_framework_is_mended_by_what_pip_would_not_leave_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnxruntime_that("", tmp_path, version="1.20.0")
    monkeypatch.syspath_prepend(tmp_path)
    (found, _) = ask(find("onnxruntime")[0])
    anew = "pip install --force-reinstall --no-deps onnxruntime==1.20.0 onnx==1.17.0"
    assert (found.reason or "").endswith(f"; if it is damaged, mend it with: {anew}")


def test_records_that_are_damaged_are_no_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnxruntime_that("", tmp_path, version="1.3.1")
    (tmp_path / "onnxruntime-1.3.1.dist-info" / "METADATA").unlink()
    monkeypatch.syspath_prepend(tmp_path)
    (found, _) = ask(find("onnxruntime")[0])
    assert (found.reason or "").endswith("mend it with: pip install 'lenet-bench[onnxruntime]'")


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
    asked = {text for rung in LADDER if rung.extra for text in extra_requirements(rung.extra)}
    assert len(asked) > 20
    for requirement in asked:
        assert not fits("0.0.1", requirement)


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked for in /proc")
@pytest.mark.parametrize(
    "asking",
    [
        "from lenet_bench.backends.availability import backends\nbackends(['onnxruntime'])",
        "from lenet_bench import read_weights\nfrom lenet_bench.backends.apart import Apart\n"
        "Apart('onnxruntime', read_weights(), threads=1, quiet=True)",
    ],
    ids=["availability", "apart"],
)
def test_kill_9_of_who_asks_leaves_no_framework_and_nothing_that_it_started(
    asking: str, tmp_path: Path
) -> None:
    begun = tmp_path / "begun"
    onnxruntime_that(
        "import os, subprocess, time, pathlib\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"begun = pathlib.Path({str(begun)!r})\n"
        "begun.with_suffix('.part').write_text(f'{os.getpid()} {child.pid}')\n"
        "begun.with_suffix('.part').rename(begun)\n"
        "time.sleep(600)\n",
        tmp_path,
    )
    path = os.pathsep.join([str(tmp_path), *filter(None, sys.path)])
    with subprocess.Popen(
        [sys.executable, "-c", asking], env={**os.environ, "PYTHONPATH": path}
    ) as asker:
        wait_for(begun.exists)
        pids = list(map(int, begun.read_text().split()))
        assert all(map(alive, pids))
        asker.kill()
    wait_for(lambda: not any(map(alive, pids)))


def test_a_framework_that_hangs_when_imported_costs_its_own_time_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    onnxruntime_that("import time; time.sleep(600)", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    found = backends(["onnxruntime", "numpy"], seconds=20)
    assert [entry.name for entry in found if entry.available] == ["numpy"]
    hung = [entry for entry in found if not entry.available]
    assert {entry.reason for entry in hung} == {
        f"{entry.name}: did not answer within 20 seconds" for entry in hung
    }


def test_what_a_hung_framework_started_is_ended_with_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = tmp_path / "started"
    onnxruntime_that(
        "import subprocess, time, pathlib\n"
        "child = subprocess.Popen(['sleep', '600'])\n"
        f"pathlib.Path({str(started)!r}).write_text(str(child.pid))\n"
        "time.sleep(600)\n",
        tmp_path,
    )
    monkeypatch.syspath_prepend(tmp_path)
    ask(find("onnxruntime")[0], seconds=10)
    assert not alive(int(started.read_text()))


def test_a_variant_that_crashes_leaves_the_others_their_answer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    crash = (
        "import os, lenet_bench.backends as b\n"
        "load = b.load\n"
        "b.load = lambda n, **k: os.abort() if n == 'fused:int16' else load(n, **k)\n"
    )
    (tmp_path / "sitecustomize.py").write_text(crash)
    monkeypatch.syspath_prepend(tmp_path)
    plain, int16 = ask(find("fused")[0])
    assert plain.available
    assert int16.reason == "fused:int16: its process was ended by SIGABRT"


def test_a_compiled_variant_without_a_compiler_says_what_brings_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")
    (found,) = ask(find("torch")[0], ["torch:compile"])
    assert "compiles C++, and there is no no-such-compiler; mend it" in (found.reason or "")


@pytest.mark.parametrize("name", ["torch", "torch:torchscript"])
def test_who_compiles_nothing_imports_no_compiler(name: str, weights: Weights) -> None:
    opened(name, weights).close()
    code = f"import lenet_bench, sys; lenet_bench.load({name!r}); print(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "torch._inductor" not in run.stdout.split()


def test_a_name_asks_that_rung_only() -> None:
    assert [entry.name for entry in backends(["fused"])] == ["fused", "fused:int16"]
    assert [entry.name for entry in backends(["fused:int16"])] == ["fused:int16"]


def test_what_prints_while_it_answers_is_understood_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sitecustomize.py").write_text("print('noise before')\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert ask(find("numpy")[0])[0].available


def test_an_absent_framework_says_how_to_install_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ncnn.py").write_text("raise ModuleNotFoundError(\"No module named 'ncnn'\")\n")
    (tmp_path / "ncnn-1.dist-info").mkdir()  # hides the records of one that is installed here
    monkeypatch.syspath_prepend(tmp_path)
    (found,) = ask(find("ncnn")[0])
    assert not found.available
    assert "pip install 'lenet-bench[ncnn]'" in (found.reason or "")


def test_an_absent_compiler_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = ("tinygrad", "tinygrad/nn")
    for package in packages:
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text("Tensor = TinyJit = None\n")
    (tmp_path / "tinygrad" / "nn" / "state.py").write_text("load_state_dict = None\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = ask(find("tinygrad")[0])
    assert "calls the program clang, which is not on the PATH" in (found[0].reason or "")


def test_a_rung_that_another_set_up_differently_gets_its_own_process(weights: Weights) -> None:
    """Keras holds one framework a process."""
    opened("keras-openvino", weights).close()
    opened("keras-jax", weights).close()
    both = "import sys, numpy, lenet_bench\nfor name in ('keras-openvino', 'keras-jax'):\n"
    both += "    print(lenet_bench.load(name).describe().get('process', 'here'))\n"
    done = subprocess.run([sys.executable, "-c", both], capture_output=True, text=True)
    assert done.stdout.split("\n")[:2] == ["here", "of its own"], done.stderr

"""The wheel, as a user gets it: built in isolation, installed into an empty environment."""

import json
import os
import shlex
import shutil
import sys
import venv
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
from conftest import ROOT
from processes import ran
from sample_results import sample_log, write_log

pytestmark = pytest.mark.slow


def run(*command, cwd):
    """Run a command that must succeed, away from the source tree; give its standard output."""
    path = f"{scripts()}{os.pathsep}{os.environ['PATH']}"
    return ran(*command, cwd=cwd, env={**os.environ, "PATH": path}).stdout


def settings():
    """The tools' settings in pyproject.toml."""
    tools: dict[str, Any] = pytest.importorskip("tomllib").loads(
        (ROOT / "pyproject.toml").read_text()
    )["tool"]
    return tools


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """`make`'s, else built here; and on Linux made fit for others as cibuildwheel is told to."""
    folder = tmp_path_factory.mktemp("wheel")
    if given := os.environ.get("LENET_BENCH_WHEEL"):
        built = Path(given)
    else:
        run(sys.executable, "-m", "pip", "wheel", "--no-deps", "-w", folder, ROOT, cwd=folder)
        (built,) = folder.glob("*.whl")
    if sys.platform != "linux" or shutil.which("auditwheel", path=scripts()) is None:
        return built
    command = settings()["cibuildwheel"]["repair-wheel-command"]
    run(*shlex.split(command.format(dest_dir=folder / "repaired", wheel=built)), cwd=folder)
    (repaired,) = (folder / "repaired").glob("*.whl")
    return repaired


def scripts():
    """Where this environment's programs lie."""
    return str(Path(sys.executable).parent)


@pytest.fixture(scope="module")
def empty_environment(wheel):
    """A new environment holding the wheel and its core dependencies, nothing else."""
    folder = wheel.parent
    venv.create(folder / "env", with_pip=True)
    run(folder / "env/bin/python", "-m", "pip", "install", "-q", wheel, cwd=folder)
    return folder / "env"


def test_the_wheel_classifies_and_compares(empty_environment, tmp_path):
    """Weights, native module and command are all in it; the backends need no extra."""
    shutil.copy(ROOT / "images/digit-7.png", tmp_path)
    command = empty_environment / "bin/lenet-bench"
    answer = json.loads(run(command, "infer", "digit-7.png", "--json", cwd=tmp_path))
    assert answer["digit"] == 7
    assert answer["backend"] == "fused"
    run(command, "compare", "fused", "numpy", "--quick", "-o", "result.jsonl", cwd=tmp_path)
    table = json.loads(run(command, "report", "result.jsonl", "--json", cwd=tmp_path))
    measured = [row["name"] for row in table["backends"] if row["status"] == "ok"]
    assert {"fused", "numpy"} <= set(measured)
    rows = json.loads(run(command, "doctor", "--json", cwd=tmp_path))
    (onednn,) = [row for row in rows if row["name"] == "onednn"]
    assert not onednn["available"]
    assert "pip install 'lenet-bench[onednn]'" in onednn["reason"]


def test_the_wheel_fits_other_linuxes(wheel, empty_environment):
    """`py.typed` and stubs are in it, and no second oneDNN, OpenBLAS or libgomp."""
    (package,) = empty_environment.glob("lib/python*/site-packages/lenet_bench")
    assert (package / "py.typed").exists()
    stubs = {stub.stem for stub in package.glob("_*.pyi")}
    assert stubs >= {"_boundary", "_fused", "_images", "_onednn", "_openblas"}
    if "linux_" in wheel.name and "manylinux" not in wheel.name:
        pytest.skip("no auditwheel, or not Linux")
    assert not [name for name in ZipFile(wheel).namelist() if ".libs/" in name]


def test_the_wheel_names_every_licence(wheel):
    """MNIST's images are in it, and the licence of what its pages hold."""
    with ZipFile(wheel) as files:
        inside = {name.partition(".dist-info/")[2]: name for name in files.namelist()}
        told = files.read(inside["METADATA"]).decode()
    assert "\nLicense-Expression: MIT AND CC-BY-SA-3.0\n" in told
    named = ("LICENSE", "NOTICE", "python/lenet_bench/show/page/vega-licence.txt")
    assert {f"licenses/{name}" for name in named} <= set(inside)


def test_what_draws_pages_is_an_extra(wheel, empty_environment, tmp_path):
    """Without it each command names it; with it each draws its page."""
    write_log(tmp_path / "run.jsonl", sample_log())
    command = empty_environment / "bin/lenet-bench"
    pages = (("report", "run.jsonl", "-o", "report.html"), ("classroom",))
    for words in pages:
        done = ran(command, *words, code=1, cwd=tmp_path)
        assert done.stderr.rstrip().endswith("pip install 'lenet-bench[report]'")
    run(empty_environment / "bin/pip", "install", "-q", f"{wheel}[report]", cwd=tmp_path)
    for words in pages:
        run(command, *words, cwd=tmp_path)


def test_the_source_distribution_leaves_out_no_file_of_the_package():
    """A pattern without a leading slash would leave out `lenet_bench/results` with `results`."""
    pathspec = pytest.importorskip("pathspec")
    left_out = pathspec.GitIgnoreSpec.from_lines(settings()["scikit-build"]["sdist"]["exclude"])
    files = (path.relative_to(ROOT).as_posix() for path in (ROOT / "python").rglob("*"))
    assert not list(left_out.match_files(files))
    assert left_out.match_file("tests/conftest.py")  # they read docs and results, which are large


@pytest.mark.skipif(
    shutil.which("qemu-x86_64") is None, reason="no qemu-x86_64 (Debian: qemu-user)"
)
@pytest.mark.parametrize(("processor", "isa"), [("Nehalem", "sse2"), ("Haswell", "avx2")])
def test_one_binary_serves_older_processors(processor, isa):
    """The installed module on a processor that lacks AVX-512, or AVX altogether."""
    code = (
        "import numpy, lenet_bench as l; net = l.load('fused'); x = numpy.eye(28, dtype='f4');"
        "assert abs(net.infer(x) - l.load('reference').infer(x)).max() < 1e-5;"
        "print(net.describe()['isa'])"
    )
    emulated = ["qemu-x86_64", "-cpu", processor, sys.executable, "-c", code]
    assert run(*emulated, cwd=ROOT).strip() == isa

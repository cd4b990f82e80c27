"""Environments of versions, made by pip without a network: wheels of what is installed here."""

import re
import sys
from importlib.metadata import distribution, requires, version
from pathlib import Path
from shlex import quote
from zipfile import ZipFile

import pytest
from conftest import ROOT, environment
from packaging.requirements import Requirement
from processes import ran

pytest.importorskip("ensurepip", reason="this Python makes no environments")

HERE, OLDER, NEWER = version("numpy"), "0.9.0", "99.0.0"
DOCS = (ROOT / "docs/releases.md").read_text()
#: At the end of NumPy's first file: each maximum takes so much longer.
PLANTED = """
def _slow(function, seconds=0.0005):
    from time import perf_counter
    def call(*arguments, **options):
        until = perf_counter() + seconds
        while perf_counter() < until:
            pass
        return function(*arguments, **options)
    return call
maximum = _slow(maximum)
"""


def write_wheel(folder: Path, name: str, slow_as: str | None = None) -> None:
    """What is installed of a package, as a wheel; or NumPy made slow, as another version."""
    found = distribution(name)
    if not found.files:
        pytest.skip(f"{name} was installed without a list of its files")
    stem = f"{name.replace('-', '_')}-{slow_as or found.version}"
    with ZipFile(folder / f"{stem}-py3-none-any.whl", "w") as wheel:
        for file in found.files or []:
            if ".." in file.parts or file.suffix == ".pyc":
                continue
            path, content = str(file), Path(str(file.locate())).read_bytes()
            if file.name == "RECORD":
                rows = content.splitlines()
                content = b"\n".join(r for r in rows if r[:2] != b".." and b".pyc" not in r)
            if slow_as:
                path = path.replace(f"{name}-{found.version}.dist-info", f"{stem}.dist-info")
                if file.name in ("METADATA", "RECORD", "version.py"):
                    content = content.replace(found.version.encode(), slow_as.encode())
                if path == f"{name}/__init__.py":
                    content += PLANTED.encode()
            wheel.writestr(path, content)


@pytest.fixture(scope="module")
def offline(tmp_path_factory):
    """The variables with which pip has these wheels and nothing else."""
    wheels, home = tmp_path_factory.mktemp("wheels"), tmp_path_factory.mktemp("environments")
    asked = [Requirement(one) for one in requires("lenet-bench") or []]
    for one in asked:
        if one.marker is None:
            write_wheel(wheels, one.name)
    write_wheel(wheels, "numpy", OLDER)
    write_wheel(wheels, "numpy", NEWER)
    return environment(
        PIP_NO_INDEX="1",
        PIP_CONFIG_FILE="/dev/null",
        PIP_FIND_LINKS=str(wheels),
        LENET_BENCH_ENVIRONMENTS=str(home),
    )


@pytest.fixture(scope="module")
def gate(offline, tmp_path_factory):
    """The command of docs/releases.md as a shell script, of these two versions of NumPy."""
    (block,) = re.findall(r"- run: >\n +(lenet-bench compare .*?)```", DOCS, re.DOTALL)
    words = " ".join(block.split())
    for old, new in (
        ("onnxruntime==1.24.1", "$1"),
        ("onnxruntime==1.26.0", "$2"),
        (" --model model.onnx", ""),
        ("--rounds 12", "--rounds 6"),
        ("lenet-bench", f"{quote(sys.executable)} -m lenet_bench"),
    ):
        assert old in words
        words = words.replace(old, new)
    folder = tmp_path_factory.mktemp("gate")
    (folder / "gate.sh").write_text(f"set -eu\n{words}\n")
    summary = folder / "summary.md"

    def run(*versions):
        summary.unlink(missing_ok=True)
        own = offline | {"GITHUB_STEP_SUMMARY": str(summary)}
        done = ran("sh", "gate.sh", *versions, code=None, cwd=folder, env=own)
        return done.returncode, summary.read_text(), done.stderr

    return run


def test_a_slower_version_does_not_pass(gate):
    code, summary, errors = gate(f"numpy=={HERE}", f"numpy=={NEWER}")
    assert code == 1, errors
    assert f"| numpy=={NEWER} |" in summary
    assert re.search(rf"numpy {NEWER} takes \d+\.\d+ times .* as long as {HERE}", summary)


def test_a_faster_version_passes(gate):
    code, summary, errors = gate(f"numpy=={OLDER}", f"numpy=={HERE}")
    assert code == 0, errors
    assert re.search(rf"numpy {HERE} takes 0\.\d+ times .* as long as {OLDER}", summary)


def test_what_there_is_not_does_not_pass(gate):
    code, summary, errors = gate(f"numpy=={HERE}", "numpy==98.0")
    assert code == 1
    assert "no wheel of numpy==98.0" in errors
    assert f"| numpy=={HERE} |" in summary

"""What make does where an environment or the Python is not as it should be."""

import os
import shutil

import pytest
from conftest import ROOT
from processes import ran

#: Makes environments of itself, and installs nothing into them.
PYTHON = """#!/bin/sh
if [ "$1 $2" = "-m venv" ]; then
  mkdir -p "$3/bin" && cp "$0" "$3/bin/python" && cp "$0" "$3/bin/pip"
fi
"""
TOO_OLD = "#!/bin/sh\nexit 1\n"


def program(path, text=PYTHON):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)
    return path


@pytest.fixture
def make(tmp_path):
    """An environment in a checkout, as far as make looks into it; what it says."""
    for name in ("Makefile", "pyproject.toml", "constraints.txt"):
        shutil.copy(ROOT / name, tmp_path)

    def said(python=None, code=0):
        python = python or program(tmp_path / "python3")
        done = ran("make", ".venv-lint/installed", f"PYTHON={python}", cwd=tmp_path, code=code)
        return done.stdout + done.stderr

    return said


def test_an_environment_that_ctrl_c_left_without_pip_is_completed(make, tmp_path):
    program(tmp_path / ".venv-lint/bin/python")
    make()
    assert (tmp_path / ".venv-lint/installed").exists()


def test_an_environment_of_an_older_python_is_refused(make, tmp_path):
    for name in ("python", "pip"):
        program(tmp_path / ".venv-lint/bin" / name, TOO_OLD)
    said = "3.10 or later, and that of .venv-lint is none: remove that folder\n"
    assert said in make(code=2)


@pytest.mark.parametrize("python", ["./mine", "nosuch"])
def test_a_python_that_is_too_old_or_does_not_run_is_named(make, tmp_path, python):
    program(tmp_path / "mine", TOO_OLD)
    assert f"3.10 or later, and {python} is none (set PYTHON=...)\n" in make(python, code=2)
    assert not (tmp_path / ".venv-lint").exists()


def test_a_path_with_a_space_is_refused_before_anything_is_made(make, tmp_path):
    spaced = shutil.copytree(tmp_path, tmp_path / "my checkout")
    done = ran("make", ".venv-lint/installed", "PYTHON=nosuch", cwd=spaced, code=2)
    assert f"in a path without spaces only, and this is {spaced}." in done.stderr
    assert not (spaced / ".venv-lint").exists()


def test_what_lost_a_file_is_built_again(make, tmp_path):
    code = program(tmp_path / "csrc/kernels/added.cpp")
    program(tmp_path / "csrc/__pycache__/cached.pyc")
    built = program(tmp_path / ".venv-test/built")
    (tmp_path / "CMakeLists.txt").touch()
    sources = (path for path in tmp_path.rglob("*") if "__pycache__" not in path.parts)
    for path in sources:
        os.utime(path, (1, 1))
    os.utime(built, (2, 2))
    ran("make", "-q", ".venv-test/built", cwd=tmp_path)
    code.unlink()
    ran("make", "-q", ".venv-test/built", cwd=tmp_path, code=1)

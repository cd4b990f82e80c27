"""What make does where an environment, the Python or the folder is not as it should be."""

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
def checkout(tmp_path):
    """As far as make looks into it."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    for name in ("Makefile", "pyproject.toml", "constraints.txt", "CMakeLists.txt"):
        shutil.copy(ROOT / name, folder)
    program(folder / "new")
    return folder


def make(folder, python="./new", code=0):
    """What it says where it makes an environment."""
    done = ran("make", ".venv-lint/installed", f"PYTHON={python}", cwd=folder, code=code)
    return done.stdout + done.stderr


def test_an_environment_that_ctrl_c_left_without_pip_is_completed(checkout):
    program(checkout / ".venv-lint/bin/python")
    make(checkout)
    assert (checkout / ".venv-lint/installed").exists()


def test_an_environment_of_an_older_python_is_refused(checkout):
    for name in ("python", "pip"):
        program(checkout / ".venv-lint/bin" / name, TOO_OLD)
    said = "3.10 or later, and that of .venv-lint is none: remove that folder\n"
    assert said in make(checkout, code=2)


@pytest.mark.parametrize("python", ["./old", "nosuch"])
def test_a_python_that_is_too_old_or_does_not_run_is_named(checkout, python):
    program(checkout / "old", TOO_OLD)
    assert f"3.10 or later, and {python} is none (set PYTHON=...)\n" in make(checkout, python, 2)
    assert not (checkout / ".venv-lint").exists()


def test_a_path_with_a_space_is_refused_before_anything_is_made(checkout):
    spaced = checkout.rename(checkout.with_name("my checkout"))
    assert f"in a path without spaces only, and this is {spaced}." in make(spaced, code=2)
    assert not (spaced / ".venv-lint").exists()


def test_what_lost_a_file_is_built_again(checkout):
    code = program(checkout / "csrc/kernels/added.cpp")
    program(checkout / "csrc/__pycache__/cached.pyc")
    built = program(checkout / ".venv-test/built")
    for path in checkout.rglob("*"):
        if "__pycache__" not in path.parts:
            os.utime(path, (1, 1))
    os.utime(built, (2, 2))
    ran("make", "-q", ".venv-test/built", cwd=checkout)
    code.unlink()
    ran("make", "-q", ".venv-test/built", cwd=checkout, code=1)

"""Which of NVIDIA's files are loaded where there are several: proven with NVIDIA's own wheels, of
other versions than this environment's, and without a GPU.

cuDNN plans for a GPU that it is only told of (test_cuda_plans.py), which takes all its parts, and
NVRTC compiles our kernels, which takes its builtins.
"""

import json
import os
from pathlib import Path

import pytest
from cuda_children import OTHERS, PLAN, fetched, needs_cuda
from cuda_setting import built_major, wheel_folders
from processes import python
from test_cuda_plans import described

MAJOR = built_major() or 13

pytestmark = needs_cuda

DISPATCHER = "libcudnn.so.9"

#: Bring in our module as a backend does, use it, and say which files of NVIDIA's that took.
USE = """
import ctypes, json, sys
from lenet_bench.registry.cuda import native
module = native()
{use}
maps = {{line.split(maxsplit=5)[-1].strip() for line in open("/proc/self/maps")}}
print(json.dumps(sorted(file for file in maps if "{library}" in file)))
"""


@pytest.fixture(scope="module")
def others():
    """A folder with another cuDNN 9 and another NVRTC."""
    return fetched(f"cuda{MAJOR}-others", *OTHERS[MAJOR])


@pytest.fixture(scope="module")
def other_cudnn(others):
    return others / "nvidia/cudnn/lib"


@pytest.fixture(scope="module")
def cudnn():
    """The folder of this environment's own."""
    return next(path for path in wheel_folders("lib", MAJOR) if (path / DISPATCHER).exists())


def used(code, *arguments, packages="", **variables):
    """The files that a process of its own says; these packages go before ours."""
    paths = filter(None, (str(packages), os.environ.get("PYTHONPATH")))
    own = {**os.environ, "PYTHONPATH": os.pathsep.join(paths), **variables}
    done = python(code, *arguments, env=own, timeout=600)
    return json.loads(done.stdout.splitlines()[-1])


def test_tinygrad_finds_the_driver_where_it_is(ask, double):
    """It searches LD_LIBRARY_PATH and the system's folders only."""
    searched = ask(
        """
from lenet_bench.registry.cuda import load_for_tinygrad
load_for_tinygrad()
answer(os.environ["LD_LIBRARY_PATH"].split(":"))
""",
        LD_LIBRARY_PATH="/elsewhere",
    )
    assert searched == [str(double), "/elsewhere"]


def plan(planner, *searched, packages="", loaded=None):
    """The folders that cuDNN's files come from, with these in LD_LIBRARY_PATH, and one loaded."""
    before = f"import ctypes\nctypes.CDLL({str(loaded)!r})" if loaded else ""
    files = used(
        before + USE.format(use=PLAN, library="libcudnn"),
        planner,
        described("H200"),
        packages=packages,
        LD_LIBRARY_PATH=os.pathsep.join(map(str, (planner.parent, *searched))),
    )
    assert len(files) > 6
    return {str(Path(file).parent) for file in files}


@pytest.mark.parametrize("shadow", ["*", "libcudnn_heuristic.so.9", DISPATCHER])
def test_another_cudnn_in_the_library_path_is_not_mixed_in(
    planner, cudnn, other_cudnn, tmp_path, shadow
):
    for file in other_cudnn.glob(shadow):
        (tmp_path / file.name).symlink_to(file)
    assert plan(planner, tmp_path) == {str(cudnn)}


def test_a_cudnn_that_another_package_pins_is_used_as_a_whole(planner, others, other_cudnn, cudnn):
    whole = {str(other_cudnn)}
    assert plan(planner, packages=others) == whole
    assert plan(planner, cudnn, packages=others) == whole  # a newer one has more parts


def test_a_cudnn_that_was_loaded_before_is_used_as_a_whole(planner, other_cudnn):
    found = plan(planner, loaded=other_cudnn / DISPATCHER)
    assert found == {str(other_cudnn)}


def test_an_nvrtc_that_another_package_pins_compiles_our_kernels(others):
    compile_ours = "assert len(module.compile_kernels(90)) > 10_000"
    use = USE.format(use=compile_ours, library="libnvrtc")
    nvrtc, builtins = (Path(file) for file in used(use, packages=others)[::-1])
    assert nvrtc.parent == builtins.parent
    assert others in nvrtc.parents

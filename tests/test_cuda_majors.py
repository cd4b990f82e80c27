"""Which CUDA a package that was built for several is used with, and where CMake finds each: proven
with libraries that only say which they are. It takes no GPU and none of NVIDIA's packages.
"""

import os
import re
import sys
from importlib.util import find_spec
from shutil import which

import pytest
from cuda_setting import TESTS, compiler
from processes import python, ran

LIBRARIES = {
    12: ("libcudart.so.12", "libnvrtc.so.12", "libcublas.so.12"),
    13: ("libcudart.so.13", "libnvrtc.so.13", "libcublas.so.13"),
}
EVERY = (*LIBRARIES[12], *LIBRARIES[13], "libcudnn.so.9")

HEADERS = (
    *("cuda_runtime.h", "crt/host_defines.h", "cccl/nv/target"),
    *("cublas_v2.h", "nvrtc.h", "cudnn.h"),
)


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A library that can be loaded, and a driver that says what CUDA it supports."""
    folder = tmp_path_factory.mktemp("library")
    source = folder / "library.c"
    source.write_text(
        "#include <stdlib.h>\n"
        'int cuDriverGetVersion(int* v) { *v = atoi(getenv("DRIVER")); return 0; }'
    )
    ran(compiler(), "-xc", "-shared", "-fPIC", source, "-o", folder / "library.so")
    return folder / "library.so"


#: The package with both modules; no other CUDA is looked for than that of this test.
CHOOSE = """
import sys
import lenet_bench
from lenet_bench.errors import Unavailable
from lenet_bench.registry import cuda as _cuda
lenet_bench.__path__.insert(0, sys.argv[1])
_cuda.wheels = list
_cuda.Path.is_file = lambda path: path.exists() and "/usr/local/" not in str(path)
try:
    print(_cuda.native().__name__)
except Unavailable as error:
    print(error)
"""


def choose(folder, library, driver, installed):
    """The module that is brought in, or the sentence that says why none is."""
    for name in (*installed, "libcuda.so.1"):
        (folder / name).symlink_to(library)
    for major in LIBRARIES:
        (folder / f"_cuda{major}.py").write_text("def keep_kernels_in(folder): pass\n")
    own = {**os.environ, "LENET_BENCH_CUDA_LIBRARIES": str(folder), "DRIVER": str(driver)}
    return python(CHOOSE, folder, env=own).stdout.strip()


@pytest.mark.parametrize(
    ("driver", "installed", "words"),
    [
        (13000, EVERY, "lenet_bench._cuda13"),
        (12080, EVERY, "lenet_bench._cuda12"),  # the newest that the driver supports
        (13000, (*LIBRARIES[12], "libcudnn.so.9"), "lenet_bench._cuda12"),  # the one installed
        (12080, (*LIBRARIES[13], "libcudnn.so.9"), "libcudart.so.12 .*lenet-bench.cuda12"),
        (11040, EVERY, "CUDA 11.4.*nvidia-driver$"),  # older than both
    ],
)
def test_of_two_modules_the_one_is_chosen_that_can_run(tmp_path, library, driver, installed, words):
    assert re.search(words, choose(tmp_path, library, driver, installed))


needs_cmake = pytest.mark.skipif(
    which("cmake") is None or find_spec("pybind11") is None, reason="it takes CMake and pybind11"
)


def make_toolkit(folder, library):
    """What a system's CUDA with cuDNN has, as far as CMake looks at it."""
    for header in HEADERS:
        (folder / "include" / header).parent.mkdir(parents=True, exist_ok=True)
        (folder / "include" / header).write_text("")
    (folder / "lib64").mkdir()
    for name in EVERY:
        (folder / "lib64" / name).symlink_to(library)
    return folder


def configure(folder, toolkit, majors, code=0):
    import pybind11

    return ran(
        *("cmake", "-S", TESTS.parent, "-B", folder),
        *(f"-DLENET_CUDA={majors}", f"-DLENET_CUDA_ROOT={toolkit}"),
        f"-DPython_EXECUTABLE={sys.executable}",
        f"-Dpybind11_DIR={pybind11.get_cmake_dir()}",
        code=code,
        env={k: v for k, v in os.environ.items() if k != "VERBOSE"},
    )


def cache(build, major):
    lines = (build / "CMakeCache.txt").read_text().splitlines()
    entries = [line.split("=", 1) for line in lines if line.startswith(f"LENET_CUDA{major}_")]
    return {name.partition(":")[0]: place for name, place in entries}


@needs_cmake
def test_each_major_of_a_system_toolkit_makes_a_module(tmp_path, library):
    toolkit = make_toolkit(tmp_path / "toolkit", library)
    configure(tmp_path / "build", toolkit, "12,13")
    for major in LIBRARIES:
        places = cache(tmp_path / "build", major)
        assert len(places) == len(HEADERS) + 4
        assert places[f"LENET_CUDA{major}_nv_target"] == str(toolkit / "include" / "cccl")
        for name in ("cublas", "cudart"):
            place = places[f"LENET_CUDA{major}_lib{name}_so_{major}"]
            assert place == str(toolkit / "lib64" / f"lib{name}.so.{major}")
    targets = ran("cmake", "--build", tmp_path / "build", "--target", "help").stdout.split()
    assert {target.rstrip(":") for target in targets} >= {f"_cuda{major}" for major in LIBRARIES}


@needs_cmake
@pytest.mark.skipif(find_spec("nvidia") is not None, reason="NVIDIA's wheels have what it lacks")
def test_what_a_toolkit_lacks_is_named_with_what_brings_it(tmp_path, library):
    toolkit = make_toolkit(tmp_path / "toolkit", library)
    (toolkit / "lib64" / "libcublas.so.13").unlink()
    done = configure(tmp_path / "build", toolkit, "13", code=1)
    assert "no libcublas.so.13" in done.stdout
    assert "pip install . -C lenet.cuda=13" in " ".join(done.stderr.split())

"""The same C++ on another oneDNN."""

import importlib.util
import re
import shutil
import subprocess
import sys
from pathlib import Path

from lenet_bench.backends import Infer
from lenet_bench.cache import cache_folder
from lenet_bench.registry.environments import environments
from lenet_bench.weights import Weights

from . import native

_CSRC = Path(__file__).parents[2] / "csrc"
_LIBRARIES = "lib/python*/site-packages/paddle/libs"
_HEADERS = "include/external/onednn/include"


def of_paddle(weights: Weights, threads: int) -> Infer:
    """OneDNN 3.6, the library of the environment `paddle`; needs TensorFlow for its headers."""
    (libraries,) = environments()["paddle"].folder.glob(_LIBRARIES)
    module = _compiled(libraries, cache_folder("settings"))
    name = "lenet_bench._onednn"
    spec = importlib.util.spec_from_file_location(name, module)
    assert spec
    assert spec.loader
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return native("onednn", weights, threads)


def _compiled(libraries: Path, folder: Path) -> Path:
    """Our module, once compiled for these libraries and kept."""
    import pybind11

    module, headers = folder / "_onednn.so", folder / "onednn"
    if module.exists():
        return module
    folder.mkdir(parents=True, exist_ok=True)
    tensorflow = importlib.util.find_spec("tensorflow")
    assert tensorflow
    assert tensorflow.origin
    shutil.copytree(Path(tensorflow.origin).parent / _HEADERS, headers, dirs_exist_ok=True)
    config = headers / "oneapi/dnnl/dnnl_config.h"  # Paddle's is built without sparse memory
    config.write_text(re.sub(r"#define (DNNL_EXPERIMENTAL_SPARSE)\n", r"", config.read_text()))
    flags = ["-O3", "-DNDEBUG", "-std=c++17", "-fPIC", "-fvisibility=hidden", "-shared", "-fopenmp"]
    places = [f"-I{_CSRC}", f"-I{pybind11.get_include()}", f"-I{_python_headers()}", f"-I{headers}"]
    sources = [_CSRC / "bindings/onednn.cpp", _CSRC / "cpu/onednn.cpp"]
    linked = [f"-L{libraries}", "-l:libdnnl.so.3", f"-Wl,-rpath,{libraries}"]
    command = ["g++", *flags, *places, *sources, *linked, "-o", module]
    subprocess.run(command, check=True)
    return module


def _python_headers() -> str:
    import sysconfig

    return sysconfig.get_paths()["include"]

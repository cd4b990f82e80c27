"""Where CUDA's headers and libraries lie for the tests, and the double of a GPU built from them.

python tests/cuda_setting.py DRIVER MAJOR builds the GPU rungs without Python, for NVIDIA's own.
"""

import ctypes
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "csrc"

#: What our kernels include, by the names that they include it by.
KERNEL_HEADERS = ("shapes.hpp", "cuda/fused_geometry.hpp", "cuda/mailbox.hpp")


def built_major() -> int | None:
    """The newest major of CUDA that lenet_bench was built for and that is installed here."""
    for major in (13, 12):
        installed = any(
            (folder / f"libcudart.so.{major}").exists() for folder in wheel_folders("lib", major)
        )
        if installed and find_spec(f"lenet_bench._cuda{major}"):
            return major
    return None


def wheel_folders(kind: str, major: int) -> list[Path]:
    """The folders `include` or `lib` of NVIDIA's wheels for this major, then a toolkit's."""
    spec = find_spec("nvidia")
    roots = [Path(root) for root in (spec and spec.submodule_search_locations) or ()]
    others = {f"cu{other}" for other in (12, 13) if other != major}
    folders = [
        folder for root in roots for folder in sorted(root.iterdir()) if folder.name not in others
    ]
    toolkits = (Path(f"/usr/local/cuda-{major}"), Path("/usr/local/cuda"))
    folders += [toolkit for toolkit in toolkits if toolkit.is_dir()][:1]
    found = [folder / kind for folder in folders if (folder / kind).is_dir()]
    if kind == "include":
        found += [path for folder in folders if (path := folder / "include" / "cccl").is_dir()]
    return found


def build_double(
    output: Path, major: int, sources: Path = SOURCES, earlier: Path | None = None
) -> Path:
    """The folder with the double's libcudart, libcublas and libcudnn, and our kernels in it.

    All but our kernels is taken from the folder `earlier`, where it was built before.
    """
    includes = wheel_folders("include", major)
    script = TESTS / "cuda_double" / "build.sh"
    settings = [f"SOURCES={sources}", f"EARLIER={earlier or ''}"]
    run(["env", *settings, str(script), str(output), str(major), *map(str, includes)])
    return output


def compile_to_ptx(kernels: str, capability: int, major: int) -> str:
    """What NVRTC makes of fused.cu or persistent.cu, as text."""
    nvrtc = ctypes.CDLL(str(find_nvrtc(major)))
    headers = {name: (SOURCES / name).read_bytes() for name in KERNEL_HEADERS}
    texts = (ctypes.c_char_p * len(headers))(*headers.values())
    names = (ctypes.c_char_p * len(headers))(*(name.encode() for name in headers))
    source, program = (SOURCES / "cuda" / kernels).read_bytes(), ctypes.c_void_p()
    options = (b"--std=c++17", f"--gpu-architecture=compute_{capability}".encode())
    given = (ctypes.c_char_p * len(options))(*options)
    size = ctypes.c_size_t()
    name, count = kernels.encode(), len(headers)
    made = nvrtc.nvrtcCreateProgram(ctypes.byref(program), source, name, count, texts, names)
    assert made == 0
    assert nvrtc.nvrtcCompileProgram(program, len(options), given) == 0
    assert nvrtc.nvrtcGetPTXSize(program, ctypes.byref(size)) == 0
    text = ctypes.create_string_buffer(size.value)
    assert nvrtc.nvrtcGetPTX(program, text) == 0
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return text.value.decode()


def write_kernel_source(output: Path) -> Path:
    """What CMake makes of kernel_source.cpp.in: our kernels' text as a C++ source."""
    text = (SOURCES / "cuda" / "kernel_source.cpp.in").read_text()
    for part in ("cuda/fused.cu", "cuda/persistent.cu", *KERNEL_HEADERS):
        text = text.replace(f"@{Path(part).name}@", (SOURCES / part).read_text())
    output.write_text(text)
    return output


def compile_options(major: int, sources: Path = SOURCES) -> list[str]:
    """What g++ needs to compile our CUDA host code from this copy of the sources."""
    return [
        *("-std=c++17", "-O0", "-w", f"-I{sources}"),
        *(f"-isystem{folder}" for folder in wheel_folders("include", major)),
    ]


def link_options(major: int, double: Path) -> list[str]:
    """What g++ needs to link it with the double, and with NVIDIA's own NVRTC."""
    names = [f"libcudart.so.{major}", f"libcublas.so.{major}", "libcudnn.so.9"]
    nvrtc = find_nvrtc(major)
    return [
        *(str(double / name) for name in names),
        str(nvrtc),
        f"-Wl,-rpath,{double}:{nvrtc.parent}",
        "-pthread",
    ]


def find_nvrtc(major: int) -> Path:
    """NVIDIA's library that compiles our kernels."""
    folders = wheel_folders("lib", major)
    return next(path for folder in folders if (path := folder / f"libnvrtc.so.{major}").exists())


def link_with_nvidia(major: int) -> list[str]:
    """What g++ needs to link it with NVIDIA's libraries, for a machine with a GPU."""
    folders = wheel_folders("lib", major)
    names = [
        *(f"libcudart.so.{major}", f"libcublas.so.{major}", f"libnvrtc.so.{major}"),
        "libcudnn.so.9",
    ]
    return [
        *(f"-L{folder}" for folder in folders),
        *(f"-l:{name}" for name in names),
        f"-Wl,-rpath,{':'.join(map(str, folders))},--allow-shlib-undefined",
        "-pthread",
    ]


def build_driver(output: Path, major: int) -> None:
    """cuda_double/driver.cpp with the GPU rungs, for a machine with a GPU."""
    output.parent.mkdir(parents=True, exist_ok=True)
    kernels = write_kernel_source(output.with_suffix(".kernels.cpp"))
    sources = [TESTS / "cuda_double" / "driver.cpp", kernels, *(SOURCES / "cuda").glob("*.cpp")]
    objects = [output.with_suffix(f".{source.stem}.o") for source in sources]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        commands = (
            [compiler(), *compile_options(major), "-c", str(source), "-o", str(made)]
            for source, made in zip(sources, objects, strict=True)
        )
        list(pool.map(run, commands))
    run([compiler(), *map(str, objects), "-o", str(output), *link_with_nvidia(major)])


def run(command: list[str]) -> None:
    """Run a compiler; its complaint is the failure."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]


def compiler() -> str:
    """The C++ compiler."""
    return os.environ.get("CXX", "c++")


if __name__ == "__main__":
    build_driver(Path(sys.argv[1]).absolute(), int(sys.argv[2]))

"""Where CUDA's headers and libraries lie for the tests, and the double of a GPU built from them."""

import os
import re
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

TESTS = Path(__file__).parent
SOURCES = TESTS.parent / "csrc"

#: What our kernels include, by the names that they include it by.
KERNEL_HEADERS = (
    "shapes.hpp",
    "cuda/fused_geometry.hpp",
    "cuda/mailbox.hpp",
    "cuda/layers.cuh",
    "cuda/signals.cuh",
)


class Fault(NamedTuple):
    """One that is planted, and the backend that shows it."""

    backend: str
    file: str
    what: str
    there: str
    planted: str

    def __str__(self) -> str:
        return f"{self.backend} {self.file}: {self.what}"


def read_faults() -> list[Fault]:
    """All of cuda_faults.txt, which says how it is written."""
    found: list[Fault] = []
    place: list[str] = []
    text = (TESTS / "cuda_faults.txt").read_text()
    for line in re.sub(r"\n +\|", " |", text).splitlines():
        if line.startswith("["):
            place = line.strip("[]").split()
        elif line and not line.startswith("#"):
            fields = (field.strip().replace("\\n", "\n") for field in line.split("|"))
            found.append(Fault(*place, *fields))
    return found


FAULTS = read_faults()


def in_a_kernel(file: str) -> bool:
    """Whether NVRTC compiles it, and not the C++ compiler."""
    return file.endswith((".cu", ".cuh"))


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


def build_double(output: Path, major: int) -> None:
    folders = wheel_folders("lib", major)
    nvrtc = next(path for one in folders if (path := one / f"libnvrtc.so.{major}").exists())
    includes = wheel_folders("include", major)
    script = TESTS / "cuda_double" / "build.sh"
    run([str(script), str(output), str(major), str(nvrtc), *map(str, includes)])


def build_libcuda(folder: Path, major: int) -> None:
    """The double's driver alone, which NVIDIA's cuDNN has to find one of before it plans."""
    source, made = TESTS / "cuda_double" / "cuda.cpp", folder / "libcuda.so.1"
    run([compiler(), *compile_options(major), "-shared", "-fPIC", str(source), "-o", str(made)])


def write_kernel_source(output: Path) -> Path:
    """What CMake makes of kernel_source.cpp.in: our kernels' text as a C++ source."""
    text = (SOURCES / "cuda" / "kernel_source.cpp.in").read_text()
    for part in ("cuda/fused.cu", "cuda/cluster.cu", *KERNEL_HEADERS):
        text = text.replace(f"@{Path(part).name}@", (SOURCES / part).read_text())
    output.write_text(text)
    return output


def compile_options(major: int, sources: Path = SOURCES) -> list[str]:
    """What g++ needs to compile our CUDA host code from this copy of the sources."""
    return [
        *("-std=c++17", "-O0", "-w", f"-I{sources}"),
        *(f"-isystem{folder}" for folder in wheel_folders("include", major)),
    ]


def library_names(major: int) -> list[str]:
    """What the GPU backends are linked with."""
    names = [f"lib{name}.so.{major}" for name in ("cudart", "cublas", "nvrtc")]
    return [*names, "libcudnn.so.9"]


def link_options(major: int, double: Path) -> list[str]:
    libraries = [str(double / name) for name in library_names(major)]
    return [*libraries, f"-Wl,-rpath,{double}", "-pthread"]


def link_with_nvidia(major: int) -> list[str]:
    """What g++ needs to link it with NVIDIA's libraries, for a machine with a GPU."""
    folders = wheel_folders("lib", major)
    return [
        *(f"-L{folder}" for folder in folders),
        *(f"-l:{name}" for name in library_names(major)),
        f"-Wl,-rpath,{':'.join(map(str, folders))},--allow-shlib-undefined",
        "-pthread",
    ]


def host_sources(sources: Path) -> list[Path]:
    """The C++ of the GPU backends, without their Python face."""
    bindings = (sources / "bindings" / f"{name}.cpp" for name in ("gpu_floors", "on_gpu"))
    return [*sorted((sources / "cuda").glob("*.cpp")), *bindings]


def driver_sources(folder: Path) -> list[Path]:
    """cuda_double/driver.cpp and the GPU backends; our kernels' text is written to the folder."""
    kernels = write_kernel_source(folder / "kernel_source.cpp")
    return [TESTS / "cuda_double" / "driver.cpp", kernels, *host_sources(SOURCES)]


def objects_of(files: list[Path], folder: Path) -> dict[str, Path]:
    return {file.name: folder / f"{file.stem}.o" for file in files}


def compile_all(files: list[Path], sources: Path, folder: Path, major: int) -> dict[str, Path]:
    made = objects_of(files, folder)
    options = compile_options(major, sources)
    commands = (
        [compiler(), *options, "-MMD", "-c", str(f), "-o", str(made[f.name])] for f in files
    )
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(run, commands))
    return made


def build_driver(output: Path, major: int) -> None:
    """cuda_double/driver.cpp with the GPU backends, for a machine with a GPU."""
    output.parent.mkdir(parents=True, exist_ok=True)
    objects = compile_all(driver_sources(output.parent), SOURCES, output.parent, major)
    parts = map(str, objects.values())
    run([compiler(), *parts, "-o", str(output), *link_with_nvidia(major)])


class Driver:
    """cuda_double/driver.cpp with the GPU backends, on the double."""

    def __init__(self, double: Path, folder: Path) -> None:
        major = built_major()
        assert major is not None
        self.major = major
        self.double = double
        self.folder = folder
        files = driver_sources(folder)
        self.objects = objects_of(files, folder)
        self.program = folder / "driver"
        if not self.program.exists():
            self._link(compile_all(files, SOURCES, folder, major), folder)

    def run(
        self, backend: str, folder: Path, fault: "Fault | None" = None
    ) -> "subprocess.CompletedProcess[str]":
        """What it says of a backend, as it is or with a fault."""
        program, cache = self.program, self.folder  # with our kernels, compiled once
        if fault:
            text = (SOURCES / fault.file).read_text()
            assert fault.there in text, f"{fault.file} has changed: plant this fault anew"
            text = text.replace(fault.there, fault.planted, 1)
            if in_a_kernel(fault.file):  # NVRTC's double takes it from here
                (folder / Path(fault.file).name).write_text(text)
                cache = folder
            else:
                program = self._plant(folder, fault.file, text)
        places = {"XDG_CACHE_HOME": str(cache), "CUDA_DOUBLE_KERNELS": str(folder)}
        return subprocess.run(
            [str(program), backend],
            capture_output=True,
            text=True,
            timeout=300,
            env={**os.environ, **places},
        )

    def catches(self, fault: Fault, folder: Path) -> bool:
        """Whether it sees the fault. A busy machine may hide one of time: then once more."""
        for attempt in ("first", "second", "third"):
            (folder / attempt).mkdir()
            done = self.run(fault.backend, folder / attempt, fault)
            print(done.stderr)
            assert not in_a_kernel(fault.file) or "nvrtcCompileProgram" not in done.stderr
            if done.returncode != 0:
                return True
        return False

    def _plant(self, folder: Path, file: str, text: str) -> Path:
        sources = folder / "csrc"
        shutil.copytree(SOURCES, sources)
        (sources / file).write_text(text)
        again = [
            source
            for source in host_sources(sources)
            if f"/{file}" in (self.folder / f"{source.stem}.d").read_text()
        ]
        assert again, f"nothing includes {file}"
        anew = compile_all(again, sources, folder, self.major)
        return self._link({**self.objects, **anew}, folder)

    def _link(self, objects: dict[str, Path], folder: Path) -> Path:
        parts = [str(path) for path in objects.values()]
        program = folder / "driver"
        run([compiler(), *parts, "-o", str(program), *link_options(self.major, self.double)])
        return program


def run(command: list[str]) -> None:
    """Run a compiler; its complaint is the failure."""
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-4000:]


def compiler() -> str:
    return os.environ.get("CXX", "c++")

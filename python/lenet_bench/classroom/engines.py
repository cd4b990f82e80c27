"""Engines that run in the browser: their files, downloaded by npm and kept in the user's cache.

Only the files that a page loads are kept, and none of them is run here.
"""

import shutil
import subprocess
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from .. import export
from ..cache import cache_folder, find, keep
from ..errors import LenetBenchError, Unavailable
from ..weights import read_weights

ORT, TFJS = "onnxruntime-web", "tfjs"
_MEGABYTES = 43, 16  # downloaded by npm; kept in the cache
_SECONDS = 600
_KIND = "browser-engines"

#: Each package and version, and the files that a page loads of it.
_PACKAGES = {
    "onnxruntime-web@1.30.0": ("ort.wasm.bundle.min.mjs", "ort-wasm-simd-threaded.wasm"),
    "@tensorflow/tfjs-core@4.22.0": ("tf-core.min.js",),
    "@tensorflow/tfjs-backend-wasm@4.22.0": (
        "tf-backend-wasm.min.js",
        "tfjs-backend-wasm-simd.wasm",
    ),
}


@dataclass(frozen=True)
class Engines:
    """The engines available for the browser."""

    names: Sequence[str] = ()
    files: Mapping[str, bytes] = field(default_factory=dict)


def install(say: Callable[[str], None]) -> None:
    """Bring what is not in the cache; Unavailable without npm."""
    missing = [package for package in _PACKAGES if None in _found(package).values()]
    if not missing:
        return
    npm = shutil.which("npm")
    if npm is None:
        raise Unavailable(
            "npm is not installed, and the engines for the browser need it; install Node.js (on "
            "Debian: apt install npm), or leave out --browser-engines"
        )
    loads, keeps = _MEGABYTES
    place = cache_folder(_KIND)
    say(f"npm downloads {ORT} and {TFJS}, {loads} MB; {keeps} MB of them stay in {place}")
    with TemporaryDirectory() as folder:
        _run([npm, "pack", "--silent", "--ignore-scripts", *missing], folder)
        for package in missing:
            name, _, version = package.removeprefix("@").replace("/", "-").rpartition("@")
            _keep(package, Path(folder) / f"{name}-{version}.tgz")


def installed(say: Callable[[str], None]) -> Engines:
    """The engines whose files are in the cache; `say` is called for one that lacks its model."""
    names, files = list[str](), dict[str, bytes]()
    for name, packages in ((ORT, [*_PACKAGES][:1]), (TFJS, [*_PACKAGES][1:])):
        found = {file: path for package in packages for file, path in _found(package).items()}
        paths = {file: path for file, path in found.items() if path}
        if paths != found:
            continue
        try:
            if name == ORT:
                files["lenet.onnx"] = export.model("onnx_model", read_weights())
        except ImportError as error:
            say(
                f"{name} is left out: its model cannot be written ({error}); fix it with: "
                "pip install 'lenet-bench[onnx]'"
            )
            continue
        files |= {file: path.read_bytes() for file, path in paths.items()}
        names.append(name)
    return Engines(names, files)


def _found(package: str) -> dict[str, Path | None]:
    """Each of its files, and where it is kept."""
    return {file: find(_KIND, _name(package, file)) for file in _PACKAGES[package]}


def _name(package: str, file: str) -> str:
    return f"{package.replace('/', '-')}-{file}"


def _keep(package: str, archive: Path) -> None:
    try:
        with tarfile.open(archive) as content:
            for file in _PACKAGES[package]:
                member = content.extractfile(f"package/dist/{file}")
                assert member is not None
                keep(_KIND, _name(package, file), member.read())
    except (OSError, tarfile.TarError, KeyError) as error:
        raise LenetBenchError(
            f"{package}: npm's package does not have the expected files: {error}"
        ) from None


def _run(command: Sequence[str], folder: str) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, capture_output=True, text=True, errors="replace", timeout=_SECONDS
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise LenetBenchError(f"npm failed: {error}") from None
    if done.returncode:
        lines = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise LenetBenchError(f"npm failed: {(lines or ['it printed no message'])[0]}")

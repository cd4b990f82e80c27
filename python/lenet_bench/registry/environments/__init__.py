"""Isolated environments: an interpreter and pinned packages for frameworks that need their own.

Each is a pip requirements file beside this one, whose first comments say what it is for and which
Python it needs, and a folder that `create` makes from it. All other backends run in the current
interpreter.
"""

import os
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...cache import base_folder, home
from ...errors import LenetBenchError

if TYPE_CHECKING:
    from ..backend import Backend

_PINS = Path(__file__).parent
_PACKAGE = "package"  # the folder in an environment through which it finds lenet_bench
_COMPLETE = "complete"  # the file that the last step of making one writes


@dataclass(frozen=True)
class Environment:
    """One of the files beside this one, and the folder of its environment."""

    name: str
    summary: str
    pythons: tuple[str, ...]  # versions that its packages run on, the best first
    options: tuple[str, ...]  # pip's, which a requirements file cannot hold
    first: tuple[str, ...]  # installed before the rest, which needs it to be built
    gigabytes: float  # that it takes on the disk
    gpu: bool  # whether it needs an NVIDIA GPU
    beside: tuple[str, ...]  # versions that also work beside lenet-bench
    pins: Path

    @property
    def folder(self) -> Path:
        return _home() / self.name

    @property
    def interpreter(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def created(self) -> bool:
        """Whether it was completely created from the current pins."""
        try:
            made_from = (self.folder / _COMPLETE).read_text()
        except OSError:
            return False
        return _pinned(made_from) == _pinned(self.pins.read_text()) and self.interpreter.exists()


def environments() -> dict[str, Environment]:
    return {path.stem: _read(path) for path in sorted(_PINS.glob("*.txt"))}


def interpreter(row: "Backend") -> str:
    """The Python of this backend: that of its environment if created, else the current one."""
    environment = environments().get(row.environment or "")
    return str(environment.interpreter) if environment and environment.created else sys.executable


def is_here(name: str) -> bool:
    return Path(sys.prefix) == environments()[name].folder


def variables(row: "Backend", threads: int, *, quiet: bool = True) -> dict[str, str]:
    """The environment variables for the process that imports this backend."""
    own = {**row.variables_for(threads), **(row.silencing_variables if quiet else {})}
    environment = environments().get(row.environment or "")
    if environment and environment.created:
        return {**own, "PYTHONPATH": str(_package_alone(environment)), "PYTHONHOME": ""}
    from ...process import same_modules  # only what starts a process needs it

    return {**own, **same_modules()}


def create(name: str, progress: Callable[[str], None] = lambda _: None) -> Environment:
    """Create an environment, replacing an old one; a failure leaves nothing behind.

    `progress` is called with each step. Raises LenetBenchError with the last line of pip's output.
    """
    environment = _find(name)
    remove(name)
    _check_room(environment)
    progress(f"{name}: {environment.summary} ({environment.gigabytes:g} GB)")
    try:
        pip = _make_empty(environment)
        if environment.first:
            progress(f"{name}: first {', '.join(environment.first)}")
            _run([*pip, *environment.first])
        _run([*pip, *environment.options, "-r", str(environment.pins)])
        (environment.folder / _COMPLETE).write_text(environment.pins.read_text())
    except BaseException:
        shutil.rmtree(environment.folder, ignore_errors=True)
        raise
    return environment


def remove(name: str) -> bool:
    """Remove an environment; returns whether there was one."""
    folder = _find(name).folder
    if folder.is_symlink():
        raise LenetBenchError(
            f"{folder} is a link, and what it leads to is not removed; remove the link with: "
            f"rm {shlex.quote(str(folder))}"
        )
    try:
        shutil.rmtree(folder)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise LenetBenchError(f"{folder} cannot be removed: {error.strerror}") from None
    return True


def _find(name: str) -> Environment:
    known = environments()
    if name not in known:
        raise LenetBenchError(f"no environment is called {name!r}; there are {', '.join(known)}")
    return known[name]


def _pinned(requirements: str) -> list[str]:
    """All but the comments."""
    return [line for line in requirements.splitlines() if line[:1] != "#"]


def _home() -> Path:
    if chosen := os.environ.get("LENET_BENCH_ENVIRONMENTS"):
        return Path(chosen).absolute()
    return base_folder("XDG_DATA_HOME", ".local/share", nowhere="/") / "environments"


def _read(pins: Path) -> Environment:
    """The comments on top: a summary, then `python: ...`, `gigabytes: ...` and the rest."""
    comments = [line[1:].strip() for line in pins.read_text().splitlines() if line[:1] == "#"]
    facts = dict(line.split(": ", 1) for line in comments[1:] if ": " in line)
    return Environment(
        name=pins.stem,
        summary=comments[0],
        pythons=tuple(facts["python"].split()),
        options=tuple(facts.get("options", "").split()),
        first=tuple(facts.get("first", "").split()),
        gigabytes=float(facts["gigabytes"]),
        gpu="gpu" in facts,
        beside=tuple(facts.get("beside", "").split()),
        pins=pins,
    )


def _check_room(environment: Environment) -> None:
    home, elsewhere = environment.folder.parent, "export LENET_BENCH_ENVIRONMENTS=DIR"
    try:
        home.mkdir(parents=True, exist_ok=True)
        free = shutil.disk_usage(home).free / 1e9
    except OSError as error:
        raise LenetBenchError(
            f"{home} cannot be created: {error.strerror}; name another folder: {elsewhere}"
        ) from None
    if free < environment.gigabytes:
        raise LenetBenchError(
            f"{home} has {free:.1f} GB free, and {environment.gigabytes:g} GB are needed; "
            f"free some space, or name another folder: {elsewhere}"
        )


def _make_empty(environment: Environment) -> list[str]:
    """Create it empty; returns the command that installs into it."""
    folder, python = str(environment.folder), _python_for(environment)
    if uv := shutil.which("uv"):
        _run([uv, "venv", "--quiet", "--python", python or environment.pythons[0], folder])
        return [uv, "pip", "install", "--quiet", "--python", str(environment.interpreter)]
    if not python:
        here = f"{sys.version_info.major}.{sys.version_info.minor}"
        raise LenetBenchError(
            f"{environment.name} needs Python {' or '.join(environment.pythons)}, and this is "
            f"{here}; install one, or uv, which downloads it"
        )
    _run([python, "-m", "venv", folder])
    pip = [str(environment.interpreter), "-m", "pip", "--disable-pip-version-check"]
    return [*pip, "install", "--quiet"]


def _python_for(environment: Environment) -> str | None:
    """An interpreter of a version that its packages run on: this one, on the PATH, or pyenv's."""
    import subprocess

    if f"{sys.version_info.major}.{sys.version_info.minor}" in environment.pythons:
        return sys.executable
    pyenv = Path(os.environ.get("PYENV_ROOT") or (home() or Path("/")) / ".pyenv") / "versions"
    for name in (f"python{version}" for version in environment.pythons):
        candidates = [shutil.which(name), *map(str, pyenv.glob(f"*/bin/{name}"))]
        for python in filter(None, candidates):  # one of pyenv's on the PATH may not run
            if subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:
                return python
    return None


def _package_alone(environment: Environment) -> Path:
    """A folder with lenet_bench and nothing else: its neighbours are not for that environment."""
    folder = environment.folder / _PACKAGE
    link, package = folder / __package__.partition(".")[0], Path(__file__).parents[2]
    if link.is_symlink() and link.readlink() == package:
        return folder
    folder.mkdir(exist_ok=True)
    temporary = folder / f".{os.getpid()}"
    temporary.symlink_to(package)
    temporary.replace(link)
    return folder


def _run(command: list[str]) -> None:
    """Run one of the tools, without the settings of this interpreter."""
    import subprocess  # which takes long to import, and starts nothing in most commands

    ours = ("PYTHONPATH", "PYTHONHOME", "PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT")
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    try:
        done = subprocess.run(
            command, env=inherited, capture_output=True, text=True, errors="replace"
        )
    except OSError as error:
        raise LenetBenchError(f"{command[0]} cannot be started: {error.strerror}") from None
    if done.returncode:
        lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        said = next((line for line in lines if "ERROR" in line or "error:" in line), "")
        raise LenetBenchError(
            f"{Path(command[0]).name} failed: {said or (lines or ['it printed no message'])[-1]}"
        )

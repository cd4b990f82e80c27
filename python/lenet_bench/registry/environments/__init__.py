"""Isolated environments: an interpreter and pinned packages for frameworks that need their own.

Each is a pip requirements file beside this one, whose first comments say what it is for and which
Python it needs, and a folder that `create` makes from it. All other backends run in the current
interpreter.
"""

import fcntl
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...atomic import writing
from ...cache import base_folder
from ...errors import LenetBenchError
from ...installed import (
    CONVERTER,
    core_requirements,
    extra_requirements,
    fits,
    installed_version,
    package_name,
)
from ..rows import AGAIN, BACKENDS, find

if TYPE_CHECKING:
    from ..backend import Backend

_PINS = Path(__file__).parent
_PACKAGE = "package"  # the folder in an environment through which it finds lenet_bench
_NAMED = 5  # versions that there are, in place of one that there is not
_COMPLETE = "complete"  # the file that the last step of making one writes
_LEAST_GB = 0.1  # for pip and a small framework


class NoSuchVersion(LenetBenchError):
    """The package index has no such wheel."""


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
    pins: str  # pip's requirements

    @property
    def folder(self) -> Path:
        return _home() / self.name

    @property
    def interpreter(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def path(self) -> list[str]:
        """Where its interpreter looks for packages."""
        return [*map(str, self.folder.glob("lib/python*/site-packages"))]

    @property
    def versions(self) -> dict[str, str | None]:
        """Of what is pinned in it, without what lenet-bench itself needs: numpy of mxnet."""
        ours = {*map(package_name, core_requirements())} - {"numpy"}
        names = dict.fromkeys(map(package_name, _pinned(self.pins)))
        found = {one: installed_version(one, self.path) for one in names if one not in ours}
        return {f"{name} of {self.name}": version for name, version in found.items()}

    @property
    def size_gb(self) -> float:
        """What it takes, as its file says, or as it is there."""
        if self.gigabytes:
            return self.gigabytes
        files = (path.lstat() for path in self.folder.rglob("*"))
        return round(sum(file.st_size for file in files) / 1e9, 1)

    @property
    def created(self) -> bool:
        """Whether it was completely created from the current pins."""
        try:
            made_from = (self.folder / _COMPLETE).read_text()
        except OSError:
            return False
        return _pinned(made_from) == _pinned(self.pins) and self.interpreter.exists()


def environments() -> dict[str, Environment]:
    return {path.stem: _read(path) for path in sorted(_PINS.glob("*.txt"))}


def of(name: str | None) -> Environment | None:
    """The environment of that name, which may be of a version: onnxruntime==1.26.0."""
    if name and "==" in name:
        return _of_version(find(name)[0])
    return environments().get(name or "")


def of_versions() -> list[str]:
    """The names of those that were created for a version."""
    names = sorted(path.parent.name for path in _home().glob(f"*==*/{_COMPLETE}"))
    known = {row.name for row in BACKENDS}
    return [name for name in names if name.partition("==")[0] in known]


def interpreter(row: "Backend") -> str:
    """The Python of this backend: that of its environment if created, else the current one."""
    environment = of(row.environment)
    return str(environment.interpreter) if environment and environment.created else sys.executable


def is_here(name: str) -> bool:
    return Path(sys.prefix) == _home() / name


def variables(row: "Backend", threads: int, *, hide_output: bool = True) -> dict[str, str]:
    """The environment variables for the process that imports this backend."""
    own = {**row.variables_for(threads), **(row.silencing_variables if hide_output else {})}
    environment = of(row.environment)
    if environment and environment.created:
        if row.version:  # others have what writes their files
            own[CONVERTER] = sys.executable
        return {**own, "PYTHONPATH": str(_package_alone()), "PYTHONHOME": ""}
    from ...process import same_modules  # only what starts a process needs it

    return {**own, **same_modules()}


def create(name: str, progress: Callable[[str], None] = lambda _: None) -> Environment:
    """Create an environment, replacing an old one; a failure leaves that one, or nothing.

    `progress` is called with each step. Raises LenetBenchError with the last line of pip's output.
    """
    environment = of(name)
    if environment is None:
        raise LenetBenchError(f"no environment is called {name!r}; `lenet-bench env list` has all")
    if not environment.pins:
        raise LenetBenchError(f"{name.partition('==')[0]} has no versions to choose from")
    was_created = environment.created
    with _alone(progress):
        if was_created or not environment.created:
            _make(environment, progress)
    return environment


@contextmanager
def _alone(progress: Callable[[str], None]) -> Iterator[None]:
    """While no other process makes an environment."""
    with writing(_home(), LenetBenchError):
        _home().mkdir(parents=True, exist_ok=True)
        folder = os.open(_home(), os.O_RDONLY)
    try:
        try:
            fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress(f"waiting for another process, which makes an environment in {_home()}")
            fcntl.flock(folder, fcntl.LOCK_EX)
        except OSError:  # a file system without locks
            pass
        yield
    finally:
        os.close(folder)


def _aside(environment: Environment) -> Path:
    return environment.folder.with_name(f".{environment.name}")


def _make(environment: Environment, progress: Callable[[str], None]) -> None:
    """Make it anew; the old one lies aside meanwhile, for a failure."""
    name, folder = environment.name, environment.folder
    needed, free = environment.gigabytes or _LEAST_GB, shutil.disk_usage(_home()).free / 1e9
    if free < needed:
        raise LenetBenchError(f"it takes {needed:g} GB, and {_home()} has {free:.2f} GB left")
    aside = _aside(environment)
    if environment.created and not folder.is_symlink():
        shutil.rmtree(aside, ignore_errors=True)
        folder.rename(aside)
    _remove(environment)
    size = f" ({environment.gigabytes:g} GB)" if environment.gigabytes else ""
    progress(f"{name}: {environment.summary}{size}")
    pip = [str(environment.interpreter), "-I", "-m", "pip"]  # none of the working directory
    install = [*pip, "--disable-pip-version-check", "install"]
    pins = folder / "requirements.txt"
    try:
        _run([_python_for(environment), "-I", "-m", "venv", str(folder)])
        if environment.first:
            progress(f"{name}: first {', '.join(environment.first)}")
            _run([*install, *environment.first])
        pins.write_text(environment.pins)
        if not environment.gigabytes:
            fetched = _to_fetch([*install, *environment.options, "-r", str(pins)])
            progress(f"{name}: {fetched}")
        _run([*install, *environment.options, "-r", str(pins)])
        (folder / _COMPLETE).write_text(environment.pins)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        if aside.exists():
            aside.rename(folder)
        raise
    shutil.rmtree(aside, ignore_errors=True)


def prepare(
    names: Iterable[str], progress: Callable[[str], None], refused: Callable[[str], None]
) -> None:
    """Create what versions of APIs need and is not there; who cannot have it, is told of."""
    for name in dict.fromkeys(find(one)[0].environment or "" for one in names):
        environment = of(name) if "==" in name else None
        if environment and not environment.created:
            try:
                create(name, progress)
            except LenetBenchError as error:
                refused(f"{name}: {error}")


def remove(name: str) -> bool:
    """Remove an environment; returns whether there was one."""
    environment = of(name)
    if environment is None:
        return False
    shutil.rmtree(_aside(environment), ignore_errors=True)  # of a process that was killed
    return _remove(environment)


def _remove(environment: Environment) -> bool:
    name, folder = environment.name, environment.folder
    if "==" in name and not name.endswith(AGAIN):
        remove(name + AGAIN)
    try:
        shutil.rmtree(folder)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:  # a link to a folder among them, which is the user's
        raise LenetBenchError(f"{folder} cannot be removed: {error.strerror or error}") from None
    return True


def _pinned(requirements: str) -> list[str]:
    """All but the comments."""
    return [line for line in requirements.splitlines() if line[:1] != "#"]


def _home() -> Path:
    if chosen := os.environ.get("LENET_BENCH_ENVIRONMENTS"):
        return Path(chosen).resolve()
    return base_folder("XDG_DATA_HOME", ".local/share", nowhere="/") / "environments"


def _read(pins: Path) -> Environment:
    """The comments on top: a summary, then `python: ...`, `gigabytes: ...` and the rest."""
    text = pins.read_text()
    comments = [line[1:].strip() for line in text.splitlines() if line[:1] == "#"]
    described = dict(line.split(": ", 1) for line in comments[1:] if ": " in line)
    return Environment(
        name=pins.stem,
        summary=comments[0],
        pythons=tuple(described["python"].split()),
        options=tuple(described.get("options", "").split()),
        first=tuple(described.get("first", "").split()),
        gigabytes=float(described["gigabytes"]),
        gpu="gpu" in described,
        beside=tuple(described.get("beside", "").split()),
        pins=text,
    )


def has_versions(row: "Backend") -> bool:
    """Whether the package that a version of this API is installed from is known."""
    return bool(_own_and_others(row)[0])


def newer_than(row: "Backend") -> str:
    """What lenet-bench asks of the package of an API, where this version of it is older."""
    own, _ = _own_and_others(row) if row.version else ([], [])
    version = row.version.removesuffix(AGAIN)
    return next((one for one in own if not fits(version, one)), "")


def _of_version(row: "Backend") -> Environment:
    """That of a version of an API, with what it needs, as the package index has it."""
    own, others = _own_and_others(row)
    pinned = [f"{package_name(one)}=={row.version.removesuffix(AGAIN)}" for one in own]
    return Environment(
        name=row.environment or "",
        summary=f"{row.library} {row.version}",
        pythons=(f"{sys.version_info.major}.{sys.version_info.minor}",),
        options=("--only-binary", ":all:"),
        first=(),
        gigabytes=0.0,
        gpu=False,
        beside=(),
        pins="\n".join((*pinned, *others, "")) if own else "",
    )


def _own_and_others(row: "Backend") -> tuple[list[str], list[str]]:
    """The requirements of an API's own packages, which are released together, and all others."""
    stem = package_name(row.package).partition("-")[0]
    own: list[str] = []
    others: list[str] = []
    for one in (*core_requirements(), *(extra_requirements(row.extra) if row.extra else ())):
        (own if package_name(one).partition("-")[0] == stem else others).append(one)
    return own, others


def _to_fetch(install: list[str]) -> str:
    """How much pip would fetch; raises what it would raise, before anything is installed."""
    import json
    from http.client import HTTPException
    from urllib.parse import unquote, urlsplit
    from urllib.request import Request, urlopen

    try:
        report = json.loads(_run([*install, "--dry-run", "--quiet", "--report", "-"]))
        urls = [one["download_info"]["url"] for one in report["install"]]
        total = 0
        for url in urls:
            if url.startswith("file:"):
                total += Path(unquote(urlsplit(url).path)).stat().st_size
                continue
            with urlopen(Request(url, method="HEAD"), timeout=20) as answer:
                total += int(answer.headers.get("Content-Length") or 0)
    except NoSuchVersion:
        raise
    except (LenetBenchError, HTTPException, OSError, LookupError, ValueError):
        return "how much there is to fetch is not known"  # to pip below 22.2, for one
    return f"{len(urls)} packages, {total / 1e6:,.0f} MB to fetch"


def _python_for(environment: Environment) -> str:
    """An interpreter of a version that its packages run on: this one, or one on the PATH."""
    import subprocess

    if f"{sys.version_info.major}.{sys.version_info.minor}" in environment.pythons:
        return sys.executable
    for version in environment.pythons:
        python = shutil.which(f"python{version}")  # pyenv has one for a version that is not chosen
        if python and subprocess.run([python, "-c", ""], capture_output=True).returncode == 0:
            return python
    raise LenetBenchError(
        f"{environment.name} needs Python {' or '.join(environment.pythons)} on the PATH; one way: "
        f"uv python install {environment.pythons[0]}"
    )


def _package_alone() -> Path:
    """A folder with lenet_bench and nothing else: its neighbours are not for an environment.

    It is this process's own: the environment may be another user's, or of another installation too.
    """
    from ...process import temporary_folder

    folder = Path(temporary_folder(), _PACKAGE)
    folder.mkdir(exist_ok=True)
    with suppress(FileExistsError):
        (folder / __package__.partition(".")[0]).symlink_to(Path(__file__).parents[2])
    return folder


def _run(command: list[str]) -> str:
    """What one of the tools prints, without the settings of this interpreter."""
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
        if none := re.search(r"the requirement (\S+) \(from versions: (.*)\)", done.stderr):
            asked, known = none[1], none[2].split(", ")[-_NAMED:]
            if known == ["none"]:
                raise NoSuchVersion(f"the package index does not answer, or has no {asked}")
            raise NoSuchVersion(
                f"there is no wheel of {asked} for this Python and system; the newest are "
                f"{', '.join(known)}"
            )
        raise LenetBenchError(
            f"{Path(command[0]).name} failed: {said or (lines or ['it printed no message'])[-1]}"
        )
    return done.stdout

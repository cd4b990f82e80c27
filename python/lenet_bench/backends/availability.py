"""Ask rungs whether they run here: each loads and answers one picture in a process of its own.

A rung whose library crashes, hangs, prints or answers wrongly costs its own line and nothing else,
and asking loads no framework into the process that asked. Nothing is remembered from one time to
the next: what was true yesterday is what one asks because of.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import TextIO

import numpy as np
from numpy.typing import NDArray

from .. import environments
from ..errors import LenetBenchError, WeightsError
from ..lifeline import Guard, die_with
from ..network import IMAGE_SIDE, PARAMETERS
from ..weights import Weights, read_weights
from . import Rung, check_needs, every_name, find, load, names, tolerance, wrong_version
from ._gpu import why_none

Image = NDArray[np.float32]

_SECONDS = 120.0  # the slowest framework imports in a tenth of this
_AT_ONCE = 4  # more only wait for the disk and the memory
_IMPORTED = "imported"  # what a child says once a crash is no longer the whole rung's

#: Told when a rung has been asked: its name, and what it printed.
Told = Callable[[str, str], None]


@dataclass(frozen=True)
class Availability:
    """Whether one rung, or one variant of it, runs here."""

    name: str  # as `load` takes it: fused, fused:int16
    summary: str
    calls: str  # what it calls underneath
    device: str
    available: bool
    reason: str | None  # why not, and the command that mends it
    runs: dict[str, str] = field(default_factory=dict)  # what really runs: library, version, ISA


def backends(
    asked: Sequence[str] = (),
    *,
    quiet: bool = True,
    seconds: float = _SECONDS,
    told: Told = lambda *_: None,
) -> list[Availability]:
    """Whether these rungs run here, in the ladder's order; a rung stands for its variants.

    Without names, all of the ladder, on the GPU too where there is one. Variants that a C++
    compiler makes are then not tried but with their names, since each takes many seconds.
    """
    rows = rows_of(asked)
    found: dict[str, Availability] = {}
    pool = ThreadPoolExecutor(max_workers=min(_AT_ONCE, os.cpu_count() or 1))
    try:
        # The slowest are at the ladder's end, so they begin first.
        running = {
            pool.submit(ask, rung, wanted, quiet=quiet, seconds=seconds, told=told): rung
            for rung, wanted in reversed(rows)
        }
        for done in as_completed(running):
            found.update((entry.name, entry) for entry in done.result())
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        for guard in list(_guards):
            guard.kill()
        raise
    pool.shutdown()
    return [found[name] for _, wanted in rows for name in wanted]


def ask(
    rung: Rung,
    wanted: Sequence[str] = (),
    *,
    quiet: bool = True,
    seconds: float = _SECONDS,
    told: Told = lambda *_: None,
) -> list[Availability]:
    """Try one rung's variants in a child process, and in another where one brought it down."""
    wanted = list(wanted or rung.names())
    found: dict[str, Availability] = {}
    printed = ""
    for name in wanted:
        if reason := _known_reason(rung, name):
            found[name] = _availability(rung, name, reason)
    while pending := [name for name in wanted if name not in found]:
        answers, reason, output = _run(rung, pending, quiet, seconds)
        printed += output
        imported = _IMPORTED in answers
        for answer in answers:
            if answer != _IMPORTED:
                with suppress(ValueError, TypeError):  # its library wrote into the answer
                    entry = Availability(**json.loads(answer))
                    found[entry.name] = entry
        lost = [name for name in pending if name not in found]
        for name in lost[:1] if imported else lost:
            found[name] = _availability(rung, name, _why_lost(rung, name, reason))
    told(rung.spell(rung.default), printed)
    return [found[name] for name in wanted]


def rows_of(asked: Sequence[str]) -> list[tuple[Rung, list[str]]]:
    """Each rung that is asked for, with the names to try; a bare rung is all its variants."""
    if not asked:
        asked = names() if why_none() else every_name()
    elif missing := {name for name in asked if find(name)[1] == find(name)[0].default}:
        asked = [*asked, *(variant for name in missing for variant in find(name)[0].names())]
    rows: dict[str, tuple[Rung, list[str]]] = {}
    for name in every_name():
        if name in asked:
            rung = find(name)[0]
            rows.setdefault(rung.spell(rung.default), (rung, []))[1].append(name)
    return list(rows.values())


def _known_reason(rung: Rung, name: str) -> str | None:
    """Why it cannot run, where that is known without a process."""
    if rung.gone:
        return f"{name} {rung.gone}"
    try:
        check_needs(rung, find(name)[1])
    except LenetBenchError as error:
        return str(error)
    return None


_guards: set[Guard] = set()  # of the children under way


def _run(rung: Rung, wanted: list[str], quiet: bool, seconds: float) -> tuple[list[str], str, str]:
    """A child's answers, a line each; how it ended, as half a sentence; and what it printed.

    Files and no pipes: a process that the framework left behind may hold its end of a pipe.
    """
    command = [environments.interpreter(rung), "-m", __name__]
    variables = environments.variables(rung, threads=1, quiet=quiet)
    with tempfile.TemporaryFile() as answers, tempfile.TemporaryFile() as printed:
        try:
            child = subprocess.Popen(
                [*command, str(answers.fileno()), str(os.getpid()), *wanted],
                env={**os.environ, **variables},
                stdin=subprocess.DEVNULL,
                stdout=printed,
                stderr=printed,
                pass_fds=[answers.fileno()],
                start_new_session=True,  # to be ended with all that it started
            )
        except OSError as error:
            return [], f"{command[0]} cannot be started: {error.strerror}", ""
        guard = Guard(child)
        _guards.add(guard)
        try:
            child.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:
            timely = child.returncode is not None
            guard.end()
            _guards.discard(guard)
        texts = []
        for file in (answers, printed):
            file.seek(0)
            texts.append(file.read().decode(errors="replace"))
    late = f"did not answer within {seconds:g} seconds"
    return texts[0].splitlines(), _how_it_died(child, texts[1]) if timely else late, texts[1]


def _why_lost(rung: Rung, name: str, reason: str) -> str:
    """How its process ended, and whether what is installed beside lenet-bench explains that."""
    return wrong_version(rung, name, reason) or f"{name}: {reason}"


def _how_it_died(child: "subprocess.Popen[bytes]", printed: str) -> str:
    last = next((line for line in reversed(printed.splitlines()) if line.strip()), "")
    if child.returncode < 0:
        return f"its process was ended by {signal.Signals(-child.returncode).name}"
    return f"its process ended with status {child.returncode}: {last.strip() or 'no message'}"


def _availability(
    rung: Rung, name: str, reason: str | None, runs: dict[str, str] | None = None
) -> Availability:
    variant = find(name)[1]
    return Availability(
        name=name,
        summary=rung.summary if variant == rung.default else rung.variants[variant],
        calls=rung.calls,
        device=rung.device,
        available=reason is None,
        reason=reason,
        runs=runs or {},
    )


def _try_here(wanted: Sequence[str]) -> Iterator[Availability]:
    """Load each in this process and compare one answer with the reference's."""
    weights = _weights()
    picture = _picture()
    expected = load("reference", weights=weights).infer(picture)
    runs: dict[str, str] = {}
    for name in wanted:
        rung, variant = find(name)
        if variant in rung.compiled and len(wanted) > 1 and runs:
            note = f"not tried: it compiles for long; lenet-bench doctor {name}"
            yield _availability(rung, name, None, {**runs, "variant": variant, "note": note})
            continue
        found = _try(rung, name, weights, picture, expected)
        runs = runs or found.runs
        yield found


def _try(rung: Rung, name: str, weights: Weights, picture: Image, expected: Image) -> Availability:
    """Load one variant in this process and compare its answer with what is expected."""
    try:
        backend = load(name, weights=weights, quiet=False)
        difference = float(np.abs(backend.infer(picture) - expected).max())
        runs = backend.describe()
    except LenetBenchError as error:
        return _availability(rung, name, str(error))
    except Exception as error:
        why = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        reason = wrong_version(rung, name, why) or f"{name} fails with {why}"
        return _availability(rung, name, reason)
    allowed = tolerance(name)
    right = difference <= allowed  # false for NaN too
    wrong = f"{name} answers wrongly: off by {difference:.1g}, allowed {allowed:.0e}"
    return _availability(rung, name, None if right else wrong, runs)


def _weights() -> Weights:
    """The canonical weights; zeros where they are absent, since a rung may run all the same."""
    try:
        return read_weights()
    except WeightsError:
        return Weights({name: np.zeros(shape, np.float32) for name, shape in PARAMETERS.items()})


def _picture() -> NDArray[np.float32]:
    """A plain vertical stroke: something like a one."""
    picture = np.zeros((IMAGE_SIDE, IMAGE_SIDE), np.float32)
    picture[4:24, 13:16] = 1
    return picture


def _main(answers: TextIO, wanted: Sequence[str]) -> None:
    """Import the rung's API, say so, and try each of its names."""
    module = find(wanted[0])[0].exhibit.partition(":")[0]
    with suppress(Exception, SystemExit):  # `load` says it in a sentence
        import_module(f"{__package__}.{module}")
    print(_IMPORTED, file=answers, flush=True)
    for finding in _try_here(wanted):
        print(json.dumps(asdict(finding)), file=answers, flush=True)


if __name__ == "__main__":
    die_with(int(sys.argv[2]))
    with os.fdopen(int(sys.argv[1]), "w") as _answers:
        _main(_answers, sys.argv[3:])
    os._exit(0)  # what a framework registered for the exit may hang

"""Ask every rung whether it runs here: each loads and answers one picture in a process of its own.

A rung whose library crashes, hangs or answers wrongly costs its own line and nothing else, and
asking loads no framework into the process that asked.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field

import numpy as np
from numpy.typing import NDArray

from .. import environments
from ..errors import LenetBenchError, WeightsError
from ..network import IMAGE_SIDE, PARAMETERS
from ..weights import Weights, read_weights
from . import LADDER, Rung, load, tolerance

Image = NDArray[np.float32]

_SECONDS = 120  # the slowest framework imports in a tenth of this


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


def backends() -> list[Availability]:
    """Every rung and variant in the ladder's order, and whether it runs here."""
    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return [finding for found in pool.map(ask, LADDER) for finding in found]


def ask(rung: Rung) -> list[Availability]:
    """Try one rung and its variants in a child process."""
    if rung.gone:
        return _all_unavailable(rung, rung.gone)
    environment = {**os.environ, **environments.variables(rung, threads=1)}
    try:
        child = subprocess.run(
            [environments.interpreter(rung), "-m", __name__, rung.name],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired:
        return _all_unavailable(rung, f"did not answer within {_SECONDS} seconds")
    if child.returncode == 0:
        try:
            return [Availability(**entry) for entry in json.loads(child.stdout.splitlines()[-1])]
        except (ValueError, IndexError, TypeError):
            pass  # its library wrote over the answer: told below
    return _all_unavailable(rung, _how_it_died(child))


def _how_it_died(child: "subprocess.CompletedProcess[str]") -> str:
    last = next((line for line in reversed(child.stderr.splitlines()) if line.strip()), "")
    if child.returncode < 0:
        return f"its process was ended by {signal.Signals(-child.returncode).name}"
    return f"its process ended with status {child.returncode}: {last.strip() or 'no message'}"


def _all_unavailable(rung: Rung, reason: str) -> list[Availability]:
    return [_availability(rung, name, f"{name} {reason}") for name in rung.names()]


def _availability(
    rung: Rung, name: str, reason: str | None, runs: dict[str, str] | None = None
) -> Availability:
    variant = name.partition(":")[2]
    return Availability(
        name=name,
        summary=rung.variants.get(variant, rung.summary),
        calls=rung.calls,
        device=rung.device,
        available=reason is None,
        reason=reason,
        runs=runs or {},
    )


def _try_here(rung: Rung) -> Iterator[Availability]:
    """Load each variant in this process and compare one answer with the reference's."""
    weights = _weights()
    picture = _picture()
    expected = load("reference", weights=weights).infer(picture)
    usual, *others = rung.names()
    found = _try(rung, usual, weights, picture, expected)
    yield found
    for name in others:
        if rung.framework:  # its variants stand or fall together, and some compile for long
            runs = {**found.runs, "variant": name.partition(":")[2]} if found.available else None
            yield _availability(rung, name, found.reason, runs)
        else:
            yield _try(rung, name, weights, picture, expected)


def _try(rung: Rung, name: str, weights: Weights, picture: Image, expected: Image) -> Availability:
    """Load one variant in this process and compare its answer with what is expected."""
    try:
        backend = load(name, weights=weights, quiet=False)
        difference = float(np.abs(backend.infer(picture) - expected).max())
        runs = backend.describe()
    except LenetBenchError as error:
        return _availability(rung, name, str(error))
    except Exception as error:
        return _availability(rung, name, f"{name} fails with {type(error).__name__}: {error}")
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


if __name__ == "__main__":
    asked = next(rung for rung in LADDER if rung.name == sys.argv[1])
    print(json.dumps([asdict(finding) for finding in _try_here(asked)]))

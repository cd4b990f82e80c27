"""Check which backends run here: each loads and answers one picture in another process.

Those that import the same share one. A library that crashes, hangs or answers wrongly affects only
its own line, and no framework is loaded into this process. Results are not cached, since the check
is repeated after changes.
"""

import gc
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import LenetBenchError, Unavailable
from ..network import IMAGE_SIDE
from ..process import Child, Died, Parent
from ..weights import Weights, read_weights
from . import environments
from .backend import Backend, usable_cores
from .building import check_modules, check_needs, import_backend, why_absent, wrong_version
from .gpu import why_none
from .loading import load
from .rows import every_name, find, names, tolerance, with_variants

Image = NDArray[np.float32]

_SECONDS = 120.0  # the slowest framework imports in a tenth of this
_AT_ONCE = 4  # more would wait for disk and memory
_LIGHT = "light engines"  # which are imported in less time than Python and NumPy
_COMPILERS = "compilers"  # which import little, and take seconds to compile
#: By the name of a row: what its package imports for most of its time, or with whom it is asked.
_IMPORTS = {
    "tvm": "torch",
    **dict.fromkeys(("iree", "mlx", "halide"), _COMPILERS),
    **dict.fromkeys(
        ("mnn", "litert", "ncnn", "onnxruntime", "opencv", "tract", "tflite-micro", "caffe"), _LIGHT
    ),
}
#: What Keras imports and does not need for a call: it is hidden, but for Keras' own backend.
_UNUSED_BY_KERAS = {"matplotlib", "jax"}
#: XLA without LLVM's optimisations: the same compiler answers, in half the time.
_XLA_UNOPTIMISED = "--xla_backend_optimization_level=0"
#: Groups of rows, ours and then the slowest, which begin first: so all cores are busy to the end.
_FIRST = ("", "torch", _COMPILERS, "tensorflow", "jax", "tinygrad", "openvino")

#: Called when a backend has answered, with its name and what it printed.
Answered = Callable[[str, str], None]


@dataclass(frozen=True)
class Availability:
    """Whether one backend, or one variant of it, runs here."""

    name: str  # as `load` takes it: fused, fused:int16
    summary: str
    calls: str  # what it calls underneath
    device: str
    available: bool
    reason: str | None  # why not, and the command that fixes it
    runs: dict[str, str] = field(default_factory=dict)  # what really runs: library, version, ISA


@dataclass(frozen=True)
class Listed:
    """A backend, or one variant of it, and whether what it needs is installed."""

    name: str
    device: str
    installed: bool
    reason: str | None  # why not, and the command that fixes it
    summary: str
    calls: str


def backends(
    asked: Sequence[str] = (),
    *,
    hide_output: bool = True,
    seconds: float = _SECONDS,
    answered: Answered = lambda *_: None,
) -> list[Availability]:
    """Whether these backends run here, in the registry's order; a bare name is all its variants.

    Without names, all of them, on the GPU too where there is one. A variant that needs a C++
    compiler takes many seconds, so it is tried only if it is named.
    """
    return list(each(asked, hide_output=hide_output, seconds=seconds, answered=answered))


def listed(asked: Sequence[str] = ()) -> list[Listed]:
    """These backends, or all, in the registry's order; none is loaded, so it may fail to run."""
    found = []
    for name in [name for _, wanted in rows_of(asked) for name in wanted]:
        reason = _known_reason(name) or wrong_version(name) or why_absent(name)
        one = _availability(name, reason)
        found.append(Listed(name, one.device, one.available, reason, one.summary, one.calls))
    return found


def each(
    asked: Sequence[str] = (),
    *,
    hide_output: bool = True,
    seconds: float = _SECONDS,
    answered: Answered = lambda *_: None,
) -> Iterator[Availability]:
    """The same, each as soon as it and all before it have answered."""
    rows = rows_of(asked)
    _stopped.clear()
    at_once = min(_AT_ONCE, 1 + usable_cores())  # one may wait for its end, or for a program
    pool = ThreadPoolExecutor(max_workers=at_once)
    options: dict[str, Any] = {"hide_output": hide_output, "seconds": seconds}
    under_way = {
        pool.submit(_ask_together, [rows[number] for number in group], **options): group
        for group in _by_import(rows)
    }
    found: dict[int, list[Availability]] = {}
    shown = 0
    try:
        for future in as_completed(under_way):
            for number, answer in zip(under_way[future], future.result(), strict=True):
                row = rows[number][0]
                found[number], printed = answer
                answered(row.spell(row.default), printed)
            while shown in found:
                yield from found[shown]
                shown += 1
    except BaseException:
        _stopped.set()
        pool.shutdown(wait=False, cancel_futures=True)
        for child in list(_children):
            child.kill()
        raise
    pool.shutdown()


def _by_import(rows: Sequence[tuple[Backend, list[str]]]) -> list[list[int]]:
    """The places of rows that import the same, in their order: Keras comes after what is below it.

    Those that take longest come first.
    """
    groups: dict[tuple[str, ...], list[int]] = {}
    for number, (row, _) in enumerate(rows):
        key = (_below(row), row.device, environments.interpreter(row))
        groups.setdefault(key, []).append(number)
    places = {name: place for place, name in enumerate(_FIRST)}
    return [groups[key] for key in sorted(groups, key=lambda key: places.get(key[0], len(places)))]


def _below(row: Backend) -> str:
    """What it takes longest to import; nothing for what we wrote for the CPU."""
    if not row.framework and row.device == "cpu":
        return ""
    return row.variables.get("KERAS_BACKEND") or _IMPORTS.get(row.name, row.name)


def _ask_together(
    rows: Sequence[tuple[Backend, list[str]]], **options: Any
) -> list[tuple[list[Availability], str]]:
    """The answer of each row, from a child that imports once what they share.

    A later row may fail because of an earlier one, so what fails of it is tried again alone.
    """
    found, printed = ask(rows[-1][0], [name for _, wanted in rows for name in wanted], **options)
    answers: list[tuple[list[Availability], str]] = []
    for row, wanted in rows:
        own = {one.name: one for one in found if one.name in wanted}
        failed = [name for name in wanted if not own[name].available]
        if answers and failed:
            again, printed = ask(row, failed, **options)
            own |= {one.name: one for one in again}
        answers.append((list(own.values()), printed))
        printed = ""
    return answers


def ask(
    row: Backend,
    wanted: Sequence[str] = (),
    *,
    hide_output: bool = True,
    seconds: float = _SECONDS,
) -> tuple[list[Availability], str]:
    """Try one backend's variants in a child process, and in a new one after each crash.

    `wanted` may begin with those of the framework below it. What it printed comes with them.
    """
    wanted = list(wanted or row.names())
    reasons = {name: _known_reason(name) for name in wanted}
    found = {name: _availability(name, why) for name, why in reasons.items() if why}
    printed = ""
    while pending := [name for name in wanted if name not in found]:
        if _stopped.is_set():
            raise Unavailable("stopped")
        printed += _ask_child(pending, found, hide_output, seconds)
    return [found[name] for name in wanted], printed


def rows_of(asked: Sequence[str]) -> list[tuple[Backend, list[str]]]:
    """Each requested row with the names to try; a bare name stands for all its variants."""
    every = names() if why_none() else every_name()
    return by_row(with_variants(asked) if asked else every)


def by_row(named: Iterable[str]) -> list[tuple[Backend, list[str]]]:
    """The row of each of these names, with those of them that are its own."""
    rows: dict[str, tuple[Backend, list[str]]] = {}
    for name in named:
        row = find(name)[0]
        rows.setdefault(row.spell(row.default), (row, []))[1].append(name)
    return list(rows.values())


def _known_reason(name: str) -> str | None:
    """Why it cannot run, if that is known without starting a process."""
    try:
        check_needs(*find(name))
        check_modules(*find(name))
    except LenetBenchError as error:
        return str(error)
    return None


_children: set[Child] = set()  # under way
_stopped = Event()  # no child is started any more, in place of one that was killed


def _ask_child(
    pending: Sequence[str],
    found: dict[str, Availability],
    hide_output: bool,
    seconds: float,
) -> str:
    """The child's answer or how it died, and its output."""
    rows = by_row(pending)
    lost = rows[0][1]  # what a death affects: a row's until its import, then a variant
    printed = ""
    python = environments.interpreter(rows[0][0])
    variables: dict[str, str] = {}
    for row, _ in rows:
        variables |= environments.variables(row, 1, hide_output=hide_output)
    if rows[0][0].device == "cpu":
        flags = os.environ.get("XLA_FLAGS", "")
        if not flags or flags.startswith("-"):  # else it names a file
            variables["XLA_FLAGS"] = f"{_XLA_UNOPTIMISED} {flags}".strip()
    try:
        child = Child(f"{__name__}:serve", python=python, variables=variables)
        _children.add(child)
        keras = variables.get("KERAS_BACKEND")
        try:
            child.ask((pending[0], sorted(_UNUSED_BY_KERAS - {keras}) if keras else []), seconds)
            for name in pending:
                lost = [name]
                own, variant = find(name)
                same = (one for one in found.values() if find(one.name)[0].name == own.name)
                runs = next((one.runs for one in same if one.runs), None)
                if len(pending) > 1 and runs and variant in own.compiled:
                    note = f"not tried (slow to compile); to try it: lenet-bench doctor {name}"
                    runs = {**runs, "variant": variant, "note": note}
                    found[name] = _availability(name, None, runs)
                else:
                    found[name] = _availability(name, *child.ask(name, seconds))
        finally:
            _children.discard(child)
            printed = child.output()
            child.close()
    except Died as death:
        for name in lost:  # an installed package may explain it
            why = wrong_version(name, death.sentence) or f"{name}: {death.sentence}"
            found[name] = _availability(name, why)
    return printed


def _availability(
    name: str, reason: str | None, runs: dict[str, str] | None = None
) -> Availability:
    row, variant = find(name)
    return Availability(
        name=name,
        summary=row.summary if variant == row.default else row.variants[variant],
        calls=row.calls,
        device=row.device,
        available=reason is None,
        reason=reason,
        runs=runs or {},
    )


def serve(parent: Parent) -> None:
    """In the child: import the API of the first name, then try each name that comes."""
    gc.disable()  # an import makes no garbage, and looking for some takes a fifth of its time
    name, hidden = parent.hear()
    sys.modules.update(dict.fromkeys(hidden))  # None: to import it fails, as where it is absent
    row = find(name)[0]
    with suppress(Exception, SystemExit):  # `load` gives the reason
        import_backend(row)
    parent.say(None)
    weights, picture = read_weights(), _picture()
    expected = load("reference", weights=weights).infer(picture)
    while True:
        parent.say(_try(parent.hear(), weights, picture, expected))


def _try(
    name: str, weights: Weights, picture: Image, expected: Image
) -> tuple[str | None, dict[str, str]]:
    """Load one name in this process: why it does not run or answers wrongly; and what runs."""
    try:
        network = load(name, weights=weights, hide_output=False)
        difference = float(np.abs(network.infer(picture) - expected).max())
        runs = dict(network.describe())
    except LenetBenchError as error:
        return str(error), {}
    except Exception as error:
        why = f"{type(error).__name__}: {error}".strip().splitlines()[0]
        return wrong_version(name, why) or f"{name} failed with {why}", {}
    allowed = tolerance(name)
    if difference <= allowed:  # false for NaN too
        return None, runs
    return (
        f"{name} gives wrong answers: off by {difference:.1g}, allowed {allowed:.0e}",
        runs,
    )


def _picture() -> NDArray[np.float32]:
    """A vertical stroke, similar to a one."""
    picture = np.zeros((IMAGE_SIDE, IMAGE_SIDE), np.float32)
    picture[4:24, 13:16] = 1
    return picture

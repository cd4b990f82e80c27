"""What a call consists of, and what another adds: in sentences, and as tables for the terminal."""

from collections.abc import Iterable, Iterator, Sequence
from math import hypot

from .. import units
from ..measure.anatomy import package_of
from ..results import Breakdown, Function, Part, Result, breakdowns
from ..results.breakdown import GROUPS, grouped
from ..results.statistics import FEWEST_STARTS
from . import markdown
from .sentences import NONE_TIMED, absent, conditions, failed, left_out
from .terminal.screen import MARGIN, Screen
from .terminal.table import Column, fitting, table

#: Limits of sentences, which name a part only if its interval, or its difference's, excludes 0.
_NAMED = 3  # parts of a call
_ADDED = 5  # of a difference
_LEAST = 0.01  # least share of a call, or of a difference, for a part to be named
_APART, _REST = "in no part (medians do not add up)", "all else"
#: Limits of tables.
_FEW = 8  # backends whose parts are shown if none is named
_HANDED_ON = 0.85  # share of a function's time that one other function takes
_SMALLEST = 0.04  # share of the time that is shown
_BAR = 30
#: What is said of each column, where it is shown.
_COLUMNS = {
    "call": "one input, median",
    "sum of parts": "as a share of the call",
    "an operation": "what one more trivial layer in the network takes",
    "waiting": "wall time less the processor time of all threads, as a share",
    "on two cores": "the call where its process may use one core more",
    "GIL held": "the share of a call during which no other Python code runs",
    "Python calls": "Python functions that run in a call",
    "waits": "how often a call gives up its core",
}
_SUM = (
    "The total tests the API's cost plus the network, not the split by layer: dispatch and the "
    "layers cancel in it."
)
_Branch = tuple[float, int, str]  # share, indentation, function


def in_terminal(
    result: Result,
    screen: Screen,
    named: Sequence[str] = (),
    *,
    tree: bool = False,
) -> Iterator[str]:
    """A run of `why` in the terminal: the calls, the warnings, and the parts of a few calls."""
    backends = breakdowns(result)
    yield from screen.wrap(conditions(result))
    yield ""
    yield from calls(backends, screen, named)
    for warning in result.warnings:
        yield from screen.wrap(f"warning: {warning}", "yellow")
    if not (named or len(backends) <= _FEW):
        return
    for backend in backends:
        yield from parts(backend, screen) if backend.parts or tree else ()
        yield from closely(backend, screen) if tree else ()
    if any(backend.parts for backend in backends):
        yield ""
        yield from screen.wrap(_SUM, "dim")


def in_markdown(result: Result) -> Iterator[str]:
    """The groups of each call, and what is said of them."""
    backends = _fastest_first(backend for backend in breakdowns(result) if backend.parts)
    yield markdown.escaped(conditions(result))
    yield ""
    sums = [grouped(backend.parts) for backend in backends]
    groups = [name for name in GROUPS if any(one[name] for one in sums)]
    titles = ("backend", "call", *groups, "sum of parts", "95 % interval")
    rows = []
    for backend, of_groups in zip(backends, sums, strict=True):
        times = (units.time(of_groups[name]) for name in groups)
        rows.append(
            (backend.name, units.time(backend.median_us), *times, *_explained_cells(backend))
        )
    yield from markdown.table(titles, rows, titles[:1])
    yield ""
    said = [*answer(backends), *(f"warning: {warning}" for warning in result.warnings)]
    yield from (f"- {markdown.escaped(sentence)}" for sentence in said)


def answer(backends: Sequence[Breakdown]) -> Iterator[str]:
    """A sentence for each backend, the fastest first; then what the slowest adds to it."""
    known = _fastest_first(backend for backend in backends if backend.parts)
    yield from map(consists_of, known)
    if len(known) > 1:
        yield difference(known[0], known[-1])


def _fastest_first(backends: Iterable[Breakdown]) -> list[Breakdown]:
    return sorted(backends, key=lambda backend: backend.median_us or 0.0)


def consists_of(backend: Breakdown) -> str:
    """The largest parts of a call, and what all add up to; nothing from few starts."""
    whole = backend.median_us or 0.0
    takes = f"{backend.name} takes {units.time(whole)}"
    if not backend.is_sure:
        return f"{takes}: {_few(backend)}."
    sure = [part for part in backend.parts if part.low_us and part.low_us > 0]
    largest = sorted(sure, key=lambda part: -part.us)[:_NAMED]
    named = [
        f"{part.name} {units.time(part.us)} ({units.percent(part.us / whole, places=0)})"
        for part in largest
        if part.us >= _LEAST * whole
    ]
    largest_parts = f": {_listed(named)}" if named else ""
    share, bounds = _explained_cells(backend)
    return f"{takes}{largest_parts}. The measured parts add up to {share} ({bounds})."


def _few(*calls: Breakdown) -> str:
    least = min(call.starts for call in calls)
    return f"{units.counted(least, 'start')}, of {FEWEST_STARTS} that the name of a cause needs"


def difference(one: Breakdown, other: Breakdown) -> str:
    """How much longer the other takes: the parts whose difference is certain, then the rest.

    A median over starts is not the sum of its parts' medians, so some of it may be in no part.
    """
    longer = (other.median_us or 0.0) - (one.median_us or 0.0)
    takes = f"{other.name} takes {units.time(longer)} longer than {one.name}"
    if not (one.is_sure and other.is_sure):
        return f"{takes}: {_few(one, other)}."
    before, after = _by_name(one.parts), _by_name(other.parts)
    found = {
        name: _added(before.get(name), after.get(name)) for name in dict.fromkeys((*after, *before))
    }
    added = {
        name: us
        for name, (us, low_us, high_us) in found.items()
        if (low_us > 0 or high_us < 0) and abs(us) >= _LEAST * longer
    }
    largest = sorted(added, key=lambda name: -abs(added[name]))[:_ADDED]
    told = {name: added[name] for name in largest}
    apart = longer - sum(us for us, _, _ in found.values())
    if abs(apart) >= _LEAST * longer:
        told[_APART] = apart
    told[_REST] = longer - sum(told.values())
    named = [f"{name} {units.time(us)}" for name, us in told.items()]
    return f"{other.name} takes {units.time(longer)} longer than {one.name}: {_listed(named)}."


def _by_name(parts: Sequence[Part]) -> dict[str, Part]:
    return {part.name: part for part in parts}


def _added(before: Part | None, after: Part | None) -> tuple[float, float, float]:
    """The difference of a part of two calls, and its bounds, from the bounds of both.

    The calls are of different processes, so the widths of the intervals add up in squares (Zou and
    Donner, 2008).
    """
    (us, low, high), (other, other_low, other_high) = _bounded(after), _bounded(before)
    added = us - other
    below, above = hypot(us - low, other_high - other), hypot(high - us, other - other_low)
    return added, added - below, added + above


def _bounded(part: Part | None) -> tuple[float, float, float]:
    if part is None or part.low_us is None or part.high_us is None:
        return 0.0, 0.0, 0.0
    return part.us, part.low_us, part.high_us


def _explained_cells(backend: Breakdown) -> tuple[str, str]:
    """The share and its interval; of few starts neither, since it is noise."""
    bounds = units.percent(backend.explained_low, backend.explained_high, places=0)
    return units.percent(backend.explained if backend.is_sure else None, places=0), bounds


def _listed(named: Sequence[str]) -> str:
    *first, last = named
    return f"{', '.join(first)} and {last}" if first else last


def calls(
    backends: Sequence[Breakdown], screen: Screen, named: Sequence[str] = ()
) -> Iterator[str]:
    """A row for each backend that ran, the fastest first; then why others did not."""
    ran = _fastest_first(backend for backend in backends if backend.median_us)
    if ran:
        columns = list(_columns(ran))
        yield from table(screen, columns)
        yield ""
        shown = {column.title for column in fitting(columns, screen.columns)}
        texts = {title: text for title, text in _COLUMNS.items() if title in shown}
        said = [f"{title}: {text}" for title, text in texts.items()]
        yield from screen.wrap("; ".join(said), "dim", hanging="")
    else:
        yield from screen.wrap(NONE_TIMED, "bold")
    for sentence in answer(ran):
        yield from screen.wrap(sentence)
    for backend in ran:
        if backend.reason:
            yield from screen.wrap(f"{backend.name} is not taken apart: {backend.reason}", "yellow")
    for sentence, style in failed(backends, named):
        yield from screen.wrap(sentence, style)
    yield from screen.wrap(left_out(backends) or "", "yellow")
    yield from screen.wrap(absent(backends, named) or "", "dim")


def _columns(ran: Sequence[Breakdown]) -> Iterator[Column]:
    """The columns; the one with the highest `leaves` is dropped first in a narrow terminal."""
    operations = [units.time(row.operation_us.us if row.operation_us else None) for row in ran]
    yield Column("backend", [row.name for row in ran], left=True, style="bold")
    yield Column("call", [units.time(row.median_us) for row in ran])
    explained, bounds = zip(*map(_explained_cells, ran), strict=True)
    yield Column("sum of parts", explained)
    yield Column("95 % interval", bounds, leaves=2)
    yield Column("an operation", operations, leaves=3)
    yield Column("waiting", [units.percent(row.waiting_share, places=0) for row in ran], leaves=8)
    if any(row.two_cores_us for row in ran):
        yield Column("on two cores", [units.time(row.two_cores_us) for row in ran], leaves=7)
    if any(row.gil_share is not None for row in ran):
        yield Column("GIL held", [units.percent(row.gil_share, places=0) for row in ran], leaves=5)
    yield Column("Python calls", [units.count(_python_calls(row)) for row in ran], leaves=4)
    yield Column("waits", [f"{row.waits:.1f}" for row in ran], leaves=6)


def parts(backend: Breakdown, screen: Screen) -> Iterator[str]:
    """A row for each part. A bar begins where the last one ends; below zero there is none."""
    yield ""
    yield screen.paint(f"{backend.name}: {units.time(backend.median_us)}", "bold")
    if not backend.parts:
        return
    whole = max(backend.median_us or 0.0, sum(max(0.0, part.us) for part in backend.parts))
    bars, begins = [], 0.0
    for part in backend.parts:
        us = max(0.0, part.us)
        bars.append(" " * round(_BAR * begins / whole) + screen.bar(us / whole, _BAR))
        begins += us
    for title, rows, drawn in (
        ("part", backend.parts, bars),
        ("beside the sum", backend.beside, []),
    ):
        columns = [
            Column(title, [part.name for part in rows], left=True),
            Column("median", [units.time(part.us) for part in rows]),
            Column("95 % interval", [units.times(part.low_us, part.high_us) for part in rows]),
            Column("", drawn or [""] * len(rows), left=True, style="cyan", leaves=2),
            Column("measured", [part.evidence for part in rows], left=True, leaves=3),
        ]
        yield from table(screen, columns, MARGIN) if rows else ()


def closely(backend: Breakdown, screen: Screen) -> Iterator[str]:
    """What one backend does in Python: its calls by package, and the tree of calls."""
    if (anatomy := backend.anatomy) is None:
        return
    named = ", ".join(f"{package} {n:,}" for package, n in anatomy.python_calls.items())
    count = units.counted(_python_calls(backend) or 0, "Python call")
    yield from screen.wrap(f"{count}: {named}", hanging="    ")
    for share, indent, call in _branches(anatomy.tree):
        percent = units.percent(share, places=0)
        text = f"  {percent:>5}  {'  ' * indent}{_shortened(call)}"
        yield text if len(text) <= screen.columns else text[: screen.columns - 1] + "~"


def _python_calls(backend: Breakdown) -> int | None:
    return sum(backend.anatomy.python_calls.values()) if backend.anatomy else None


def _branches(calls: Sequence[Function], indent: int = 0, above: str = "") -> Iterator[_Branch]:
    """The tree's lines. A function that only calls another one of its package is left out."""
    for call in calls:
        package = package_of(call.call)
        if _hands_on(call, package) and package == above:
            yield from _branches(call.calls, indent, above)
        elif call.share >= _SMALLEST:
            yield call.share, indent, call.call
            yield from _branches(call.calls, indent + 1, package)


def _hands_on(call: Function, package: str) -> bool:
    """Whether nearly all its time is one other function of its package."""
    most = _HANDED_ON * call.share
    return any(inner.share > most and package_of(inner.call) == package for inner in call.calls[:1])


def _shortened(call: str) -> str:
    """The package, the module and the function, without the folders between."""
    module, _, function = call.partition(":")
    package, *folders = module.split(".")
    inside = f"…{folders[-1]}" if folders else ""
    return f"{package}{inside}:{function.replace('.<locals>', '')}"

"""Calls taken apart, in a terminal: a row a backend, and which function calls which."""

import textwrap
from collections.abc import Iterator, Sequence

from ... import units
from ...measure.anatomy import package_of
from ...questions.why import Anatomy, Call
from ...results import failures
from ...units import counted
from ..families import missing
from .screen import Screen, plain
from .table import Column, table

_HANDED_ON = 0.85  # of a function's time is another's
_SMALLEST = 0.04  # share of the time that is shown
_INTERRUPTED_PER_S = 20  # a quiet machine stays below
_Branch = tuple[float, int, str]  # share, indentation, function
_LEGEND = (
    "call: one image, median. image: what one more image in a call adds. fixed: the rest of a "
    "call. Python calls: Python functions that a call runs. deep: most Python frames at once. "
    "through: packages on the deepest stack. waits: thread switches per call."
)


def calls(anatomies: Sequence[Anatomy], screen: Screen, named: Sequence[str] = ()) -> Iterator[str]:
    """A row for each that ran, the quickest first; then why others did not that should have."""
    ran = sorted((one for one in anatomies if one.status == "ok"), key=lambda one: one.call_us)
    if ran:
        yield from table(screen, list(_columns(ran)))
        yield ""
        yield from screen.wrap(_LEGEND, "dim", hanging="")
        yield from _doubts(ran, screen)
    wanted = failures(anatomies, named)
    for one in anatomies:
        if one.name in wanted:
            yield from screen.wrap(f"{one.name}: {one.status}: {one.reason}", "red")
    absent = (one.name for one in anatomies if one.status == "unavailable")
    yield from screen.wrap(missing(name for name in absent if name not in wanted) or "", "dim")


def _columns(ran: Sequence[Anatomy]) -> Iterator[Column]:
    """What leaves first where the terminal is narrow has the highest number."""
    python_calls = [units.count(sum(one.python_calls.values())) for one in ran]
    yield Column("backend", [one.name for one in ran], left=True, style="bold")
    yield Column("call", [units.time(one.call_us) for one in ran])
    yield Column("fixed", [units.time(one.fixed_us) for one in ran], leaves=1)
    yield Column("image", [units.time(one.image_us) for one in ran], leaves=4)
    yield Column("Python calls", python_calls, leaves=2)
    yield Column("deep", [str(one.depth) for one in ran], leaves=3)
    yield Column("waits", [f"{one.waits:.1f}" for one in ran], leaves=5)
    yield Column("page faults", [f"{one.page_faults:.1f}" for one in ran], leaves=7)
    yield Column("through", [" > ".join(one.tower) for one in ran], left=True, leaves=6)


def _doubts(ran: Sequence[Anatomy], screen: Screen) -> Iterator[str]:
    """What the figures do not say, and what disturbed them."""
    reasons: dict[str, list[str]] = {}
    for one in ran:
        if one.unknown:
            reasons.setdefault(one.unknown, []).append(one.name)
    for reason, names in reasons.items():
        yield from screen.wrap(f"fixed is not known of {', '.join(names)}: {reason}", "yellow")
    often = [one for one in ran if one.interrupted_per_s > _INTERRUPTED_PER_S]
    if often:
        most = max(one.interrupted_per_s for one in often)
        yield from screen.wrap(
            f"warning: other programs interrupted {counted(len(often), 'backend')}, up to "
            f"{most:.0f} times a second: these times are too long; repeat it on a quiet machine",
            "yellow",
        )


def closely(anatomy: Anatomy, screen: Screen) -> Iterator[str]:
    """Where one backend's time goes: packages, and the tree of calls."""
    yield ""
    yield screen.paint(anatomy.name, "bold")
    count = sum(anatomy.python_calls.values())
    parts = ", ".join(f"{package} {n:,}" for package, n in anatomy.python_calls.items())
    yield from _wrapped(f"{counted(count, 'Python call')}: {parts}", screen)
    shares = ", ".join(f"{p} {share:.0%}" for p, share in anatomy.shares.items() if share >= 0.005)
    yield from _wrapped(f"time by package: {shares}", screen)
    for share, indent, call in _branches(anatomy.tree):
        text = f"  {share:4.0%}  {'  ' * indent}{_shortened(call)}"
        yield text if len(text) <= screen.columns else text[: screen.columns - 1] + "~"


def _branches(calls: Sequence[Call], indent: int = 0, above: str = "") -> Iterator[_Branch]:
    """The tree's lines. A function that only hands on within its package is passed over."""
    for call in calls:
        package = package_of(call.call)
        if _hands_on(call, package) and package == above:
            yield from _branches(call.calls, indent, above)
        elif call.share >= _SMALLEST:
            yield call.share, indent, call.call
            yield from _branches(call.calls, indent + 1, package)


def _hands_on(call: Call, package: str) -> bool:
    """Whether nearly all its time is one other function of its package."""
    most = _HANDED_ON * call.share
    return any(one.share > most and package_of(one.call) == package for one in call.calls[:1])


def _shortened(call: str) -> str:
    """The package, the module and the function, without the folders between."""
    module, _, function = call.partition(":")
    package, *folders = module.split(".")
    inside = f"…{folders[-1]}" if folders else ""
    return f"{package}{inside}:{function.replace('.<locals>', '')}"


def _wrapped(text: str, screen: Screen) -> Iterator[str]:
    yield from textwrap.wrap(
        plain(text), screen.columns - 2, initial_indent="  ", subsequent_indent="    "
    )

"""Calls taken apart, in a terminal: a row a rung, and who calls whom."""

import textwrap
from collections.abc import Iterator, Sequence

from ..measure.anatomy import package_of
from ..printout.absent import not_at_hand
from ..results import failures
from ..terminal import Screen, Text, table_width
from ..why import Anatomy, Call
from .numbers import spell_time

_TITLES = (
    "rung",
    "call µs",
    "fixed µs",
    "image µs",
    "Python calls",
    "deep",
    "waits",
    "page faults",
    "through",
)
#: The columns that make room where a terminal is narrow, the first to go first.
_DISPENSABLE = (
    "page faults",
    "through",
    "waits",
    "image µs",
    "deep",
    "Python calls",
    "fixed µs",
)
_HANDED_ON = 0.85  # of a function's time is another's
_SMALLEST = 0.04  # share of the time that is shown
_Branch = tuple[float, int, str]  # share, indentation, function
_LEGEND = (
    "call: one image, median. image: what one more image in the call adds; fixed: the rest, which "
    "a call costs whatever is in it. Python calls: functions written in Python that a call runs; "
    "deep: frames on each other; through: the packages on the deepest way down. waits: times a "
    "call that a thread gives its core away."
)


def table(anatomies: Sequence[Anatomy], screen: Screen, named: Sequence[str] = ()) -> Iterator[str]:
    """A row for each that ran, the quickest first; then why others did not that should have."""
    ran = sorted((a for a in anatomies if a.status == "ok"), key=lambda a: a.call_us)
    if ran:
        titles = list(_TITLES)
        rows = [[Text(title, "dim") for title in titles], *map(_row, ran)]
        for title in _DISPENSABLE:
            if table_width(rows) <= screen.columns:
                break
            column = titles.index(title)
            titles.pop(column)
            for row in rows:
                row.pop(column)
        right = "".join("l" if title in ("rung", "through") else "r" for title in titles)
        yield from screen.table(rows, right)
        yield ""
        yield from screen.wrap(_LEGEND, hanging="")
    wanted = failures(anatomies, named)
    for anatomy in anatomies:
        if anatomy.name in wanted:
            told = f"{anatomy.name}: {anatomy.status}: {anatomy.reason}"
            yield from screen.wrap(told, "red")
    others = [anatomy.name for anatomy in anatomies if anatomy.status == "unavailable"]
    absent = not_at_hand([name for name in others if name not in wanted])
    if absent:
        yield from screen.wrap(absent)


def closely(anatomy: Anatomy, screen: Screen) -> Iterator[str]:
    """Where one rung's time goes: packages, and the tree of calls."""
    yield ""
    yield screen.paint(anatomy.name, "bold")
    calls = sum(anatomy.python_calls.values())
    parts = ", ".join(f"{package} {n:,}" for package, n in anatomy.python_calls.items())
    yield from _wrapped(f"{calls:,} Python calls: {parts}", screen)
    shares = ", ".join(f"{p} {share:.0%}" for p, share in anatomy.shares.items() if share >= 0.005)
    yield from _wrapped(f"time by package: {shares}", screen)
    for share, indent, call in _branches(anatomy.tree):
        text = f"  {share:4.0%}  {'  ' * indent}{_shortened(call, screen)}"
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


def _shortened(call: str, screen: Screen) -> str:
    """The package, the module and the function, without the folders between."""
    module, _, function = call.partition(":")
    package, *folders = module.split(".")
    inside = f"{screen.choose('…', '..')}{folders[-1]}" if folders else ""
    return f"{package}{inside}:{function.replace('.<locals>', '')}"


def _row(anatomy: Anatomy) -> list[Text]:
    fixed, image = anatomy.fixed_us, anatomy.image_us
    return [
        Text(anatomy.name, "bold"),
        Text(spell_time(anatomy.call_us)),
        Text("-" if fixed is None else spell_time(fixed)),
        Text("-" if image is None else spell_time(image)),
        Text(f"{sum(anatomy.python_calls.values()):,}"),
        Text(f"{anatomy.depth}"),
        Text(f"{anatomy.waits:.1f}"),
        Text(f"{anatomy.page_faults:.1f}"),
        Text(" > ".join(anatomy.tower)),
    ]


def _wrapped(text: str, screen: Screen) -> Iterator[str]:
    yield from textwrap.wrap(
        text, screen.columns - 2, initial_indent="  ", subsequent_indent="    "
    )

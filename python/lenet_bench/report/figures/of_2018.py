"""The two figures of 2018, redone: lines of code and processing time of the layers it compared."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ...backends import Device, find
from ...cost import lines_of_code
from .. import units
from ..markup import Markup
from ..measured import Entry, Measured, Series
from .figure import Figure
from .rows import series_legend
from .svg import bar, drawing, fit, label, line, text_width, tipped

KEY = "of-2018"

#: From the bottom up; oneDNN is on a CPU what cuDNN is on a GPU.
_LAYERS = ("cudnn", "onednn", "tensorflow", "keras")
_DEVICES: tuple[Device, ...] = ("cpu", "gpu")
_NOT_MEASURED = "not measured"

_NARROW = 500.0
_BETWEEN = 44.0  # the two panels
_FIRST = 0.38  # the first panel's share of the width: its bars have no second line
_THICKNESS = 14.0
_LANE, _NOTE, _ROW = 19.0, 14.0, 7.0  # heights: a bar, what is said below it, between two rows
_HEAD = 30.0


@dataclass(frozen=True)
class Bar:
    """A bar, or what is said where there is none."""

    layer: str
    device: str  # where it was measured; lines are the same everywhere
    value: float | None
    told: str
    note: str = ""
    series: int = 0


def of_2018(measured: Measured) -> Figure | None:
    """Two panels, where at least two of those layers were timed."""
    timed = {entry.exhibit for entry in measured.entries if entry.summary.p50_us}
    if len(timed.intersection(_LAYERS)) < 2:
        return None
    code = [_code(layer) for layer in _LAYERS]
    times = [one for layer in _LAYERS for one in _times(layer, measured)]

    def draw(width: float) -> Markup:
        return _draw(code, times, measured.series, width)

    return Figure(
        key=KEY,
        title="The two figures of 2018, redone",
        caption=(
            "What was compared then: the library of primitives, TensorFlow on it, Keras on "
            "TensorFlow. On a GPU the library is cuDNN, on a CPU oneDNN. A layer's bar is the "
            f"fastest way to call it.{_missing(measured)} Every other layer stands in the figures "
            "below."
        ),
        says=". ".join(_sentence(one) for one in (*code, *times)) + ".",
        draw=draw,
        columns=("rung", "on", "series", "lines of code", "p50", "called by"),
        rows=tuple(
            (
                one.layer,
                one.device.upper(),
                measured.series[one.series].label or measured.series[one.series].run.label,
                units.count(lines_of_code(one.layer)),
                one.told,
                one.note or units.NONE,
            )
            for one in times
        ),
    )


def _code(layer: str) -> Bar:
    count = lines_of_code(layer)
    return Bar(layer, "", count, units.count(count))


def _times(layer: str, measured: Measured) -> Iterator[Bar]:
    """A bar a series on each device that the layer runs on; where there is none, a word."""
    entries = [e for e in measured.entries if e.exhibit == layer and e.summary.p50_us]
    for device in _DEVICES:
        here = [entry for entry in entries if entry.series.device == device]
        for number in sorted({entry.series.number for entry in here}):
            yield _time([entry for entry in here if entry.series.number == number])
        if not here and find(layer)[0].on(device):
            yield Bar(layer, device, None, _NOT_MEASURED)


def _time(ways: Sequence[Entry]) -> Bar:
    """The fastest way to call a layer, with a word on its usual one."""
    fastest, layer = ways[0], ways[0].exhibit
    usual = next((entry for entry in ways if entry.name == layer), fastest)
    note = ""
    if fastest is not usual:
        way = fastest.name.partition(":")[2]
        note = f"{way}; plain {layer} {units.time(usual.summary.p50_us)}"
    told = units.time(fastest.summary.p50_us)
    series = fastest.series
    return Bar(layer, series.device, fastest.summary.p50_us, told, note, series.number)


def _missing(measured: Measured) -> str:
    """A sentence where one of the devices was not there."""
    devices = {series.device for series in measured.series}
    missing = [device.upper() for device in _DEVICES if device not in devices]
    return f" Nothing was measured on a {missing[0]} here." if missing else ""


def _sentence(one: Bar) -> str:
    where = f" on the {one.device.upper()}" if one.device else ""
    note = f" ({one.note})" if one.note else ""
    return f"{one.layer}{where}: {one.told}{note if one.device else ' lines of code'}"


def _draw(
    code: Sequence[Bar], times: Sequence[Bar], series: Sequence[Series], width: float
) -> Markup:
    parts: list[Markup] = []
    top = 0.0
    if len(series) > 1:
        legend, top = series_legend(series, width, 0)
        parts += legend
    first = width if width < _NARROW else width * _FIRST
    drawn, bottom = _panel("Lines of code", code, 0, first, top)
    parts += drawn
    if width < _NARROW:
        left, top = 0.0, bottom + 20
    else:
        left = first + _BETWEEN
    drawn, below = _panel("Processing time of one image", times, left, width - left, top)
    parts += drawn
    return drawing(width, max(bottom, below) + 4, parts)


def _panel(
    title: str, bars: Sequence[Bar], left: float, width: float, top: float
) -> tuple[list[Markup], float]:
    """One of the two, and where it ends."""
    names = max(text_width(one.layer) for one in bars) + 12
    devices = max(text_width(one.device.upper()) for one in bars)
    begin = left + names + devices + (8 if devices else 0)
    values = max(text_width(one.told) for one in bars if one.value is not None) + 8
    longest = max(one.value or 0 for one in bars)
    parts = [label(left, top + 8, title, "strong")]
    y, layer = top + _HEAD - _ROW, ""
    for one in bars:
        if one.layer != layer:
            layer, y = one.layer, y + _ROW
            parts.append(label(left + names - 12, y + _LANE / 2, layer, "end"))
        middle = y + _LANE / 2
        if devices:
            parts.append(label(begin - 7, middle, one.device.upper(), "end soft small"))
        parts += _bar(one, begin, left + width - begin - values, longest, middle)
        y += _LANE
        for note in _lines(one.note, left + width - begin - 6):
            parts.append(label(begin + 6, y + _NOTE / 2 - 3, note, "soft small"))
            y += _NOTE
    parts.append(line(begin, top + _HEAD - 4, begin, y + 2, "zero"))
    return parts, y + 4


def _lines(note: str, room: float) -> list[str]:
    """The note in one line, or where that is too long a line for each of its parts."""
    parts = [note] if text_width(note) <= room else note.split("; ")
    return [fit(part, room) for part in parts if part]


def _bar(one: Bar, begin: float, room: float, longest: float, middle: float) -> Iterator[Markup]:
    if one.value is None:
        yield label(begin + 6, middle, one.told, "soft")
        return
    long = max(1.0, room * one.value / longest)
    style = f"series-{one.series}"
    yield tipped(_sentence(one), bar(begin, middle - _THICKNESS / 2, long, _THICKNESS, style))
    yield label(begin + long + 6, middle, one.told)

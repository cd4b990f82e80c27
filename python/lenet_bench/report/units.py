"""How figures are spelled in the page and its pictures: three digits and a unit, else a dash."""

from __future__ import annotations

NONE = "-"


def time(us: float | None) -> str:
    """18.3 µs, 41.9 ms, 1.80 s."""
    if us is None:
        return NONE
    for unit in ("µs", "ms"):
        if us < 999.5:
            return f"{digits(us)} {unit}"
        us /= 1000
    return f"{digits(us)} s"


def seconds(s: float | None) -> str:
    """0.10 s."""
    return NONE if s is None else f"{s:.2f} s"


def ratio(value: float | None) -> str:
    """1.05, 28.6, 2,469."""
    if value is None:
        return NONE
    return f"{value:.2f}" if value < 10 else digits(value)


def mebibytes(value: float | None) -> str:
    """39 MiB."""
    return NONE if value is None else f"{value:,.0f} MiB" if value >= 10 else f"{value:.1f} MiB"


def count(value: float | None) -> str:
    """1,234."""
    return NONE if value is None else f"{value:,.0f}"


def rate(images_per_s: float | None) -> str:
    """54,600/s."""
    return NONE if images_per_s is None else f"{digits(images_per_s)}/s"


def share(value: float | None) -> str:
    """2 %."""
    return NONE if value is None else f"{100 * value:.3g} %"


def digits(value: float) -> str:
    """Three of them, all where there are more before the point."""
    if not value:
        return "0"
    places = max(0, 2 - len(str(int(abs(value)))) + 1) if abs(value) >= 1 else 3
    return f"{value:,.{places}f}" if abs(value) >= 0.001 else f"{value:.1g}"


def round_time(us: float) -> str:
    """10 µs: a time that is round, as on an axis."""
    return _without_zeros(time(us)) if us else "0"


def round_ratio(value: float) -> str:
    """10, 0.5."""
    return _without_zeros(ratio(value))


def round_rate(images_per_s: float) -> str:
    """10,000/s."""
    return _without_zeros(rate(images_per_s))


def _without_zeros(told: str) -> str:
    number, space, unit = told.partition(" ")
    number, slash, per = number.partition("/")
    return (
        (number.rstrip("0").rstrip(".") if "." in number else number) + slash + per + space + unit
    )

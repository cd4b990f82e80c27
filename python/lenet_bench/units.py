"""How figures are spelled everywhere: three digits and a unit, and a dash for a missing one."""

from collections.abc import Sequence
from math import floor, log10

NONE = "-"


def time(us: float | None) -> str:
    """67.0 ns, 18.3 µs, 41.9 ms, 1.80 s."""
    if us is None:
        return NONE
    if 0 < abs(us) < 0.9995:
        return f"{digits(us * 1000)} ns"
    for unit in ("µs", "ms"):
        if abs(us) < 999.5:
            return f"{digits(us)} {unit}"
        us /= 1000
    return f"{digits(us)} s"


def seconds(s: float) -> str:
    """0.10 s, 7.11 s: seconds with two decimals, for columns of them."""
    return f"{s:.2f} s"


def span(s: float) -> str:
    """A time that was given as an option: 20 ms, 1.5 s."""
    return f"{s:g} s" if s >= 1 else f"{s * 1000:g} ms"


def ratio(value: float | None) -> str:
    """0.0123, 1.05, 28.6, 2,469."""
    if value is None:
        return NONE
    return f"{value:.2f}" if 0.1 <= value < 10 else digits(value)


def about(value: float) -> str:
    """A ratio in short: 1.04, 29, 1,700."""
    return ratio(value) if value < 10 else f"{float(f'{value:.2g}'):,g}"


def interval(low: float | None, high: float | None) -> str:
    """From a ratio to a ratio: 1.04-1.06; one where both are spelled the same.

    No end is spelled 1.00 where 1 is not between them.
    """
    if low is None or high is None:
        return NONE
    apart = not low <= 1 <= high
    ends = (f"{one:.3f}" if apart and ratio(one) == "1.00" else ratio(one) for one in (low, high))
    return "-".join(dict.fromkeys(ends))


def times(low_us: float | None, high_us: float | None) -> str:
    """From a time to a time: 18.3 µs to 19.0 µs."""
    return NONE if low_us is None or high_us is None else f"{time(low_us)} to {time(high_us)}"


def mebibytes(value: float | None) -> str:
    """39 MiB, 1.4 GiB."""
    if value is None:
        return NONE
    if value >= 1000:
        return f"{value / 1024:.1f} GiB"
    return f"{value:.0f} MiB" if value >= 10 else f"{value:.1f} MiB"


def count(value: float | None) -> str:
    """1,234."""
    return NONE if value is None else f"{value:,.0f}"


def rate(images_per_s: float) -> str:
    """54,600/s."""
    return f"{digits(images_per_s)}/s"


def percent(*shares: float | None, places: int | None = None) -> str:
    """2 %, 12.3 %; of two shares, 94 % to 105 %. `places` fixes the decimals."""
    form = ".3g" if places is None else f".{places}f"
    known = [f"{100 * share:{form}} %" for share in shares if share is not None]
    return " to ".join(known) if len(known) == len(shares) else NONE


def named_cores(numbers: Sequence[int]) -> str:
    """Spelled core 1, or cores 0, 1; nothing of none."""
    plural = "s" if len(numbers) > 1 else ""
    return f"core{plural} {', '.join(map(str, numbers))}" if numbers else ""


def counted(number: int, what: str) -> str:
    """1 round, 12 rounds, 10,000 epochs; 1 batch, 2 batches."""
    plural = "es" if what.endswith("tch") else "s"
    return f"{number:,} {what}{plural if number != 1 else ''}"


def digits(value: float) -> str:
    """Three significant digits, or all digits before the point: 0.0123, 18.3, 2,469."""
    if abs(value) < 0.001:
        return f"{value:.1g}"
    places = 2 - floor(log10(abs(float(f"{value:.3g}"))))
    return f"{value:,.{max(0, places)}f}"

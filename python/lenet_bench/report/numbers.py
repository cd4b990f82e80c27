"""How figures are spelled in text: in tables whose heads have the unit, and in sentences."""


def spell_time(us: float | None) -> str:
    """Three digits or more: nobody reads a tenth of a microsecond beside a millisecond."""
    if us is None:
        return "-"
    return f"{us:.2f}" if abs(us) < 10 else f"{us:.1f}" if abs(us) < 1000 else f"{us:,.0f}"


def spell_ratio(ratio: float | None) -> str:
    """Hundredths, as far as they mean something."""
    if ratio is None:
        return "-"
    return f"{ratio:.2f}" if ratio < 100 else f"{ratio:,.0f}"


def spell_interval(low: float | None, high: float | None) -> str:
    """From a ratio to a ratio."""
    if low is None or high is None:
        return "-"
    return f"{spell_ratio(low)}-{spell_ratio(high)}"


def spell_span(seconds: float) -> str:
    """A time that somebody chose: 20 ms, 1.5 s."""
    return f"{seconds:g} s" if seconds >= 1 else f"{seconds * 1000:g} ms"


def spell_size(mib: float) -> str:
    """What something takes of memory or disk."""
    return f"{mib / 1024:.1f} GiB" if mib >= 1000 else f"{mib:.{0 if mib >= 10 else 1}f} MiB"


def spell_share(share: float) -> str:
    """Per cent, without zeros that say nothing: 5%, 2.5%."""
    return f"{share * 100:g}%"

"""Numbers and times as people write them."""

from __future__ import annotations


def spoken(value: float, digits: int = 3) -> str:
    """Return a number of at least 0 as people write it, with so many digits that count.

    >>> spoken(149_790.4), spoken(2_596_801), spoken(12.0), spoken(0.00123456, 2), spoken(1e15)
    ('150,000', '2.6 million', '12', '0.0012', '1e+15')
    """
    value = float(f"{value:.{digits}g}")
    if value >= 1e12 or 0 < value < 1e-4:
        return f"{value:g}"
    if value >= 1e6:
        return f"{value / 1e9:g} billion" if value >= 1e9 else f"{value / 1e6:g} million"
    return f"{value:,.0f}" if value >= 1_000 else f"{value:g}"


def spoken_s(seconds: float) -> str:
    """Return a time of at least 0 in a unit that suits it.

    >>> spoken_s(0.25), spoken_s(90), spoken_s(600), spoken_s(86_400), spoken_s(0.000_02)
    ('0.25 s', '90 s', '10 min', '1 day', '20 us')
    """
    for unit_s, unit in ((86_400, "day"), (3_600, "h"), (60, "min")):
        count = seconds / unit_s
        if count.is_integer() and count > (0 if unit == "day" else 1):
            return f"{count:g} {unit}s" if unit == "day" and count > 1 else f"{count:g} {unit}"
    for short_s, unit in ((1e-6, "us"), (1e-3, "ms")):
        if 0 < seconds < 100 * short_s:
            return f"{seconds / short_s:.4g} {unit}"
    return f"{seconds:.4g} s"


def about_s(seconds: float) -> str:
    """Return a time of at least 0 in the unit that suits its size, with three digits that count.

    >>> about_s(59.98765), about_s(480), about_s(43_187.2), about_s(2_300_000)
    ('60 s', '8 min', '12 h', '26.6 days')
    """
    for unit_s, unit, least in ((86_400, "days", 2), (3_600, "h", 2), (60, "min", 2)):
        if seconds >= least * unit_s:
            return f"{spoken(seconds / unit_s)} {unit}"
    return f"{spoken(seconds)} s"

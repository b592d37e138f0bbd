"""Numbers in words: rounded for people; where the exact value matters it stands beside, or is shown on hover."""

from collections.abc import Mapping

UNKNOWN = "unknown"


def count(value: float) -> str:
    """Return a count for people: 0, 87, 3,400, 12,300, 1.23 million."""
    size = abs(value)
    if size < 10_000:
        return f"{value:,.0f}"
    for limit, unit_size, unit in ((999_500, 1, ""), (999.5e6, 1e6, " million"), (float("inf"), 1e9, " billion")):
        if size < limit:
            rounded = float(f"{value / unit_size:.3g}")
            return f"{rounded:,.0f}" if unit_size == 1 else f"{rounded:g}{unit}"
    return f"{value:.3g}"


def amount(value: float) -> str:
    """Return for people what need not be whole: 0.0123, 4.57, 132, 12,300."""
    return count(value) if value >= 100 or value == int(value) else f"{value:.3g}"


def counted(value: float, one: str, many: str | None = None) -> str:
    """Return a count with its noun: 1 record, 3,400 records."""
    return f"{count(value)} {one if value == 1 else many or one + 's'}"


def exact(figures: Mapping[str, object]) -> str:
    """Return figures as they are, each with its name, for who points at a rounded one; those not known are left out."""
    return ", ".join(f"{name} {value!r}" for name, value in figures.items() if value is not None)


def size(count_bytes: float) -> str:
    """Return a number of bytes for people: 512 B, 3.1 kB, 2.4 MB."""
    for limit, unit_bytes, unit in ((999.5, 1.0, "B"), (999.5e3, 1e3, "kB"), (999.5e6, 1e6, "MB")):
        if count_bytes < limit:
            return f"{count_bytes / unit_bytes:.3g} {unit}"
    return f"{count_bytes / 1e9:.3g} GB"

"""The slow obvious twin of coincide.queries.explaining: every two sensors looked at, one after the other."""

from collections.abc import Iterator, Sequence

from coincide import Window
from coincide.queries.explaining import KnownSensor
from tests.reference.peaks import greatest_probability


def allowed_pairs(
    a: Sequence[KnownSensor], b: Sequence[KnownSensor], rule: str
) -> Iterator[tuple[KnownSensor, KnownSensor]]:
    """Every ordered pair of sensors of one area that may play two roles."""
    for one in a:
        for other in b:
            is_same = one.sensor is not None and one.sensor == other.sensor
            if one.area == other.area and (rule == "any" or is_same == (rule == "same")):
                yield one, other


def figures(
    a: Sequence[KnownSensor], b: Sequence[KnownSensor], rule: str, window: Window, threshold: float
) -> tuple[int, int, float | None, float | None]:
    """How many pairs there are, how many reach the threshold, and the least and the greatest that they attain."""
    most = [
        float(greatest_probability(one.template, other.template, window)) for one, other in allowed_pairs(a, b, rule)
    ]
    reaching = sum(each >= threshold for each in most)
    return len(most), reaching, min(most, default=None), max(most, default=None)

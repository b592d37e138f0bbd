"""What match records say beyond who matched, computed anew from their members alone."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from coincide import Histogram, Window
from tests.reference.posterior import ExactPosterior

HALF_A_US = Fraction(1, 2 * 10**6)


def assert_occurred(match: Mapping[str, Any], templates: Mapping[str, Histogram], window: Window) -> None:
    """Check `occurred`; templates by id, window of the second role minus the first."""
    members, occurred = match["members"], match["occurred"]
    start_us = members[0]["detected_at_us"]
    exact = ExactPosterior(
        [templates[member["template"]] for member in members],
        [member["detected_at_us"] - start_us for member in members],
        window,
    )
    assert abs(exact.mass - Fraction(match["probability"])) < Fraction(2, 10**12)
    assert abs(occurred["mean_us"] - start_us - exact.mean * 10**6) <= Fraction(1, 2) + Fraction(1, 10**3)
    assert abs(occurred["std_s"] - math.sqrt(exact.variance)) < 1e-7
    for name, p in (("p05_us", Fraction(5, 100)), ("p95_us", Fraction(95, 100))):
        at, slack = Fraction(occurred[name] - start_us, 10**6), HALF_A_US * Fraction(101, 100)
        assert exact.up_to(at - slack) <= (p + Fraction(1, 10**9)) * exact.mass
        assert exact.up_to(at + slack) >= (p - Fraction(1, 10**9)) * exact.mass

"""Parameters of a family of distributions on a grid of few digits, so that near-equal events share a template."""

from __future__ import annotations

from decimal import ROUND_CEILING, Decimal

from coincide.errors import HistogramError
from coincide.histogram_checks import is_number


def rounded_up(x: float, digits: int) -> float:
    """Return the least number of so many significant decimal digits that is at least x.

    A standard deviation of 3 digits, say, is at most 1 % greater than it was, never smaller, and has 900 values in each
    decade: templates made from it stay few, and what is computed for their pairs is used again. Everything after
    that is exact for the rounded value.

    Parameters
    ----------
    x : float
        Above 0.
    digits : int
        From 1 to 15.

    Raises
    ------
    HistogramError
        `x` is not a finite number above 0, or `digits` is not allowed.

    Examples
    --------
    >>> rounded_up(1.2301, 3), rounded_up(0.998, 2), rounded_up(250, 3)
    (1.24, 1.0, 250.0)
    """
    if isinstance(digits, bool) or not isinstance(digits, int) or not 1 <= digits <= 15:
        raise HistogramError("digits", digits, "a whole number from 1 to 15")
    if not is_number(x) or not x > 0:
        raise HistogramError("x", x, "a finite number above 0")
    exact = Decimal(repr(float(x)))  # as it is written: 0.1 has one digit
    step = Decimal(1).scaleb(exact.adjusted() - digits + 1)
    return float((exact / step).to_integral_value(ROUND_CEILING) * step)

"""Condition: which values of a reading interest."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from coincide.errors import QueryError
from coincide.json_fields import as_float, given_fields, is_number

BOUNDS = ("above", "at_least", "below", "at_most")


@dataclass(frozen=True)
class Condition:
    """Bounds on a number.

    It decides after readings have their intervals: a reading that does not interest still ends the one before it.

    Parameters
    ----------
    above, at_least, below, at_most : float, optional
        At most one lower and one upper bound, and one at least.

    Raises
    ------
    QueryError
        Names the bound and what is allowed.

    Examples
    --------
    >>> hot = Condition(above=100)
    >>> hot.holds(100.0), hot.holds(100.5)
    (False, True)
    """

    above: float | None = None
    at_least: float | None = None
    below: float | None = None
    at_most: float | None = None

    def __post_init__(self) -> None:
        given = self.to_json()
        if not given:
            raise QueryError("where", f"is empty: give one or two of {', '.join(BOUNDS)}")
        for name, bound in given.items():
            if not is_number(bound):
                raise QueryError(f"where.{name}", f"is {bound!r}: a finite number")
        for one, other in (("above", "at_least"), ("below", "at_most")):
            if one in given and other in given:
                raise QueryError(f"where.{other}", f"and {one} are both given: one of them is enough")
        if self._range[0] > self._range[1]:
            raise QueryError("where", "holds of no number: the lower bound is not below the upper one")

    def holds(self, value: Any) -> Any:
        """Whether the value is within the bounds: a number, or an array of numbers, row by row."""
        least, greatest = self._range
        return (least <= value) & (value <= greatest)

    @cached_property
    def _range(self) -> tuple[float, float]:
        """Least and greatest number within the bounds: a float lies above another if it is the next one or more."""
        least, greatest = self.at_least, self.at_most
        if self.above is not None:
            least = math.nextafter(self.above, math.inf)
        if self.below is not None:
            greatest = math.nextafter(self.below, -math.inf)
        return -math.inf if least is None else least, math.inf if greatest is None else greatest

    def to_json(self) -> dict[str, float]:
        """Return the bounds that are given."""
        return {bound.name: value for bound in fields(self) if (value := getattr(self, bound.name)) is not None}

    @classmethod
    def from_json(cls, obj: object) -> Condition:
        """Read the bounds; unknown ones are refused.

        Raises
        ------
        QueryError
        """
        return cls(**{name: as_float(bound) for name, bound in given_fields("where", obj, BOUNDS).items()})

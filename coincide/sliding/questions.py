"""What a query asks of each of its windows, and which values of a reading interest it."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any

from coincide.errors import QueryError
from coincide.json_fields import as_float, given_fields, is_number
from coincide.sliding.fields import duration_us, seconds_of


@dataclass(frozen=True)
class Longest:
    """The longest run of each group in the window, the first of equally long ones (the paper's Example 2)."""

    def to_json(self) -> dict[str, object]:
        """Return the field of the query that says so."""
        return {"longest": True}


@dataclass(frozen=True)
class Lasting:
    """Every run that lasts at least so long inside the window (Example 4)."""

    lasting_us: int

    def to_json(self) -> dict[str, object]:
        """Return the field of the query that says so."""
        return {"lasting_s": seconds_of(self.lasting_us)}


@dataclass(frozen=True)
class Similar:
    """Runs of two groups, their values at most `within` apart, that hold together so long in the window (Example 1)."""

    within: float
    lasting_us: int

    def to_json(self) -> dict[str, object]:
        """Return the field of the query that says so."""
        return {"join": {"within": self.within, "lasting_s": seconds_of(self.lasting_us)}}


Asked = Longest | Lasting | Similar

ASKED = ("longest", "lasting_s", "join")


def asked_from_json(fields: dict[str, object]) -> Asked:
    """Read which of the three a query asks for, from its fields.

    Raises
    ------
    QueryError
        None or several are given, or one cannot be used.

    Examples
    --------
    >>> asked_from_json({"lasting_s": 7200})
    Lasting(lasting_us=7200000000)
    """
    given = [name for name in ASKED if name in fields]
    if len(given) != 1:
        raise QueryError((given or ASKED)[0], f"give exactly one of {', '.join(ASKED)}")
    if "lasting_s" in fields:
        return Lasting(duration_us("lasting_s", fields["lasting_s"]))
    if "join" in fields:
        return _similar(fields["join"])
    if fields["longest"] is not True:
        raise QueryError("longest", f"is {fields['longest']!r}: true, or leave it out")
    return Longest()


def _similar(obj: object) -> Similar:
    join = given_fields("join", obj, ("within", "lasting_s"), ("lasting_s",))
    within = as_float(join.get("within", 0.0))
    if not is_number(within) or within < 0:
        raise QueryError("join.within", f"is {within!r}: a finite number, at least 0")
    return Similar(within, duration_us("join.lasting_s", join["lasting_s"]))


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

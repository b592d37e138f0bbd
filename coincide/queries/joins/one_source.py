"""OneSource: what a query says of the source that has to explain each of its matches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from coincide.errors import CoincideError, QueryError
from coincide.json_fields import as_float, given_fields, inside, refuse_unless_probability
from coincide.queries.joins.edges import travel_form, travel_times_of
from coincide.sources import SourceRule, SourceTest

FIELD = "source"
TRAVEL, HEIGHT = ("speed_m_s", "travel_times"), ("height_m", "depth_m")
FIELDS = (*TRAVEL, "slack_s", *HEIGHT, "reach_m", "threshold")


@dataclass(frozen=True)
class OneSource:
    """A match counts if one place explains its members: P of consistency with it reaches the threshold.

    So it is of sets of as many members as determine a place. Of fewer the windows between them alone decide.

    Parameters
    ----------
    rule : SourceRule
        With a `reach_m`.
    threshold : float
        Above 0, to 1.

    Raises
    ------
    QueryError
        Names the field and what is allowed.

    Examples
    --------
    >>> shot = OneSource.from_json({"speed_m_s": 343, "slack_s": 0.05, "reach_m": 800, "threshold": 0.3})
    >>> shot.rule.dimensions, shot.to_json()["height_m"]
    (2, 0.0)
    >>> quake = OneSource.from_json({"speed_m_s": 6000, "slack_s": 0.5, "depth_m": [0, 15000], "reach_m": 60000,
    ...     "threshold": 0.3})
    >>> quake.rule.height_m, quake.rule.least_members
    ((-15000.0, 0.0), 4)
    """

    rule: SourceRule
    threshold: float

    def __post_init__(self) -> None:
        refuse_unless_probability(f"{FIELD}.threshold", self.threshold)
        if self.rule.reach_m is None:
            raise QueryError(f"{FIELD}.reach_m", "is missing: how far from a sensor a source may be, in metres")

    @property
    def test(self) -> SourceTest:
        """What asks it of sets of reports."""
        return SourceTest(self.rule, self.threshold)

    def refuse_unless_fits(self, roles: int) -> None:
        """Refuse it for a query whose matches never have enough members."""
        needed = self.rule.least_members
        if roles < needed:
            where = "in the plane" if self.rule.dimensions == 2 else "with a depth"
            raise QueryError(FIELD, f"is given for {roles} roles: a place {where} is determined by {needed} or more")

    @classmethod
    def from_json(cls, obj: object) -> OneSource:
        """Read it; a QueryError names the field and what is allowed."""
        fields = given_fields(FIELD, obj, FIELDS, ("slack_s", "reach_m", "threshold"))
        travel = _one_of(fields, TRAVEL, needed=True)
        _one_of(fields, HEIGHT, needed=False)
        try:
            times = travel_times_of(fields[travel]) if travel == "travel_times" else as_float(fields[travel])
            rule = SourceRule(
                times, as_float(fields["slack_s"]), _height_m(fields), reach_m=as_float(fields["reach_m"])
            )
        except QueryError as error:
            raise QueryError(inside(FIELD, error.field), error.message) from None
        except CoincideError as error:
            field = "depth_m" if error.field == "height_m" and "depth_m" in fields else error.field
            raise QueryError(inside(FIELD, field), error.message) from None
        return cls(rule, as_float(fields["threshold"]))

    def to_json(self) -> dict[str, object]:
        """Return the JSON object, every field written out."""
        low, high = self.rule.height_m
        height: object = low if low == high else [low, high]
        return {
            **travel_form(self.rule.travel),
            "slack_s": self.rule.slack_s,
            "height_m": height,
            "reach_m": self.rule.reach_m,
            "threshold": self.threshold,
        }


def _one_of(fields: Mapping[str, Any], names: tuple[str, str], *, needed: bool) -> str:
    given = [name for name in names if name in fields]
    if len(given) > 1 or (needed and not given):
        raise QueryError(inside(FIELD, names[0]), f"give either {names[0]} or {names[1]}")
    return given[0] if given else ""


def _height_m(fields: Mapping[str, Any]) -> Any:
    if "depth_m" not in fields:
        return _heights(fields.get("height_m", 0.0))
    depths = _heights(fields["depth_m"])
    try:
        return tuple(0.0 - each for each in reversed(depths)) if isinstance(depths, tuple) else 0.0 - depths
    except TypeError:
        return depths  # which is refused


def _heights(given: Any) -> Any:
    return tuple(as_float(each) for each in given) if isinstance(given, list) else as_float(given)

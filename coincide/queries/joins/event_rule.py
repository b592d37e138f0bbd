"""EventRule: what a query says of the events that its matches may be of, so that their evidence can be told."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Literal, get_args

from coincide.arrays.numbers import is_number
from coincide.errors import QueryError
from coincide.evidence.parts import MOST_MEMBERS
from coincide.json_fields import as_float, given_fields, refuse_unless_probability
from coincide.queries.joins.edges import Within

Arrival = Literal["at_once", "within_window"]
Rates = Literal["declared", "learnt"]

DAY_S = 86_400.0
LEAST_PER_DAY = 1e-9
MOST_PER_DAY = 1e8
_NUMBERS = "per_day", "heard_by", "unpaired_per_day"


@dataclass(frozen=True)
class EventRule:
    """How often events come, how well each sensor hears them, and whether all hear one at once.

    Parameters
    ----------
    per_day : float
        Events a day in one area, whoever hears them: 1e-9 to 1e8.
    heard_by : float
        The probability with which a sensor hears an event, above 0 and at most 1.
    arrives : {"at_once", "within_window"}
        Whether an event comes to all sensors at one moment, or at moments that may be as far apart as the windows say.
    unpaired_per_day : float, optional
        Unpaired reports a day of each sensor: 1e-9 to 1e8. By default they are counted.
    rates : {"declared", "learnt"}
        Whether `per_day` and `heard_by` hold, or are what one begins with and learns from the matches.

    Raises
    ------
    QueryError
        Names the field and what is allowed.

    Examples
    --------
    >>> EventRule.from_json({"per_day": 2, "heard_by": 0.8})
    EventRule(per_day=2.0, heard_by=0.8, arrives='at_once', unpaired_per_day=None, rates='declared')
    """

    per_day: float
    heard_by: float
    arrives: Arrival = "at_once"
    unpaired_per_day: float | None = None
    rates: Rates = "declared"

    def __post_init__(self) -> None:
        _refuse_unless_per_day("per_day", self.per_day, "events")
        if self.unpaired_per_day is not None:
            _refuse_unless_per_day("unpaired_per_day", self.unpaired_per_day, "reports")
        refuse_unless_probability("event.heard_by", self.heard_by)
        for field, allowed in (("arrives", get_args(Arrival)), ("rates", get_args(Rates))):
            if getattr(self, field) not in allowed:
                raise QueryError(f"event.{field}", f"is {getattr(self, field)!r}: one of {', '.join(allowed)}")

    @property
    def events_hz(self) -> float:
        """Events per second."""
        return self.per_day / DAY_S

    @property
    def unpaired_hz(self) -> float | None:
        """Unpaired reports of each sensor per second; None where they are counted."""
        return None if self.unpaired_per_day is None else self.unpaired_per_day / DAY_S

    def refuse_unless_fits(
        self, roles: Sequence[str], within: Collection[Within], sensors: str, equal: str | None, *, is_filtered: bool
    ) -> None:
        """Refuse it for a query whose evidence it does not tell."""
        if sensors != "different":
            raise QueryError("event", f"is given, and sensors is {sensors!r}: no sensor hears one event twice")
        if len(roles) > MOST_MEMBERS:
            raise QueryError("event", f"is given for {len(roles)} roles: at most {MOST_MEMBERS}")
        if any(edge.by_distance is not None for edge in within):
            raise QueryError("event", "is given beside a window by distance: evidence is told for fixed windows alone")
        if equal is not None or is_filtered:
            beside = "equal" if equal is not None else "roles that only some detections of a stream may play"
            raise QueryError("event", f"is given beside {beside}: how often sensors report is known of whole streams")
        if self.arrives == "within_window":
            _refuse_unless_windows(roles, within)

    @classmethod
    def from_json(cls, obj: object) -> EventRule:
        """Read the rule; a QueryError names the field and what is allowed."""
        fields = given_fields("event", obj, (*_NUMBERS, "arrives", "rates"), ("per_day", "heard_by"))
        rates = {name: as_float(fields.pop(name)) for name in _NUMBERS if name in fields}
        return cls(**rates, **fields)

    def to_json(self) -> dict[str, object]:
        """Return the JSON object, every field written out but a rate that is counted."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def _refuse_unless_per_day(name: str, value: float, of: str) -> None:
    if not is_number(value) or not LEAST_PER_DAY <= value <= MOST_PER_DAY:
        raise QueryError(f"event.{name}", f"is {value!r}: {LEAST_PER_DAY:g} to {MOST_PER_DAY:g} {of} a day")


def _refuse_unless_windows(roles: Sequence[str], within: Collection[Within]) -> None:
    """Refuse a graph in which two members, left alone, would be as far apart as they like, or at one moment."""
    tied = {frozenset((edge.first, edge.second)) for edge in within}
    for pair in combinations(roles, 2):
        if frozenset(pair) not in tied:
            raise QueryError("event.arrives", f"is 'within_window', and no edge is between {pair[0]} and {pair[1]}")
    for number, edge in enumerate(within):
        if edge.window.is_open or not edge.window.lo_us < edge.window.hi_us:
            raise QueryError(
                "event.arrives",
                f"is 'within_window', and within[{number}] has no window longer than 0 s: say 'at_once'",
            )

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

DAY_S = 86_400.0
LEAST_PER_DAY = 1e-9
MOST_PER_DAY = 1e8


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

    Raises
    ------
    QueryError
        Names the field and what is allowed.

    Examples
    --------
    >>> EventRule.from_json({"per_day": 2, "heard_by": 0.8})
    EventRule(per_day=2.0, heard_by=0.8, arrives='at_once')
    """

    per_day: float
    heard_by: float
    arrives: Arrival = "at_once"

    def __post_init__(self) -> None:
        if not is_number(self.per_day) or not LEAST_PER_DAY <= self.per_day <= MOST_PER_DAY:
            raise QueryError(
                "event.per_day", f"is {self.per_day!r}: {LEAST_PER_DAY:g} to {MOST_PER_DAY:g} events a day"
            )
        refuse_unless_probability("event.heard_by", self.heard_by)
        if self.arrives not in get_args(Arrival):
            raise QueryError("event.arrives", f"is {self.arrives!r}: one of {', '.join(get_args(Arrival))}")

    @property
    def events_hz(self) -> float:
        """Events per second."""
        return self.per_day / DAY_S

    def refuse_unless_fits(
        self, roles: Sequence[str], within: Collection[Within], sensors: str, equal: str | None, *, is_filtered: bool
    ) -> None:
        """Refuse it for a query whose evidence it does not tell."""
        if sensors != "different":
            raise QueryError("event", f"is given, and sensors is {sensors!r}: no sensor hears one event twice")
        if len(roles) > MOST_MEMBERS:
            raise QueryError("event", f"is given for {len(roles)} roles: at most {MOST_MEMBERS}")
        if equal is not None or is_filtered:
            beside = "equal" if equal is not None else "roles that only some detections of a stream may play"
            raise QueryError("event", f"is given beside {beside}: how often sensors report is known of whole streams")
        if self.arrives == "within_window":
            _refuse_unless_windows(roles, within)

    @classmethod
    def from_json(cls, obj: object) -> EventRule:
        """Read the rule; a QueryError names the field and what is allowed."""
        fields = given_fields("event", obj, ("per_day", "heard_by", "arrives"), ("per_day", "heard_by"))
        rates = {name: as_float(fields.pop(name)) for name in ("per_day", "heard_by")}
        return cls(**rates, **fields)

    def to_json(self) -> dict[str, object]:
        """Return the JSON object, every field written out."""
        return asdict(self)


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

"""Query: what a continuous query is, validated."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from coincide.stream import NAME
from coincide.window import Window
from coincide.within import QueryError, Within, object_fields, refuse_unknown

Sensors = Literal["different", "same", "any"]

ROLE = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
LONGEST_NAME = 100
SENSORS: tuple[Sensors, ...] = ("different", "same", "any")
FIELDS = ("id", "from", "within", "sensors")


@dataclass(frozen=True)
class Query:
    """A continuous query: which streams, how near in time, how sure.

    Parameters
    ----------
    id : str
        1 to 100 letters, digits, ``.``, ``_`` or ``-``, starting with a letter or digit.
    roles : tuple of (role, stream)
        Exactly two, in the order of "from"; both may name the same stream (a self-join).
    within : Within
        The one edge between the two roles.
    sensors : {"different", "same", "any"}
        Which sensors the members of a match come from, compared with each other.

    Raises
    ------
    QueryError
        Names the field and what is allowed.

    Examples
    --------
    >>> query = Query.from_json({"id": "intruder", "from": {"s": "seismic", "a": "acoustic"},
    ...     "within": [{"between": ["s", "a"], "window_s": 2.0, "threshold": 0.6}]})
    >>> query.streams, query.within.window.hi_us, query.sensors
    (('seismic', 'acoustic'), 2000000, 'different')
    >>> Query.from_json(query.to_json()) == query
    True
    """

    id: str
    roles: tuple[tuple[str, str], ...]
    within: Within
    sensors: Sensors = "different"

    def __post_init__(self) -> None:
        _refuse_unless_name("id", self.id)
        _refuse_unless_two_roles(self.roles)
        for end in (self.within.first, self.within.second):
            if end not in dict(self.roles):
                raise QueryError("within[0].between", f"names {end!r}, which is no role of from")
        if self.sensors not in SENSORS:
            raise QueryError("sensors", f"is {self.sensors!r}: one of different, same, any")

    @property
    def streams(self) -> tuple[str, ...]:
        """The stream of each role, in the order of "from"."""
        return tuple(stream for _, stream in self.roles)

    @property
    def is_self_join(self) -> bool:
        """Whether both roles read the same stream."""
        return len(set(self.streams)) == 1

    @property
    def window(self) -> Window:
        """The window of X of the second role of "from" minus X of its first."""
        first_role = self.roles[0][0]
        return self.within.window if self.within.first == first_role else self.within.window.swapped()

    def keeps_activation(self, changed: Query) -> bool:
        """Whether `changed` may match what was processed before it: same roles, streams, window and sensors."""
        return (self.roles, self.window, self.sensors) == (changed.roles, changed.window, changed.sensors)

    @classmethod
    def from_json(cls, obj: object) -> Query:
        """Read a query; unknown fields are refused, as is by name what is not available yet.

        Raises
        ------
        QueryError
            Names the field and what is allowed.
        """
        fields = object_fields("query", obj)
        refuse_unknown(fields, FIELDS)
        for required in ("id", "from", "within"):
            if required not in fields:
                raise QueryError(required, "is missing")
        roles = tuple(object_fields("from", fields["from"]).items())
        return cls(fields["id"], roles, _within(fields["within"]), fields.get("sensors", "different"))

    def to_json(self) -> dict[str, object]:
        """Return the JSON object, every field present."""
        return {
            "id": self.id,
            "from": dict(self.roles),
            "within": [self.within.to_json()],
            "sensors": self.sensors,
        }


def _within(edges: object) -> Within:
    if not isinstance(edges, list):
        raise QueryError("within", f"is {edges!r}: a list of one edge")
    if len(edges) != 1:
        raise QueryError("within", f"has {len(edges)} edges: one for now (more than two roles are not available yet)")
    try:
        return Within.from_json(edges[0])
    except QueryError as error:
        raise QueryError(f"within[0].{error.field}".rstrip("."), error.message) from None


def _refuse_unless_two_roles(roles: tuple[tuple[str, str], ...]) -> None:
    if len(roles) > 2:
        raise QueryError("from", f"has {len(roles)} roles: two for now (more are not available yet)")
    if len(roles) < 2:
        raise QueryError("from", f"has {len(roles)} roles: exactly two")
    for role, stream in roles:
        if len(role) > LONGEST_NAME or not ROLE.fullmatch(role):
            raise QueryError("from", f"has the role {role!r}: letters, digits and '_', starting with a letter")
        _refuse_unless_name(f"from.{role}", stream)


def _refuse_unless_name(field: str, name: object) -> None:
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        raise QueryError(field, f"is {name!r}: 1 to {LONGEST_NAME} letters, digits, '.', '_' or '-'")

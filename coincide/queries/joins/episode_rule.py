"""EpisodeRule: how the matches of a query are coalesced into episodes."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from coincide.arrays.numbers import is_number
from coincide.errors import QueryError
from coincide.json_fields import as_float, given_fields
from coincide.queries.fields.checks import ATTRIBUTES
from coincide.stream import LONGEST_NAME

EpisodeInterval = Literal["occurred", "hull"]

INTERVALS: tuple[EpisodeInterval, ...] = ("occurred", "hull")
LONGEST_GAP_S = 30 * 86_400.0
MOST_LABELS = 8
LABEL = re.compile(r"(?P<role>[A-Za-z][A-Za-z0-9_]*)\.(?:sensor|attributes\.(?P<name>.+))", re.DOTALL)


@dataclass(frozen=True)
class EpisodeRule:
    """Which matches of a query make one episode: those of one group whose intervals are at most a gap apart.

    Parameters
    ----------
    gap_s : float
        From 0 to 30 days: so long nothing may happen inside an episode.
    by : tuple of str
        Labels that tell groups apart, each "ROLE.sensor", "ROLE.attributes.NAME" or the query's own `equal`. An area
        is always a group by itself.
    interval : {"occurred", "hull"}
        When a match was: the central 90 % of when it occurred, or from its earliest to its latest possible instant.

    Raises
    ------
    QueryError
        Names the field and what is allowed.

    Examples
    --------
    >>> EpisodeRule.from_json({"gap_s": 5, "by": ["s.sensor"]}, has_onset=True)
    EpisodeRule(gap_s=5.0, by=('s.sensor',), interval='occurred')
    """

    gap_s: float
    by: tuple[str, ...] = ()
    interval: EpisodeInterval = "occurred"

    def __post_init__(self) -> None:
        if not is_number(self.gap_s) or not 0 <= self.gap_s <= LONGEST_GAP_S:
            raise QueryError("coalesce.gap_s", f"is {self.gap_s!r}: 0 to {LONGEST_GAP_S:.0f} seconds")
        if self.interval not in INTERVALS:
            raise QueryError("coalesce.interval", f"is {self.interval!r}: one of {', '.join(INTERVALS)}")
        if len(self.by) > MOST_LABELS or len(set(self.by)) < len(self.by):
            raise QueryError("coalesce.by", f"is {list(self.by)!r}: at most {MOST_LABELS} labels, all different")

    @property
    def gap_us(self) -> int:
        """The gap in microseconds."""
        return round(self.gap_s * 1e6)

    def refuse_unless_fits(self, roles: Collection[str], equal: str | None, *, has_onset: bool) -> None:
        """Refuse labels of roles that the query does not have, and an instant that its matches do not tell."""
        for label in self.by:
            parts = LABEL.fullmatch(label)
            named = parts is not None and parts["role"] in roles and len(parts["name"] or "") <= LONGEST_NAME
            if label != equal and not named:
                allowed = f"'ROLE.sensor', 'ROLE.{ATTRIBUTES}NAME' or what is equal; roles are {', '.join(roles)}"
                raise QueryError("coalesce.by", f"has {label!r}: {allowed}")
        if self.interval == "occurred" and not has_onset:
            refusal = "is 'occurred', which only cliques of one symmetric window tell: say 'hull'"
            raise QueryError("coalesce.interval", refusal)

    @classmethod
    def from_json(cls, obj: object, *, has_onset: bool) -> EpisodeRule:
        """Read the rule; without an interval it is "hull" where matches do not tell when they occurred."""
        fields = given_fields("coalesce", obj, ("gap_s", "by", "interval"), ("gap_s",))
        by = fields.get("by", [])
        if not isinstance(by, list) or not all(isinstance(label, str) for label in by):
            raise QueryError("coalesce.by", f"is {by!r}: a list of labels")
        interval = fields.get("interval", "occurred" if has_onset else "hull")
        return cls(as_float(fields["gap_s"]), tuple(by), interval)

    def to_json(self) -> dict[str, object]:
        """Return the JSON object, every field written out."""
        return {"gap_s": self.gap_s, "by": list(self.by), "interval": self.interval}

"""SpellQuery: what a continuous query for spells of readings is, validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from coincide.errors import QueryError
from coincide.json_fields import as_float, given_fields, refuse_unless_probability
from coincide.queries.fields.alert_rule import AlertRule
from coincide.queries.fields.checks import refuse_unless_name
from coincide.queries.readings import reading_fields
from coincide.queries.readings.over_readings import OverReadings
from coincide.queries.readings.reading_fields import READ_FIELDS, SENSOR, duration_us, seconds_of
from coincide.spells.spell_rule import SpellRule
from coincide.stream import Stream

FIELDS = ("id", "coalesce", "lasting_s", "threshold", "alert")
USUAL_THRESHOLD = 0.5


@dataclass(frozen=True)
class SpellQuery(OverReadings):
    """A continuous query for spells: each time that a group's readings stay within limits for long enough, once.

    Parameters
    ----------
    id : str
    stream : str
        Where the readings come from.
    by : tuple of str
        What makes a group: "sensor", or "attributes." and a name; nothing at all makes one group of an area.
    value : str
        "attributes." and a name: what is read.
    rule : SpellRule
        Which readings make a spell, and how long it lasts.
    alert : AlertRule or None
        Of which spells somebody is told.

    Raises
    ------
    QueryError
        Names the field and what is allowed.

    Examples
    --------
    Above 40 degrees for a minute:

    >>> query = SpellQuery.from_json({"id": "hot", "coalesce": {"from": "temperature",
    ...     "value": "attributes.celsius", "where": {"above": 40}}, "lasting_s": 60})
    >>> query.by, query.rule.lasting_us, query.rule.run.hold_us, query.rule.threshold
    (('sensor',), 60000000, 60000000, 0.5)
    >>> SpellQuery.from_json(query.to_json()) == query
    True

    Above 80 degrees, and until it is below 75:

    >>> swinging = {"from": "temperature", "value": "attributes.celsius", "where": {"above": 80, "until_below": 75}}
    >>> limits = SpellQuery.from_json({"id": "hot", "coalesce": swinging, "lasting_s": 60}).rule.run.limits
    >>> limits.hold(79.5), limits.last(79.5)
    (False, True)
    """

    kind: ClassVar[Literal["spells"]] = "spells"

    rule: SpellRule
    alert: AlertRule | None = None

    def __post_init__(self) -> None:
        refuse_unless_name("id", self.id)
        reading_fields.refuse_unless_readings(self.stream, self.by, self.value, self.rule.run)
        refuse_unless_probability("threshold", self.rule.threshold)

    @property
    def reads_numbers(self) -> bool:
        """Whether only numbers count as values; else strings, true and false do as well."""
        return reading_fields.needs_numbers(self.rule.run)

    @property
    def own_threshold(self) -> float:
        """The least probability that a spell lasts long enough."""
        return self.rule.threshold

    @property
    def final_after_us(self) -> int:
        """How long after a reading the last that is said of it is final."""
        return self.rule.run.hold_us

    def with_threshold(self, threshold: float) -> SpellQuery:
        """Return the query with another threshold."""
        return replace(self, rule=replace(self.rule, threshold=threshold))

    def keeps_activation(self, changed: object) -> bool:
        """Whether spells go on with `changed`: other limits only decide about readings to come."""
        return isinstance(changed, SpellQuery) and self._but_for_limits == changed._but_for_limits

    def needed_since_us(self, _streams: Mapping[str, Stream]) -> dict[str, int]:
        """Return nothing: what is not on time any more is settled, and then a row of its own."""
        return {}

    @property
    def _but_for_limits(self) -> tuple[object, ...]:
        return self.read, self.reads_numbers, self.rule.but_for_limits

    @classmethod
    def from_json(cls, obj: object) -> SpellQuery:
        """Read a query; a QueryError names the field and what is allowed."""
        if isinstance(obj, dict) and (asked := [name for name in ("longest", "join") if name in obj]):
            raise QueryError("coalesce.window", f"is missing: {asked[0]} asks about windows; only lasting_s needs none")
        fields = given_fields("query", obj, FIELDS, ("id", "coalesce", "lasting_s"))
        coalesce = given_fields("coalesce", fields["coalesce"], READ_FIELDS, ("from", "value"))
        lasting_us = duration_us("lasting_s", fields["lasting_s"])
        run = reading_fields.rule_from_json(coalesce, usual_hold_us=lasting_us)
        rule = SpellRule(run, lasting_us, as_float(fields.get("threshold", USUAL_THRESHOLD)))
        by = reading_fields.groupings_from_json(coalesce.get("by", SENSOR))
        alert = AlertRule.from_json(fields["alert"], most_members=0) if "alert" in fields else None
        return cls(fields["id"], coalesce["from"], by, coalesce["value"], rule, alert)

    def to_json(self) -> dict[str, object]:
        """Return the JSON object; what follows from other fields unless it is given is left out, so that it follows."""
        read = {"from": self.stream, "by": list(self.by), "value": self.value}
        coalesce = {**read, **reading_fields.rule_to_json(self.rule.run, self.rule.lasting_us)}
        asked = {"lasting_s": seconds_of(self.rule.lasting_us), "threshold": self.rule.threshold}
        alert = {} if self.alert is None else {"alert": self.alert.to_json()}
        return {"id": self.id, "coalesce": coalesce, **asked, **alert}

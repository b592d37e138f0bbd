"""ReadingsQuery: what a continuous query over the readings of one stream is, validated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from coincide.coalescing.equivalences import Equal
from coincide.errors import QueryError
from coincide.json_fields import given_fields
from coincide.queries import reading_fields
from coincide.queries.checks import refuse_unless_attribute, refuse_unless_name
from coincide.queries.reading_fields import QUESTIONS, duration_us, seconds_of
from coincide.sliding.questions import Question, Similar
from coincide.sliding.rules import RunRule
from coincide.sliding.value_limits import ValueLimits

FIELDS = ("id", "coalesce", *QUESTIONS)
COALESCE_FIELDS = ("from", "by", "value", "where", "equivalence", "hold_s", "window")
MOST_GROUPINGS = 8
MOST_WINDOWS = 10_000  # that one reading may reach into
SENSOR = "sensor"


@dataclass(frozen=True)
class ReadingsQuery:
    """A continuous query over readings: coalesce them, and say something of every window that slides over them.

    Parameters
    ----------
    id : str
    stream : str
        Where the readings come from.
    by : tuple of str
        What makes a group: "sensor", or "attributes." and a name; nothing at all makes one group of an area.
    value : str
        "attributes." and a name: what is read.
    rule : RunRule
        Which values interest, which goes on from which, and how long one holds at most.
    time_us, slide_us : int
        A window [end - time, end) at every multiple of the slide since the epoch.
    question : Longest, Lasting or Similar
        What each window is asked.

    A QueryError names the field and what is allowed.

    Examples
    --------
    The longest time above 100 degrees in the past 24 hours, each hour:

    >>> query = ReadingsQuery.from_json({"id": "hot", "coalesce": {"from": "temperature",
    ...     "value": "attributes.celsius", "where": {"above": 100},
    ...     "window": {"time_s": 86400, "slide_s": 3600}}, "longest": True})
    >>> query.by, query.rule.hold_us == query.time_us, query.question
    (('sensor',), True, Longest())
    >>> ReadingsQuery.from_json(query.to_json()) == query
    True
    """

    id: str
    stream: str
    by: tuple[str, ...]
    value: str
    rule: RunRule
    time_us: int
    slide_us: int
    question: Question

    def __post_init__(self) -> None:
        refuse_unless_name("id", self.id)
        refuse_unless_name("coalesce.from", self.stream)
        refuse_unless_attribute("coalesce.value", self.value)
        _refuse_unless_groupings(self.by)
        if self.rule.limits is not None:
            reading_fields.refuse_unless_limits(self.rule.limits)
        if self.reach_us > MOST_WINDOWS * self.slide_us:
            allowed = f"at least 1/{MOST_WINDOWS} of time_s and hold_s together"
            raise QueryError("coalesce.window.slide_s", f"is {seconds_of(self.slide_us)}: {allowed}")
        if isinstance(self.question, Similar) and not self.rule.has_one_value:
            allowed = "equal or quantised, so that a run has one value"
            raise QueryError("coalesce.equivalence", f"of runs to be joined: {allowed}")

    @property
    def streams(self) -> tuple[str, ...]:
        """The one stream."""
        return (self.stream,)

    @property
    def reads_numbers(self) -> bool:
        """Whether only numbers count as values; else strings, true and false do as well."""
        is_plain = self.rule.limits is None and isinstance(self.rule.equivalence, Equal | None)
        return not is_plain or (isinstance(self.question, Similar) and self.question.within > 0)

    @property
    def reach_us(self) -> int:
        """How long after its time a reading may still count in a window that has not been answered."""
        return self.time_us + self.rule.hold_us

    def keeps_activation(self, changed: ReadingsQuery) -> bool:
        """Whether `changed` may use readings from before it: it reads alike, and none longer ago."""
        reads_alike = (self.stream, self.by, self.value) == (changed.stream, changed.by, changed.value)
        return reads_alike and self.reach_us >= changed.reach_us

    @classmethod
    def from_json(cls, obj: object) -> ReadingsQuery:
        """Read a query; a QueryError names the field and what is allowed."""
        fields = given_fields("query", obj, FIELDS, ("id", "coalesce"))
        coalesce = given_fields("coalesce", fields["coalesce"], COALESCE_FIELDS, ("from", "value", "window"))
        window = given_fields("coalesce.window", coalesce["window"], ("time_s", "slide_s"), ("time_s", "slide_s"))
        time_us = duration_us("coalesce.window.time_s", window["time_s"])
        slide_us = duration_us("coalesce.window.slide_s", window["slide_s"])
        by, rule = _groupings(coalesce.get("by", SENSOR)), _rule(coalesce, time_us)
        question = reading_fields.question_from_json(fields)
        return cls(fields["id"], coalesce["from"], by, coalesce["value"], rule, time_us, slide_us, question)

    def to_json(self) -> dict[str, object]:
        """Return the JSON object; what follows from other fields unless it is given is left out, so that it follows."""
        window = {"time_s": seconds_of(self.time_us), "slide_s": seconds_of(self.slide_us)}
        coalesce: dict[str, object] = {"from": self.stream, "by": list(self.by), "value": self.value, "window": window}
        if self.rule.limits is not None:
            coalesce["where"] = reading_fields.limits_to_json(self.rule.limits)
        equivalence = reading_fields.equivalence_to_json(self.rule.equivalence)
        if equivalence != _usual_equivalence(self.rule.limits):
            coalesce["equivalence"] = equivalence
        if self.rule.hold_us != self.time_us:
            coalesce["hold_s"] = seconds_of(self.rule.hold_us)
        return {"id": self.id, "coalesce": coalesce, **reading_fields.question_to_json(self.question)}


def _refuse_unless_groupings(by: tuple[str, ...]) -> None:
    if len(by) > MOST_GROUPINGS or len(set(by)) < len(by):
        raise QueryError("coalesce.by", f"is {list(by)!r}: at most {MOST_GROUPINGS}, each named once")
    for name in by:
        if name != SENSOR:
            refuse_unless_attribute("coalesce.by", name)


def _groupings(by: object) -> tuple[str, ...]:
    listed = by if isinstance(by, list) else [by]
    if not all(isinstance(name, str) for name in listed):
        raise QueryError("coalesce.by", f"is {by!r}: 'sensor', 'attributes.' and a name, or a list of these")
    return tuple(listed)


def _usual_equivalence(limits: ValueLimits | None) -> str:
    """With limits alone, a run is about values within them."""
    return "equal" if limits is None else "any"


def _rule(coalesce: dict[str, Any], time_us: int) -> RunRule:
    limits = reading_fields.limits_from_json(coalesce["where"]) if "where" in coalesce else None
    written = coalesce.get("equivalence", _usual_equivalence(limits))
    hold_us = duration_us("coalesce.hold_s", coalesce["hold_s"]) if "hold_s" in coalesce else time_us
    return RunRule(hold_us, limits, reading_fields.equivalence_from_json("coalesce.equivalence", written))

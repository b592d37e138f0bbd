"""ReadingsQuery: what a continuous query over the readings of one stream is, validated."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from coincide.errors import QueryError
from coincide.json_fields import given_fields
from coincide.queries.fields.alert_rule import AlertRule
from coincide.queries.fields.checks import refuse_unless_name
from coincide.queries.readings import reading_fields
from coincide.queries.readings.over_readings import OverReadings
from coincide.queries.readings.reading_fields import QUESTIONS, READ_FIELDS, duration_us, seconds_of
from coincide.sliding.questions import Question, Similar
from coincide.sliding.rules import RunRule
from coincide.stream import Stream

FIELDS = ("id", "coalesce", *QUESTIONS, "alert")
COALESCE_FIELDS = (*READ_FIELDS, "window")
MOST_WINDOWS = 10_000  # that one reading may reach into


@dataclass(frozen=True)
class ReadingsQuery(OverReadings):
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
    alert : AlertRule, optional
        Which of its episodes somebody is told of.

    Raises
    ------
    QueryError
        Names the field and what is allowed.

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

    kind: ClassVar[Literal["windows"]] = "windows"
    own_threshold: ClassVar[None] = None  # at the latest time of a reading it is certainly so

    rule: RunRule
    time_us: int
    slide_us: int
    question: Question
    alert: AlertRule | None = None

    def __post_init__(self) -> None:
        refuse_unless_name("id", self.id)
        reading_fields.refuse_unless_readings(self.stream, self.by, self.value, self.rule)
        reading_fields.refuse_hysteresis(self.rule.limits)
        if self.reach_us > MOST_WINDOWS * self.slide_us:
            allowed = f"at least 1/{MOST_WINDOWS} of time_s and hold_s together"
            raise QueryError("coalesce.window.slide_s", f"is {seconds_of(self.slide_us)}: {allowed}")
        if isinstance(self.question, Similar) and not self.rule.has_one_value:
            allowed = "equal or quantised, so that a run has one value"
            raise QueryError("coalesce.equivalence", f"of runs to be joined: {allowed}")

    @property
    def reads_numbers(self) -> bool:
        """Whether only numbers count as values; else strings, true and false do as well."""
        return reading_fields.needs_numbers(self.rule) or (
            isinstance(self.question, Similar) and self.question.within > 0
        )

    @property
    def reach_us(self) -> int:
        """How long after its time a reading may still count in a window that has not been answered."""
        return self.time_us + self.rule.hold_us

    @property
    def final_after_us(self) -> int:
        """How long after a reading the last that is said of it is final."""
        return self.reach_us + self.slide_us

    def keeps_activation(self, changed: object) -> bool:
        """Whether `changed` may use readings from before it: it reads alike, and none longer ago."""
        return isinstance(changed, ReadingsQuery) and self.read == changed.read and self.reach_us >= changed.reach_us

    def needed_since_us(self, streams: Mapping[str, Stream]) -> dict[str, int]:
        """Return how far from an area's watermark readings may hold in a window to come, by stream."""
        return {self.stream: -streams[self.stream].max_delay_us - self.reach_us}

    @classmethod
    def is_asked_by(cls, document: Mapping[str, Any]) -> bool:
        """Whether a document is of this kind: of one over readings, with a window."""
        return super().is_asked_by(document) and "window" in document["coalesce"]

    @classmethod
    def from_json(cls, obj: object) -> ReadingsQuery:
        """Read a query; a QueryError names the field and what is allowed."""
        fields = given_fields("query", obj, FIELDS, ("id", "coalesce"))
        coalesce = given_fields("coalesce", fields["coalesce"], COALESCE_FIELDS, ("from", "value", "window"))
        window = given_fields("coalesce.window", coalesce["window"], ("time_s", "slide_s"), ("time_s", "slide_s"))
        time_us = duration_us("coalesce.window.time_s", window["time_s"])
        slide_us = duration_us("coalesce.window.slide_s", window["slide_s"])
        by = reading_fields.groupings_from_json(coalesce.get("by", reading_fields.SENSOR))
        rule = reading_fields.rule_from_json(coalesce, time_us)
        question = reading_fields.question_from_json(fields)
        alert = None
        if "alert" in fields:
            alert = AlertRule.from_json(fields["alert"], has_probability=False, most_members=0)
        return cls(fields["id"], coalesce["from"], by, coalesce["value"], rule, time_us, slide_us, question, alert)

    def to_json(self) -> dict[str, object]:
        """Return the JSON object; what follows from other fields unless it is given is left out, so that it follows."""
        window = {"time_s": seconds_of(self.time_us), "slide_s": seconds_of(self.slide_us)}
        read = {"from": self.stream, "by": list(self.by), "value": self.value}
        coalesce = {**read, **reading_fields.rule_to_json(self.rule, self.time_us), "window": window}
        alert = {} if self.alert is None else {"alert": self.alert.to_json()}
        return {"id": self.id, "coalesce": coalesce, **reading_fields.question_to_json(self.question), **alert}

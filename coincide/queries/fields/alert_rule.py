"""AlertRule: which episodes or matches of a query somebody is told of, how urgently, and who."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from string import Formatter
from typing import Any

from coincide.arrays.numbers import is_number
from coincide.errors import QueryError
from coincide.json_fields import as_float, given_fields, object_fields, refuse_unless_probability
from coincide.queries.fields.checks import refuse_unless_name

MOST_MEMBERS = 200  # that an episode lists
WORDS = ("query", "area", "severity", "probability", "posterior", "members", "start", "end", "group", "stream")
LABEL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
RESERVED = ("alertname", "alert", "kind", "query", "area", "severity")
MOST_LABELS, MOST_LEVELS, MOST_RECEIVERS = 16, 8, 16
LONGEST_TEXT = 200
LONGEST_RESOLVE_S = 7 * 86_400.0
MOST_AN_HOUR = 1_000_000

NO_EVIDENCE = "only a join with event has evidence"

Levels = tuple[tuple[float, str], ...]
"""From which probability on an alert is how severe; greatest probability first."""


@dataclass(frozen=True)
class AlertRule:
    """What makes an alert of an episode, or of a match of a query that does not coalesce.

    Parameters
    ----------
    severity : tuple of (float, str)
        How severe an alert is from which probability on, both ends of [0, 1] allowed, greatest first. What is less
        probable than the last makes no alert.
    min_probability : float, optional
        In (0, 1]: what is less probable makes no alert.
    min_posterior : float, optional
        In (0, 1]: what is less probably one event makes no alert. So the rule waits until that is known.
    members : int, optional
        At least so many members; of an episode, distinct detections. Not more than there can be, and none of readings.
    title : str
        One line, in which ``{query}``, ``{area}``, ``{severity}``, ``{probability}``, ``{members}``, ``{start}``,
        ``{end}``, ``{group}``, of joins ``{posterior}`` and, of readings, ``{stream}`` stand for what the alert has.
    labels : tuple of (str, str)
        Further labels, for receivers and silences.
    resolve_after_s : float
        From 0 to 7 days: so long after its newest detection an alert is resolved, once its episode is no longer open.
    max_per_hour : int
        Beyond so many new alerts in an hour of the clock, one summary is sent instead of them.
    to : tuple of str, optional
        Receivers by name; by default all of them.

    Raises
    ------
    QueryError
        Names the field and what is allowed.

    Examples
    --------
    >>> rule = AlertRule.from_json({"severity": [[0.6, "warning"], [0.9, "critical"]], "title": "Shot in {area}"})
    >>> rule.severity_of(0.95, 3), rule.severity_of(0.7, 3), rule.severity_of(0.5, 3)
    ('critical', 'warning', None)
    >>> AlertRule.from_json(rule.to_json()) == rule
    True
    >>> sure = AlertRule.from_json({"min_posterior": 0.9}, has_evidence=True)
    >>> sure.severity_of(0.7, 3, 0.95), sure.severity_of(0.7, 3, 0.4), sure.severity_of(0.7, 3)
    ('warning', None, None)
    """

    severity: Levels = ((0.0, "warning"),)
    min_probability: float | None = None
    min_posterior: float | None = None
    members: int | None = None
    title: str = "{query} in {area}"
    labels: tuple[tuple[str, str], ...] = ()
    resolve_after_s: float = 60.0
    max_per_hour: int = 60
    to: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        for name in ("min_probability", "min_posterior"):
            if getattr(self, name) is not None:
                refuse_unless_probability(f"alert.{name}", getattr(self, name))
        if self.members is not None:
            _refuse_unless_count("members", self.members, MOST_MEMBERS)
        _refuse_unless_count("max_per_hour", self.max_per_hour, MOST_AN_HOUR)
        _refuse_unless_levels(self.severity)
        _refuse_unless_title(self.title)
        _refuse_unless_labels(dict(self.labels))
        if not is_number(self.resolve_after_s) or not 0 <= self.resolve_after_s <= LONGEST_RESOLVE_S:
            allowed = f"0 to {LONGEST_RESOLVE_S:.0f} seconds"
            raise QueryError("alert.resolve_after_s", f"is {self.resolve_after_s!r}: {allowed}")
        if self.to is not None:
            _refuse_unless_receivers(self.to)

    @property
    def asks_probability(self) -> bool:
        """Whether it makes a difference how probable something is."""
        return self.min_probability is not None or self.severity[-1][0] > 0 or len(self.severity) > 1

    @property
    def waits_for_evidence(self) -> bool:
        """Whether nothing makes an alert before it is known how probably it is one event."""
        return self.min_posterior is not None

    @property
    def title_words(self) -> frozenset[str]:
        """Which words stand for something in the title."""
        return frozenset(word for _, word, _, _ in Formatter().parse(self.title) if word)

    def severity_of(self, probability: float | None, members: int, posterior: float | None = None) -> str | None:
        """Return how severe an alert of this is; None where it makes none.

        No probability is as good as any, but no posterior is none.
        """
        if self.members is not None and members < self.members:
            return None
        if self.min_posterior is not None and (posterior is None or posterior < self.min_posterior):
            return None
        if probability is None:
            return self.severity[0][1]
        if self.min_probability is not None and probability < self.min_probability:
            return None
        return next((name for least, name in self.severity if probability >= least), None)

    def is_worse(self, severity: str, than: str) -> bool:
        """Whether one severity stands above another; one that the rule does not name stands below all."""
        names = [name for _, name in self.severity]
        ranks = [names.index(each) if each in names else len(names) for each in (severity, than)]
        return ranks[0] < ranks[1]

    @classmethod
    def from_json(
        cls,
        obj: object,
        *,
        has_probability: bool = True,
        has_evidence: bool = False,
        most_members: int = MOST_MEMBERS,
    ) -> AlertRule:
        """Read the rule of what has `most_members`, 0 of readings; a QueryError names the field and what is allowed."""
        given = given_fields("alert", obj, [field.name for field in fields(cls)])
        if "severity" in given:
            given["severity"] = _levels(given["severity"])
        if "labels" in given:
            given["labels"] = tuple(sorted(object_fields("alert.labels", given["labels"]).items()))
        if "to" in given:
            given["to"] = tuple(given["to"]) if isinstance(given["to"], list) else given["to"]
        figures = ("min_probability", "min_posterior", "resolve_after_s")
        given |= {name: as_float(given[name]) for name in figures if name in given}
        rule = cls(**given)
        if rule.asks_probability and not has_probability:
            name = "severity" if rule.min_probability is None else "min_probability"
            raise QueryError(f"alert.{name}", "asks for a probability: readings have none; give one severity")
        if rule.waits_for_evidence and not has_evidence:
            raise QueryError("alert.min_posterior", f"asks for a posterior: {NO_EVIDENCE}")
        if rule.members is not None and rule.members > most_members:
            allowed = f"at most {most_members}, as many as roles" if most_members else "only joins have members"
            raise QueryError("alert.members", f"is {rule.members}: {allowed}")
        if "stream" in rule.title_words and most_members:
            raise QueryError("alert.title", "has {stream}: only queries over readings have one")
        if "posterior" in rule.title_words and not has_evidence:
            raise QueryError("alert.title", f"has {{posterior}}: {NO_EVIDENCE}")
        return rule

    def to_json(self) -> dict[str, object]:
        """Return the JSON object: what differs from the default."""
        usual = AlertRule()
        written: dict[str, Any] = {
            field.name: value
            for field in fields(self)
            if (value := getattr(self, field.name)) != getattr(usual, field.name)
        }
        if "severity" in written:
            is_one = len(self.severity) == 1 and self.severity[0][0] == 0
            written["severity"] = self.severity[0][1] if is_one else [list(level) for level in self.severity]
        if "labels" in written:
            written["labels"] = dict(self.labels)
        if self.to is not None:
            written["to"] = list(self.to)
        return written


def _levels(given: object) -> Levels:
    if isinstance(given, str):
        return ((0.0, given),)
    listed = given if isinstance(given, list) else []
    pairs = [(as_float(each[0]), each[1]) for each in listed if isinstance(each, list) and len(each) == 2]
    if not pairs or len(pairs) < len(listed) or not all(is_number(least) for least, _ in pairs):
        raise QueryError("alert.severity", f"is {given!r}: a name, or a list of [probability, name]")
    return tuple(sorted(pairs, key=lambda level: -level[0]))


def _refuse_unless_levels(levels: Levels) -> None:
    if not 1 <= len(levels) <= MOST_LEVELS:
        raise QueryError("alert.severity", f"has {len(levels)} levels: 1 to {MOST_LEVELS}")
    for least, name in levels:
        if not 0 <= least <= 1:
            raise QueryError("alert.severity", f"has the probability {least!r}: 0 to 1")
        refuse_unless_name("alert.severity", name)
    if len({least for least, _ in levels}) < len(levels) or len({name for _, name in levels}) < len(levels):
        raise QueryError("alert.severity", "names a probability or a severity twice")


def _refuse_unless_count(name: str, value: object, most: int) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise QueryError(f"alert.{name}", f"is {value!r}: a whole number from 1 to {most}")


def _refuse_unless_title(title: object) -> None:
    if not isinstance(title, str) or not 1 <= len(title) <= LONGEST_TEXT or not title.isprintable():
        raise QueryError("alert.title", f"is {title!r}: one line of 1 to {LONGEST_TEXT} characters")
    try:
        parts = list(Formatter().parse(title))
    except ValueError as error:
        raise QueryError("alert.title", f"is {title!r}: {error}; write {{{{ for a brace") from None
    for _, word, form, conversion in parts:
        if word is not None and (word not in WORDS or form or conversion):
            raise QueryError(
                "alert.title", f"has {{{word}}}: one of {', '.join(WORDS)}, and nothing more in the braces"
            )


def _refuse_unless_labels(labels: dict[str, Any]) -> None:
    if len(labels) > MOST_LABELS:
        raise QueryError("alert.labels", f"has {len(labels)} labels: at most {MOST_LABELS}")
    for name, value in labels.items():
        if len(name) > LONGEST_TEXT or not LABEL_NAME.fullmatch(name) or name in RESERVED:
            allowed = f"letters, digits and '_', not starting with a digit, other than {', '.join(RESERVED)}"
            raise QueryError("alert.labels", f"has the name {name!r}: {allowed}")
        if not isinstance(value, str) or len(value) > LONGEST_TEXT or not value.isprintable():
            raise QueryError(f"alert.labels.{name}", f"is {value!r}: a text of at most {LONGEST_TEXT} characters")


def _refuse_unless_receivers(to: object) -> None:
    if not isinstance(to, tuple) or not 1 <= len(to) <= MOST_RECEIVERS or len(set(map(str, to))) < len(to):
        raise QueryError("alert.to", f"is {to!r}: a list of 1 to {MOST_RECEIVERS} receivers, each named once")
    for name in to:
        refuse_unless_name("alert.to", name)

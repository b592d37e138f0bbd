"""What tells the group of an episode: in words, for titles and people, and as labels, for programs and silences."""

import json
import re
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from coincide.queries.fields.checks import ATTRIBUTES
from services.alerting.store.alert_rows import read_active
from services.alerting.store.query_rows import read_queries

#: Of a value in titles and labels; an attribute may have a thousand characters.
LONGEST_VALUE = 100
_NO_LABEL = re.compile(r"[^A-Za-z0-9_]")

Group = Mapping[str, object]
"""Values of the fields that a query's `coalesce.by` names."""


def group_words(group: Group) -> str:
    """Return a group in one line: "sensor suit-7, team blue"."""
    return ", ".join(f"{_one_line(name.replace(ATTRIBUTES, ''))} {_text(value)}" for name, value in group.items())


def group_labels(group: Group, stream: str | None) -> dict[str, str]:
    """Return a group and the stream of its readings under names that every receiver takes.

    What stands in no such name is "_". Names that become alike by that get one more "_" each.
    """
    labels: dict[str, str] = {}
    for name, value in group.items():
        label = _NO_LABEL.sub("_", name)
        while label in labels:
            label += "_"
        labels[label] = _text(value)
    return labels if stream is None else {**labels, "stream": stream}


def _text(value: object) -> str:
    text = _one_line(value if isinstance(value, str) else json.dumps(value))
    return text if len(text) <= LONGEST_VALUE else f"{text[: LONGEST_VALUE - 1]}…"


def _one_line(text: str) -> str:
    return "".join(each if each.isprintable() else " " for each in text)


#: Of every alert, and of those of a sensor.
ALWAYS = ("kind", "severity", "query", "area", "sensor", "stream")
LOOKED_AT = 5_000


def labels_of_alerts(connection: Connection) -> list[str]:
    """Return the labels that the present queries may give, and those of alerts that fire."""
    queries = {label for each in read_queries(connection) for label in _labels_of(each.query or {})}
    firing = {label for each in read_active(connection, LOOKED_AT) for label in each.labels}
    return [*ALWAYS, *sorted((queries | firing).difference(ALWAYS))]


def _labels_of(query: Mapping[str, Any]) -> set[str]:
    coalesce, rule = query.get("coalesce") or {}, query.get("alert") or {}
    return {*group_labels(dict.fromkeys(coalesce.get("by", ())), coalesce.get("from")), *rule.get("labels", {})}

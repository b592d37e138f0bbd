"""Which labels an alert may have, so that a silence whose matcher is misspelt is refused."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection

from services.alerting.alerts.groups import group_labels
from services.alerting.store.alert_rows import read_active
from services.alerting.store.query_rows import read_queries

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

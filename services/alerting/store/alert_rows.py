"""Alerts in the database: as each is now, and every transition that led there.

They share the one order of insertion with matches and episodes. An alert keeps the place of its first transition in a
list, and each change gives it a new place in the live stream.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from sqlalchemy import Connection, Select, func, select

from services.alerting.records.alert import Alert, Step, decode_alert
from services.alerting.store.dialect import (
    Rows,
    newest_first,
    reserve_sequences,
    upsert,
    where_equal,
    where_overlaps,
)
from services.alerting.store.tables import alert_transitions, alerts, matches

IDS_A_STATEMENT = 1000


@dataclass(frozen=True)
class StoredAlert:
    """An alert for the live stream; `sequence` is the place of its last change in the order of insertion."""

    sequence: int
    id: str
    query: str
    area: str
    body: str


@dataclass
class ChangedAlert:
    """An alert after some steps, none where only its figures changed; `sequences` are given when it is stored."""

    alert: Alert
    steps: list[Step] = field(default_factory=list)
    sequences: list[int] = field(default_factory=list)


@dataclass(frozen=True)
class AlertFilter:
    """Which alerts: None asks for all. An alert overlaps [from_us, to_us], both ends closed, if it began then."""

    query: str | None = None
    area: str | None = None
    kind: str | None = None
    severity: str | None = None
    state: str | None = None
    from_us: int | None = None
    to_us: int | None = None


def known_alerts(connection: Connection, ids: Collection[str]) -> dict[str, Alert]:
    """Return those of the alerts `ids` that there are."""
    id_list, known = list(ids), {}
    for first in range(0, len(id_list), IDS_A_STATEMENT):
        some = alerts.c.id.in_(id_list[first : first + IDS_A_STATEMENT])
        bodies = connection.execute(select(alerts.c.body).where(some)).scalars()
        known.update({alert.id: alert for alert in map(decode_alert, bodies)})
    return known


def store_alerts(connection: Connection, changed: Sequence[ChangedAlert]) -> list[StoredAlert]:
    """Store alerts as they are now and the steps that led there; return what live readers hear of."""
    if not changed:
        return []
    places = count(reserve_sequences(connection, matches, sum(max(1, len(each.steps)) for each in changed)))
    for each in changed:
        each.sequences = [next(places) for _ in range(max(1, len(each.steps)))]
    rows = [_row(each.alert, each.sequences) for each in changed]
    connection.execute(upsert(connection, alerts, keep=("sequence",)), rows)
    transitions = [
        _transition_row(step, sequence)
        for each in changed
        for step, sequence in zip(each.steps, each.sequences, strict=False)
    ]
    if transitions:
        connection.execute(upsert(connection, alert_transitions), transitions)
    return [
        StoredAlert(each.sequences[-1], each.alert.id, each.alert.query, each.alert.area, row["body"])
        for each, row in zip(changed, rows, strict=True)
    ]


def _row(alert: Alert, sequences: Sequence[int]) -> dict[str, Any]:
    apart = {"sequence": sequences[0], "changed_sequence": sequences[-1], "body": alert.to_body()}
    of_alert = [column.name for column in alerts.columns if column.name not in apart]
    return {**{name: getattr(alert, name) for name in of_alert}, **apart}


def _transition_row(step: Step, sequence: int) -> dict[str, Any]:
    said = {"alert": step.alert.id, "kind": step.change, "at_us": step.at_us, "body": step.alert.to_body()}
    return {"key": step.key, "sequence": sequence, "received_at_us": step.alert.received_at_us, **said}


def read_alert(connection: Connection, id_: str) -> str | None:
    """Return the JSON of the alert `id_` as it is now; None when there is none."""
    body: str | None = connection.execute(select(alerts.c.body).where(alerts.c.id == id_)).scalar()
    return body


def read_newest_first(connection: Connection, filters: AlertFilter, before: int | None, limit: int) -> Rows:
    """Return up to `limit` (sequence, body) with a sequence below `before`, those that fired last first."""
    statement = _filtered(select(alerts.c.sequence, alerts.c.body), filters)
    return newest_first(connection, statement, alerts.c.sequence, before, limit)


def read_after(connection: Connection, filters: AlertFilter, after: int, limit: int) -> list[StoredAlert]:
    """Return up to `limit` alerts that changed after the sequence `after`, oldest change first."""
    a = alerts.c
    columns = _filtered(select(a.changed_sequence, a.id, a.query, a.area, a.body), filters)
    statement = columns.where(a.changed_sequence > after).order_by(a.changed_sequence)
    return [StoredAlert(*row) for row in connection.execute(statement.limit(limit))]


def read_transitions(connection: Connection, id_: str, before: int | None, limit: int) -> Rows:
    """Return up to `limit` (sequence, kind, at_us, body) of the alert `id_` before `before`, newest first."""
    t = alert_transitions.c
    statement = select(t.sequence, t.kind, t.at_us, t.body).where(t.alert == id_)
    return newest_first(connection, statement, t.sequence, before, limit)


def read_due(connection: Connection, now_us: int, limit: int) -> list[Alert]:
    """Return up to `limit` alerts that time has resolved, the longest due first."""
    a = alerts.c
    due = select(a.body).where(a.resolve_at_us <= now_us).order_by(a.resolve_at_us).limit(limit)
    return [decode_alert(body) for body in connection.execute(due).scalars()]


def read_active(
    connection: Connection, limit: int, *, kind: str | None = None, withheld: str | None = None
) -> list[Alert]:
    """Return up to `limit` alerts that are not resolved, of a kind or withheld for a reason, oldest first."""
    a = alerts.c
    active = where_equal(
        select(a.body).where(a.state.in_(("firing", "acknowledged"))), (a.kind, kind), (a.withheld, withheld)
    )
    return [decode_alert(body) for body in connection.execute(active.order_by(a.sequence).limit(limit)).scalars()]


def count_fired(connection: Connection, query: str, from_us: int, before_us: int, limit: int) -> int:
    """Return how many alerts of a query fired in [from_us, before_us), up to `limit`; those of the system left out."""
    a = alerts.c
    fired = select(a.id).where(
        a.query == query, a.fired_at_us >= from_us, a.fired_at_us < before_us, a.kind != "system"
    )
    counted: int = connection.execute(select(func.count()).select_from(fired.limit(limit).subquery())).scalar_one()
    return counted


def count_by_state(connection: Connection) -> dict[str, int]:
    """Return how many alerts there are in each state."""
    counted = select(alerts.c.state, func.count()).group_by(alerts.c.state)
    return {row[0]: row[1] for row in connection.execute(counted)}


def newest_change(connection: Connection) -> int:
    """Return the greatest sequence of a change; 0 when there is none."""
    return connection.execute(select(func.max(alerts.c.changed_sequence))).scalar() or 0


def _filtered(statement: Select[Any], filters: AlertFilter) -> Select[Any]:
    a = alerts.c
    names = ("query", "area", "kind", "severity", "state")
    statement = where_equal(statement, *((a[name], getattr(filters, name)) for name in names))
    return where_overlaps(statement, (a.fired_at_us, a.fired_at_us), filters.from_us, filters.to_us)


def distinct(stored: Iterable[StoredAlert]) -> list[StoredAlert]:
    """Return the last state of each alert, in order of sequence."""
    current: dict[str, StoredAlert] = {}
    for each in stored:
        current.pop(each.id, None)
        current[each.id] = each
    return list(current.values())

"""The outbox: which receiver is still to hear of which transition, and what became of the others.

A row is the memory that makes repetition harmless. Whoever stores a transition again finds the row and does not send
again. What became of it is written to Kafka first (`coincide.deliveries`) and comes back from there, so that the
memory outlives the database.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import msgspec
from msgspec import Meta
from sqlalchemy import Connection, case, func, select, update

from coincide.wire.fields import IN_UTC, Count, FormatVersion, Int64
from services.alerting.records.alert import Alert, Change, Step, decode_alert
from services.alerting.store.dialect import Rows, newest_first, upsert, where_equal
from services.alerting.store.tables import alert_transitions, deliveries

DeliveryState = Literal["waiting", "delivered", "dead"]


class DeliveryRecord(msgspec.Struct, frozen=True):
    """What became of one delivery, or that it is to be tried again."""

    v: FormatVersion
    receiver: Annotated[str, Meta(min_length=1)]
    key: Annotated[
        str,
        Meta(
            description="Of the transition: made of the alert, what happened, and the revision of its source. "
            "Receivers see it as webhook-id and as the CloudEvent's id.",
            extra_json_schema={"pattern": "^n-[0-9a-f]{32}$"},
        ),
    ]
    state: Annotated[DeliveryState, Meta(description="waiting: somebody asked for it to be sent again.")]
    at_us: Annotated[Int64, Meta(description=IN_UTC)]
    attempts: Count = 0
    reason: Annotated[str | None, Meta(description="Why it is dead.")] = None
    alert: Annotated[
        str | None, Meta(description="Whose transition it is; older records do not say it, nor what follows.")
    ] = None
    change: Annotated[Change | None, Meta(description="What happened to it.")] = None
    revision: Annotated[
        int | None,
        Meta(
            description="Of its source, then. A system alert that no record gives one keeps it when the database is "
            "made anew."
        ),
    ] = None

    @property
    def topic_key(self) -> bytes:
        """The record's key."""
        return f"delivery/{self.receiver}/{self.key}".encode()


encode_delivery = msgspec.json.Encoder().encode
decode_delivery = msgspec.json.Decoder(DeliveryRecord).decode


@dataclass(frozen=True)
class Addressed:
    """A step and who is to hear of it; `dead_because` says why nobody tries."""

    step: Step
    sequence: int
    receiver: str
    dead_because: str | None = None


@dataclass(frozen=True)
class Waiting:
    """A delivery that waits: the transition's key, what happened, the alert then, and since when it waits."""

    key: str
    sequence: int
    change: Change
    at_us: int
    alert: Alert
    since_us: int


def address(connection: Connection, addressed: Sequence[Addressed], now_us: int, most: int) -> None:
    """Put into the outbox what is not in it; where more than `most` wait for one receiver, the rest is dead."""
    waiting = Counter({each: count_waiting(connection, each) for each in {one.receiver for one in addressed}})
    rows = []
    for each in addressed:
        full = waiting[each.receiver] >= most
        because = each.dead_because or (f"the outbox is full: {most} deliveries wait" if full else None)
        waiting[each.receiver] += because is None
        rows.append(_row(each, now_us, because))
    if rows:  # one of which Kafka told before its transition was read again gets its place, and nothing else
        connection.execute(upsert(connection, deliveries, keep=BUT_FOR_SEQUENCE), rows)


BUT_FOR_SEQUENCE = ("state", "since_us", "attempts", "reason", "received_at_us")


def _row(addressed: Addressed, now_us: int, because: str | None) -> dict[str, object]:
    return {
        "receiver": addressed.receiver,
        "key": addressed.step.key,
        "sequence": addressed.sequence,
        "state": "waiting" if because is None else "dead",
        "since_us": now_us,
        "attempts": 0,
        "reason": because,
        "received_at_us": addressed.step.alert.received_at_us,
        "alert": addressed.step.alert.id,
        "change": addressed.step.change,
        "revision": addressed.step.alert.revision,
    }


SETTLED = ("receiver", "key", "state", "attempts", "reason", "alert", "change", "revision")


def settle(connection: Connection, records: Iterable[DeliveryRecord]) -> None:
    """Store what became of deliveries; of two records about one the last counts."""
    rows = {
        (each.receiver, each.key): {
            **{name: getattr(each, name) for name in SETTLED},
            "sequence": 0,
            "since_us": each.at_us,
            "received_at_us": each.at_us,
        }
        for each in records
    }
    if rows:
        connection.execute(upsert(connection, deliveries, keep=("sequence", "received_at_us")), list(rows.values()))


def give_up(connection: Connection, receivers: Collection[str], now_us: int) -> int:
    """Let nothing wait for others than these receivers; return how many deliveries are dead by that."""
    d = deliveries.c
    orphaned = update(deliveries).where(d.state == "waiting", d.receiver.not_in(receivers))
    dead = {"state": "dead", "reason": "there is no receiver of this name any more", "since_us": now_us}
    return connection.execute(orphaned.values(dead)).rowcount


def count_waiting(connection: Connection, receiver: str) -> int:
    """Return how many deliveries wait for a receiver."""
    d = deliveries.c
    waiting = select(func.count()).select_from(deliveries).where(d.receiver == receiver, d.state == "waiting")
    counted: int = connection.execute(waiting).scalar_one()
    return counted


def read_waiting(connection: Connection, receiver: str, without: Collection[str], limit: int) -> list[Waiting]:
    """Return up to `limit` deliveries that wait for a receiver, in the order of their transitions.

    Those of the keys `without` are left out. One whose transition is not known (yet) waits on.
    """
    d, t = deliveries.c, alert_transitions.c
    columns = select(d.key, d.sequence, t.kind, t.at_us, t.body, d.since_us).join(alert_transitions, t.key == d.key)
    waiting = columns.where(d.receiver == receiver, d.state == "waiting", d.key.not_in(without))
    rows = connection.execute(waiting.order_by(d.sequence).limit(limit))
    return [Waiting(row[0], row[1], row[2], row[3], decode_alert(row[4]), row[5]) for row in rows]


def still_waiting(connection: Connection, receiver: str, keys: Collection[str]) -> set[str]:
    """Return those of `keys` that still wait."""
    d = deliveries.c
    waiting = select(d.key).where(d.receiver == receiver, d.key.in_(keys), d.state == "waiting")
    return set(connection.execute(waiting).scalars())


def told_revisions(connection: Connection, alerts: Collection[str]) -> dict[str, int]:
    """Return at which revision receivers last heard of each of these alerts, of those that they heard no end of."""
    if not alerts:
        return {}
    d = deliveries.c
    ended = func.max(case((d.change == "resolved", 1), else_=0))
    heard = select(d.alert, d.revision, ended).where(d.alert.in_(alerts)).group_by(d.alert, d.revision)
    newest = {alert: (revision, over) for alert, revision, over in connection.execute(heard.order_by(d.revision))}
    return {alert: revision for alert, (revision, over) in newest.items() if not over}


def waiting_by_receiver(connection: Connection) -> dict[str, tuple[int, int]]:
    """Return how many deliveries wait for each receiver, and since when the oldest does."""
    d = deliveries.c
    counted = select(d.receiver, func.count(), func.min(d.since_us)).where(d.state == "waiting").group_by(d.receiver)
    return {receiver: (count, since_us) for receiver, count, since_us in connection.execute(counted)}


def read_delivery(connection: Connection, receiver: str, key: str) -> DeliveryRecord | None:
    """Return one delivery; None where there is none."""
    d = deliveries.c
    columns = select(d.state, d.since_us, d.attempts, d.reason, d.alert, d.change, d.revision)
    row = connection.execute(columns.where(d.receiver == receiver, d.key == key)).first()
    return None if row is None else DeliveryRecord(1, receiver, key, *row)


def read_newest_first(connection: Connection, receiver: str, state: str | None, before: int | None, limit: int) -> Rows:
    """Return up to `limit` deliveries to a receiver before the sequence `before`, those of the last transitions first.

    Each is (sequence, key, alert, kind, at_us, state, since_us, attempts, reason).
    """
    d, t = deliveries.c, alert_transitions.c
    columns = (d.sequence, d.key, t.alert, t.kind, t.at_us, d.state, d.since_us, d.attempts, d.reason)
    statement = select(*columns).join(alert_transitions, t.key == d.key).where(d.receiver == receiver)
    return newest_first(connection, where_equal(statement, (d.state, state)), d.sequence, before, limit)

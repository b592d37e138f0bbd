"""What people say of alerts: silences and acknowledgements. They live on Kafka, as queries do.

Each is the newest record of its key on a compacted topic: silences (and receivers) on coincide.alert-controls,
acknowledgements beside what became of deliveries on coincide.deliveries, which forgets both when the episodes they are
about are forgotten.
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from sqlalchemy import Connection, delete, select

from coincide.queries.joins.role_filter import fits_any
from coincide.wire.fields import IN_UTC, LONGEST_NAME, FormatVersion, Int64
from coincide.wire.last_change import LastChange
from services.alerting.records.alert import Acknowledgement, Alert
from services.alerting.records.receiver import decode_receiver
from services.alerting.store.dialect import upsert
from services.alerting.store.tables import alert_controls

SILENCE, RECEIVER, ACKNOWLEDGEMENT = "silence/", "receiver/", "acknowledgement/"

Text = Annotated[str, Meta(min_length=1, max_length=1000)]
Id = Annotated[str, Meta(min_length=1, max_length=LONGEST_NAME)]


class Silence(LastChange, frozen=True, kw_only=True, eq=False):
    """Alerts whose labels fit all matchers ring nobody in [from_us, until_us)."""

    v: FormatVersion
    id: Id
    matchers: Annotated[
        dict[str, str],
        Meta(
            min_length=1,
            max_length=16,
            description="Label to text in which * stands for any characters and ? for one; all must fit. kind, query, "
            "area and severity are labels, too.",
        ),
    ]
    from_us: Annotated[Int64, Meta(description=IN_UTC)]
    until_us: Annotated[Int64, Meta(description=IN_UTC)]
    by: Text
    why: Text
    created_at_us: Annotated[Int64, Meta(description=IN_UTC)]

    @property
    def document(self) -> dict[str, Any]:
        """What declares it."""
        said = {"matchers": self.matchers, "by": self.by, "why": self.why}
        return {**said, "from": self.from_us, "until": self.until_us}

    def __eq__(self, other: object) -> bool:
        """Whether both say the same, whichever change brought them about."""
        return isinstance(other, Silence) and (self.id, self.document) == (other.id, other.document)

    def __hash__(self) -> int:
        """Of its id."""
        return hash(self.id)

    def covers(self, alert: Alert, at_us: int) -> bool:
        """Whether the alert is silent at this time; a label that it does not have is empty."""
        if not self.from_us <= at_us < self.until_us:
            return False
        labels = alert.every_label
        return all(fits_any(labels.get(name, ""), [glob]) for name, glob in self.matchers.items())


class AcknowledgementRecord(msgspec.Struct, frozen=True):
    """Somebody has taken over an alert."""

    v: FormatVersion
    alert: Id
    by: Text
    why: Annotated[str, Meta(max_length=1000)]
    at_us: Annotated[Int64, Meta(description=IN_UTC)]

    def said(self) -> Acknowledgement:
        """Return what the alert keeps of it."""
        return Acknowledgement(self.by, self.why, self.at_us)


decode_silence = msgspec.json.Decoder(Silence).decode
decode_acknowledgement = msgspec.json.Decoder(AcknowledgementRecord).decode
_DECODERS: dict[str, Callable[[bytes], object]] = {
    SILENCE: decode_silence,
    ACKNOWLEDGEMENT: decode_acknowledgement,
    RECEIVER: decode_receiver,
}


def check_control(key: str, value: bytes) -> None:
    """Raise a `ValueError` for what is no control."""
    decode = next((each for prefix, each in _DECODERS.items() if key.startswith(prefix)), None)
    if decode is None:
        raise ValueError(f"the key {key[:80]!r} begins with none of {', '.join(_DECODERS)}")
    decode(value)


def store_controls(connection: Connection, newest: dict[str, str | None]) -> None:
    """Keep the newest control of each key; None, Kafka's tombstone, forgets it."""
    kept = [{"key": key, "body": body} for key, body in newest.items() if body is not None]
    gone = [key for key, body in newest.items() if body is None]
    if kept:
        connection.execute(upsert(connection, alert_controls), kept)
    if gone:
        connection.execute(delete(alert_controls).where(alert_controls.c.key.in_(gone)))


def read_controls(connection: Connection, prefix: str) -> dict[str, str]:
    """Return the JSON of every control whose key begins with `prefix`, by what follows it, in that order."""
    c = alert_controls.c
    rows = connection.execute(select(c.key, c.body).where(c.key.startswith(prefix)))
    return {row.key.removeprefix(prefix): row.body for row in sorted(rows)}  # by code points, whatever the database


def read_silences(connection: Connection) -> list[Silence]:
    """Return every silence, past ones too."""
    return [decode_silence(body) for body in read_controls(connection, SILENCE).values()]


def read_silence(connection: Connection, id_: str) -> Silence | None:
    """Return one silence; None where there is none."""
    c = alert_controls.c
    body = connection.execute(select(c.body).where(c.key == SILENCE + id_)).scalar()
    return None if body is None else decode_silence(body)


def acknowledgements_in(newest: dict[str, str | None]) -> dict[str, Acknowledgement]:
    """Return those of some controls that are acknowledgements, by alert."""
    bodies = [body for key, body in newest.items() if key.startswith(ACKNOWLEDGEMENT) and body is not None]
    return {each.alert: each.said() for each in map(decode_acknowledgement, bodies)}


def read_acknowledgements(connection: Connection, alerts: Iterable[str]) -> dict[str, Acknowledgement]:
    """Return the acknowledgement of each of these alerts that has one."""
    c = alert_controls.c
    keys = [ACKNOWLEDGEMENT + id_ for id_ in alerts]
    found: dict[str, Acknowledgement] = {}
    for first in range(0, len(keys), 1000):
        bodies = connection.execute(select(c.body).where(c.key.in_(keys[first : first + 1000]))).scalars()
        found.update({each.alert: each.said() for each in map(decode_acknowledgement, bodies)})
    return found

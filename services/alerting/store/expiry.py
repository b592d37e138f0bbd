"""Retention: old rows are deleted in chunks so small that storing never waits long."""

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection, Engine, Select, Table, delete, func, select, tuple_

from services.alerting.metrics import Metrics
from services.alerting.store.episode_evidence import episodes_with
from services.alerting.store.episode_sureness import renew_sureness
from services.alerting.store.evidence_rows import IDS_A_STATEMENT
from services.alerting.store.match_blocks import forget_blocks
from services.alerting.store.tables import (
    alert_transitions,
    alerts,
    dead_letters,
    deliveries,
    episode_members,
    episode_revisions,
    episode_sureness,
    episodes,
    evidence,
    evidence_members,
    matches,
    metadata,
    supersessions,
)

#: The tables that have the records themselves; the others are small beside them, and go with them.
RECORDS = (matches.name, evidence.name, episode_revisions.name, alert_transitions.name, dead_letters.name)
NEWEST = 1000

Bound = tuple[int, str]  # what was received before is deleted, and why: age or room


def delete_old(connection: Connection, table: Table, before_us: int, limit: int) -> int:
    """Delete up to `limit` rows received before `before_us`, the oldest first; return how many."""
    key = list(table.primary_key.columns)
    received_at_us = table.c.received_at_us
    old = select(*key).where(received_at_us < before_us).order_by(received_at_us, *key)
    if table is evidence:
        return _delete_evidence(connection, old.limit(limit))
    if table is episodes:
        for beside in (episode_members, episode_sureness):
            connection.execute(delete(beside).where(beside.c.id.in_(old.limit(limit))))
    return connection.execute(delete(table).where(tuple_(*key).in_(old.limit(limit)))).rowcount


def delete_evidence(connection: Connection, before_us: int, limit: int) -> int:
    """Delete the evidence of those matches that `delete_old` is about to delete; return how much there was."""
    received_at_us = matches.c.received_at_us
    old = select(matches.c.id).where(received_at_us < before_us).order_by(received_at_us, matches.c.sequence)
    return _delete_evidence(connection, old.limit(limit))


def _delete_evidence(connection: Connection, of: Select[Any]) -> int:
    """Delete the evidence of some matches, and what is known of episodes by it."""
    ids = connection.execute(of).scalars().all()
    concerned = episodes_with(connection, ids)
    deleted = 0
    for first in range(0, len(ids), IDS_A_STATEMENT):
        some = ids[first : first + IDS_A_STATEMENT]
        connection.execute(delete(evidence_members).where(evidence_members.c.id.in_(some)))
        deleted += connection.execute(delete(evidence).where(evidence.c.id.in_(some))).rowcount
    renew_sureness(connection, concerned)
    return deleted


@dataclass(frozen=True)
class Room:
    """Most bytes of the records of each table, by name, and most matches; the oldest beyond go before their time."""

    most_bytes: Mapping[str, int]
    most_matches: int

    def full_before_us(self, connection: Connection, metrics: Metrics) -> dict[str, int]:
        """Return, for each table, the time before which its records have no room; show how much is stored."""
        return {name: self._full_before_us(connection, metadata.tables[name], metrics) for name in RECORDS}

    def _full_before_us(self, connection: Connection, table: Table, metrics: Metrics) -> int:
        rows: int = connection.execute(select(func.count()).select_from(table)).scalar_one()
        newest = select(table.c.body).order_by(table.c.sequence.desc()).limit(NEWEST).subquery()
        length = float(connection.execute(select(func.avg(func.length(newest.c.body)))).scalar_one() or 0)
        metrics.stored_bytes.labels(table.name).set(rows * length)
        most = int(self.most_bytes[table.name] / length) if length else rows
        if table is matches:
            metrics.stored_matches.set(rows)
            most = min(most, self.most_matches)
        if rows <= most:
            return 0
        first_kept = select(table.c.received_at_us).order_by(table.c.received_at_us).offset(rows - most).limit(1)
        return int(connection.execute(first_kept).scalar_one())


@dataclass
class Expiry:
    """Deletes one chunk a call while there is something to delete, then rests.

    Age counts from when ingest received a match's last member, or the newest detection of an episode or of what an
    alert is about, and from when evidence or a dead letter entered its topic, so that filling the database again does
    not make old records young. Evidence goes with its match, however young it is. Once a round it looks how much is
    stored, and whether some of it goes before its time.
    """

    engine: Engine
    metrics: Metrics
    kept_s: tuple[float, float]  # matches, episodes and alerts; dead letters
    room: Room
    chunk_rows: int
    every_s: float
    _due_at_s: float = 0.0
    _full_before_us: dict[str, int] | None = None

    def is_due(self) -> bool:
        """Whether `run_if_due` would delete now."""
        return time.monotonic() >= self._due_at_s

    def run_if_due(self) -> None:
        """Delete one chunk of each table if it is time; a full chunk makes the next one due at once."""
        if not self.is_due():
            return
        with self.engine.begin() as connection:
            deleted = self._delete(connection, self._bounds(connection, int(time.time() * 1e6)))
        for (table, reason), rows in deleted.items():
            self.metrics.expired.labels(table, reason).inc(rows)
        if max(deleted.values()) < self.chunk_rows:
            self._due_at_s, self._full_before_us = time.monotonic() + self.every_s, None

    def _bounds(self, connection: Connection, now_us: int) -> dict[str, Bound]:
        if self._full_before_us is None:
            self._full_before_us = self.room.full_before_us(connection, self.metrics)
        kept_s, dead_letters_kept_s = self.kept_s
        too_old_us = dict.fromkeys(RECORDS, now_us - int(kept_s * 1e6))
        too_old_us[dead_letters.name] = now_us - int(dead_letters_kept_s * 1e6)
        return {name: max((too_old_us[name], "age"), (self._full_before_us[name], "room")) for name in RECORDS}

    def _delete(self, connection: Connection, bounds: Mapping[str, Bound]) -> dict[tuple[str, str], int]:
        deleted: Counter[tuple[str, str]] = Counter()

        def is_done(table: Table, bound: Bound) -> bool:
            before_us, reason = bound
            rows = delete_old(connection, table, before_us, self.chunk_rows)
            deleted[table.name, reason] += rows
            return rows < self.chunk_rows

        # A superseded match must not come to life again while it waits to be deleted. It was received no later than
        # what supersedes it: once no match from before is left, their supersessions are forgotten.
        of_evidence = evidence.name, bounds[matches.name][1]
        deleted[of_evidence] = delete_evidence(connection, bounds[matches.name][0], self.chunk_rows)
        oldest_are_gone = is_done(matches, bounds[matches.name])
        if any(deleted.values()):
            forget_blocks(connection)
        if oldest_are_gone:
            oldest_us = connection.execute(select(func.min(matches.c.received_at_us))).scalar_one() or 0
            is_done(supersessions, max(bounds[matches.name], (oldest_us, "age")))
        is_done(evidence, bounds[evidence.name])
        # The revision that counts of an episode was received when the episode was, and goes after it.
        if is_done(episodes, bounds[episode_revisions.name]):
            is_done(episode_revisions, bounds[episode_revisions.name])
        # The outbox of an alert goes before its transitions, which say what is in it, and these before the alert.
        for table in (deliveries, alert_transitions, alerts):
            if not is_done(table, bounds[alert_transitions.name]):
                break
        is_done(dead_letters, bounds[dead_letters.name])
        return deleted

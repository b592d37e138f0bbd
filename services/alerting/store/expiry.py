"""Retention: old rows are deleted in chunks so small that storing never waits long."""

import time
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, Table, delete, func, select, tuple_

from services.alerting.metrics import Metrics
from services.alerting.store.tables import (
    alert_transitions,
    alerts,
    dead_letters,
    deliveries,
    episode_revisions,
    episodes,
    matches,
    supersessions,
)

EVER_US = 2**62


def delete_old(connection: Connection, table: Table, before_us: int, limit: int) -> int:
    """Delete up to `limit` rows received before `before_us`, the oldest first; return how many."""
    key = list(table.primary_key.columns)
    received_at_us = table.c.received_at_us
    old = select(*key).where(received_at_us < before_us).order_by(received_at_us)
    return connection.execute(delete(table).where(tuple_(*key).in_(old.limit(limit)))).rowcount


@dataclass(frozen=True)
class Room:
    """Most matches that are kept, and most bytes of their records; the oldest beyond are deleted before their time."""

    rows: int
    record_bytes: int

    def excess(self, connection: Connection, metrics: Metrics) -> int:
        """Count the matches beyond, and show how much is stored; the newest records say how long one is."""
        rows = connection.execute(select(func.count()).select_from(matches)).scalar_one()
        newest = select(matches.c.body).order_by(matches.c.sequence.desc()).limit(NEWEST).subquery()
        length = connection.execute(select(func.avg(func.length(newest.c.body)))).scalar_one() or 0
        metrics.stored_matches.set(rows)
        metrics.stored_match_bytes.set(rows * float(length))
        most = min(self.rows, int(self.record_bytes / float(length))) if length else self.rows
        return max(0, rows - most)


NEWEST = 1000


@dataclass
class Expiry:
    """Deletes one chunk a call while there is something to delete, then rests.

    Age counts from when ingest received a match's last member, or the newest detection of an episode or of what an
    alert is about, and from when a dead letter entered its topic, so that filling the database again does not make
    old records young. Matches are counted once a round.
    """

    engine: Engine
    metrics: Metrics
    kept_s: tuple[float, float]  # matches, episodes and alerts; dead letters
    room: Room
    chunk_rows: int
    every_s: float
    _due_at_s: float = 0.0
    _excess: int | None = None

    def is_due(self) -> bool:
        """Whether `run_if_due` would delete now."""
        return time.monotonic() >= self._due_at_s

    def run_if_due(self) -> None:
        """Delete one chunk of each table if it is time; a full chunk makes the next one due at once."""
        if not self.is_due():
            return
        now_s = time.time()
        with self.engine.begin() as connection:
            deleted = self._delete(connection, now_s)
        for table, rows in deleted.items():
            self.metrics.expired.labels(table).inc(rows)
        if max(deleted.values()) < self.chunk_rows and not self._excess:
            self._due_at_s, self._excess = time.monotonic() + self.every_s, None

    def _delete(self, connection: Connection, now_s: float) -> dict[str, int]:
        def delete_from(table: Table, kept_s: float) -> int:
            return delete_old(connection, table, int((now_s - kept_s) * 1e6), self.chunk_rows)

        kept_s, dead_letters_kept_s = self.kept_s
        deleted = {table.name: delete_from(table, kept_s) for table in (matches, episodes)}
        deleted[matches.name] += self._make_room(connection, self.chunk_rows - deleted[matches.name])
        # A superseded match must not come to life again while it waits to be deleted. It was received no later than
        # what supersedes it: once no match from before is left, their supersessions are forgotten.
        if deleted[matches.name] < self.chunk_rows:
            oldest_us = connection.execute(select(func.min(matches.c.received_at_us))).scalar_one() or 0
            before_us = max(int((now_s - kept_s) * 1e6), oldest_us)
            deleted[supersessions.name] = delete_old(connection, supersessions, before_us, self.chunk_rows)
        # The revision that counts of an episode was received when the episode was, and goes after it.
        if deleted[episodes.name] < self.chunk_rows:
            deleted[episode_revisions.name] = delete_from(episode_revisions, kept_s)
        # The outbox of an alert goes before its transitions, which say what is in it, and these before the alert.
        for table in (deliveries, alert_transitions, alerts):
            deleted[table.name] = delete_from(table, kept_s)
            if deleted[table.name] == self.chunk_rows:
                break
        deleted[dead_letters.name] = delete_from(dead_letters, dead_letters_kept_s)
        return deleted

    def _make_room(self, connection: Connection, limit: int) -> int:
        """Delete up to so many of the oldest matches beyond the bounds; return how many."""
        if self._excess is None:
            self._excess = self.room.excess(connection, self.metrics)
        deleted = delete_old(connection, matches, EVER_US, min(limit, self._excess))
        self._excess -= deleted
        return deleted

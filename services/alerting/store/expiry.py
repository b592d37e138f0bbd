"""Retention: delete what is too old, in chunks small enough that storing never waits long."""

import time

from sqlalchemy import Column, Connection, Engine, delete, select

from services.alerting.metrics import Metrics
from services.alerting.store.tables import dead_letters, episode_revisions, episodes, matches, supersessions


def delete_old_matches(connection: Connection, before_us: int, limit: int) -> int:
    """Delete up to `limit` matches whose last member was received before `before_us`; return how many."""
    return _delete_old(connection, matches.c.sequence, before_us, limit)


def delete_old_supersessions(connection: Connection, before_us: int, limit: int) -> int:
    """Forget up to `limit` supersessions by matches received before `before_us`; return how many.

    For when no match from before is left: what is superseded was received no later than what supersedes it, and must
    not come to life again while it waits to be deleted.
    """
    return _delete_old(connection, supersessions.c.superseded, before_us, limit)


def delete_old_episodes(connection: Connection, before_us: int, limit: int) -> int:
    """Delete up to `limit` episodes whose newest detection was received before `before_us`; return how many."""
    return _delete_old(connection, episodes.c.id, before_us, limit)


def delete_old_revisions(connection: Connection, before_us: int, limit: int) -> int:
    """Delete up to `limit` revisions of episodes whose newest detection was received before `before_us`.

    For when no episode from before is left: what counts of an episode was received when the episode was.
    """
    return _delete_old(connection, episode_revisions.c.sequence, before_us, limit)


def delete_old_dead_letters(connection: Connection, before_us: int, limit: int) -> int:
    """Delete up to `limit` dead letters that entered Kafka before `before_us`; return how many."""
    return _delete_old(connection, dead_letters.c.sequence, before_us, limit)


def _delete_old(connection: Connection, key: Column[int] | Column[str], before_us: int, limit: int) -> int:
    received_at_us = key.table.c.received_at_us
    old = select(key).where(received_at_us < before_us).order_by(received_at_us)
    return connection.execute(delete(key.table).where(key.in_(old.limit(limit)))).rowcount


class Expiry:
    """Deletes one chunk a call while there is something to delete, then rests.

    Age counts from when ingest received a match's last member, or an episode's newest detection, and from when a dead
    letter entered its topic, so that filling the database again does not make old records young. An episode's earlier
    revisions go as they age; the one that counts goes after the episode.
    """

    def __init__(
        self, engine: Engine, metrics: Metrics, kept_s: tuple[float, float], chunk_rows: int, every_s: float
    ) -> None:
        self._engine = engine
        self._metrics = metrics
        self._matches_kept_s, self._dead_letters_kept_s = kept_s
        self._chunk_rows = chunk_rows
        self._every_s = every_s
        self._due_at_s = 0.0

    def is_due(self) -> bool:
        """Whether `run_if_due` would delete now."""
        return time.monotonic() >= self._due_at_s

    def run_if_due(self) -> None:
        """Delete one chunk of each table if it is time; a full chunk makes the next one due at once."""
        if not self.is_due():
            return
        now_s = time.time()
        with self._engine.begin() as connection:
            deleted = self._delete(connection, now_s)
        for table, rows in deleted.items():
            self._metrics.expired.labels(table).inc(rows)
        if max(deleted.values()) < self._chunk_rows:
            self._due_at_s = time.monotonic() + self._every_s

    def _delete(self, connection: Connection, now_s: float) -> dict[str, int]:
        limit, before_us = self._chunk_rows, _us(now_s - self._matches_kept_s)
        matches = delete_old_matches(connection, before_us, limit)
        letters = delete_old_dead_letters(connection, _us(now_s - self._dead_letters_kept_s), limit)
        supersessions = delete_old_supersessions(connection, before_us, limit) if matches < limit else 0
        episodes = delete_old_episodes(connection, before_us, limit)
        revisions = delete_old_revisions(connection, before_us, limit) if episodes < limit else 0
        return {
            "matches": matches,
            "supersessions": supersessions,
            "episodes": episodes,
            "episode_revisions": revisions,
            "dead_letters": letters,
        }


def _us(seconds: float) -> int:
    return int(seconds * 1e6)

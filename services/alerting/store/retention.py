"""Deleting what is too old, a bounded chunk at a time."""

from sqlalchemy import Column, Connection, delete, select

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

"""Deleting what is too old, a bounded chunk at a time."""

from sqlalchemy import Connection, Table, delete, select

from services.alerting.store.tables import dead_letters, matches


def delete_old_matches(connection: Connection, before_us: int, limit: int) -> int:
    """Delete up to `limit` matches that entered Kafka before `before_us`; return how many."""
    return _delete_old(connection, matches, before_us, limit)


def delete_old_dead_letters(connection: Connection, before_us: int, limit: int) -> int:
    """Delete up to `limit` dead letters that entered Kafka before `before_us`; return how many."""
    return _delete_old(connection, dead_letters, before_us, limit)


def _delete_old(connection: Connection, table: Table, before_us: int, limit: int) -> int:
    old = select(table.c.sequence).where(table.c.received_at_us < before_us).order_by(table.c.received_at_us)
    return connection.execute(delete(table).where(table.c.sequence.in_(old.limit(limit)))).rowcount

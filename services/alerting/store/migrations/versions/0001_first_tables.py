"""The tables of 0.1, as they were then: `store/tables.py` has them as they are now."""

import time
from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# SQLite keeps a table in the order of a key that is declared INTEGER.
SEQUENCE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    _create_matches()
    _create_episodes()
    _create(
        "dead_letters",
        sa.Column("sequence", SEQUENCE, primary_key=True),
        _text("id", unique=True),
        _text("source"),
        _text("reason"),
        _text("area", nullable=True),
        _text("sensor", nullable=True),
        _integer("received_at_us"),
        _text("body"),
        indexes=[("reason", "sequence"), ("received_at_us",)],
        sqlite_autoincrement=True,
    )
    _create_queries("queries", is_history=False)
    _create_queries("query_versions", is_history=True)
    _create("shard_status", _text("key", primary_key=True), _text("body"))
    _create(
        "positions",
        _text("topic", primary_key=True),
        sa.Column("partition", sa.Integer(), primary_key=True),
        _text("topic_id"),
        _integer("next_offset"),
    )


def _create_matches() -> None:
    _create(
        "matches",
        sa.Column("sequence", SEQUENCE, primary_key=True),
        _text("id", unique=True),
        _text("query"),
        _integer("query_version"),
        _text("area"),
        sa.Column("probability", sa.Double(), nullable=False),
        _integer("earliest_us"),
        _integer("latest_us"),
        _integer("received_at_us"),
        _text("sensors"),
        _text("body"),
        indexes=[("query", "sequence"), ("area", "sequence"), ("received_at_us",)],
        sqlite_autoincrement=True,
    )
    _start_sequence_at("matches", time.time_ns() // 1000)
    _create(
        "supersessions",
        _text("superseded", primary_key=True),
        _text("superseded_by"),
        _integer("received_at_us"),
        indexes=[("superseded_by",), ("received_at_us",)],
        sqlite_with_rowid=False,
    )


def _create_episodes() -> None:
    """Create the tables of episodes; their sequences come from the one that numbers the matches."""
    _create(
        "episodes",
        _text("id", primary_key=True),
        _integer("sequence", unique=True),
        _integer("changed_sequence", unique=True),
        _text("query"),
        _text("area"),
        _integer("revision"),
        sa.Column("rank", sa.Integer(), nullable=False),
        _integer("start_us", nullable=True),
        _integer("end_us", nullable=True),
        _integer("count", nullable=True),
        sa.Column("best_probability", sa.Double()),
        _integer("received_at_us"),
        indexes=[("query", "sequence"), ("area", "sequence"), ("received_at_us",)],
    )
    _create(
        "episode_revisions",
        sa.Column("sequence", SEQUENCE, primary_key=True, autoincrement=False),
        _text("id"),
        _integer("revision"),
        sa.Column("rank", sa.Integer(), nullable=False),
        _integer("received_at_us"),
        _integer("stored_at_us"),
        _text("body"),
        indexes=[("id", "sequence"), ("received_at_us",)],
    )


def _create_queries(table: str, *, is_history: bool) -> None:
    _create(
        table,
        _text("id", primary_key=True),
        sa.Column("version", sa.BigInteger(), primary_key=is_history, nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("removed", sa.Boolean(), nullable=False),
        _integer("changed_at_us"),
        _text("body", nullable=True),
    )


def _create(table: str, *columns: sa.Column[Any], indexes: list[tuple[str, ...]] | None = None, **options: Any) -> None:
    op.create_table(table, *columns, **options)
    for index in indexes or []:
        op.create_index(f"ix_{table}_{'_'.join(index)}", table, list(index))


def _text(name: str, *, nullable: bool = False, **options: Any) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable, **options)


def _integer(name: str, *, nullable: bool = False, **options: Any) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=nullable, **options)


def _start_sequence_at(table: str, first: int) -> None:
    # A database made anew goes on above the sequences of the one before, so that a Last-Event-ID from then is below
    # everything in it: its reader gets all of it again rather than a part. In microseconds of today it stays
    # below 2**53, which is as far as JavaScript counts.
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER SEQUENCE {table}_sequence_seq RESTART WITH {first}")
    else:
        op.execute(f"INSERT INTO sqlite_sequence (name, seq) VALUES ('{table}', {first})")  # noqa: S608

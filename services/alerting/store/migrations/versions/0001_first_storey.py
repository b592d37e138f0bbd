"""Matches, dead letters, queries and their versions, shard status, topic positions."""

import time

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

SEQUENCE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables."""
    _create_matches()
    _create_dead_letters()
    _create_queries("queries", "id")
    _create_queries("query_versions", "id", "version")
    op.create_table(
        "shard_status",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_shard_status"),
    )
    op.create_table(
        "positions",
        sa.Column("topic", sa.Text(), nullable=False),
        sa.Column("partition", sa.Integer(), nullable=False),
        sa.Column("topic_id", sa.Text(), nullable=False),
        sa.Column("next_offset", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("topic", "partition", name="pk_positions"),
    )


def downgrade() -> None:
    """Drop the tables; what they held is still in Kafka, as far back as its retention goes."""
    for table in ("positions", "shard_status", "query_versions", "queries", "dead_letters", "match_sensors", "matches"):
        op.drop_table(table)


def _create_matches() -> None:
    op.create_table(
        "matches",
        sa.Column("sequence", SEQUENCE, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("query_version", sa.BigInteger(), nullable=False),
        sa.Column("area", sa.Text(), nullable=False),
        sa.Column("probability", sa.Double(), nullable=False),
        sa.Column("earliest_us", sa.BigInteger(), nullable=False),
        sa.Column("latest_us", sa.BigInteger(), nullable=False),
        sa.Column("received_at_us", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name="pk_matches"),
        sa.UniqueConstraint("id", name="uq_matches_id"),
        sqlite_autoincrement=True,
    )
    _start_sequence_at("matches", time.time_ns() // 1000)
    op.create_index("ix_matches_query_sequence", "matches", ["query", "sequence"])
    op.create_index("ix_matches_area_sequence", "matches", ["area", "sequence"])
    op.create_index("ix_matches_received_at_us", "matches", ["received_at_us"])
    op.create_table(
        "match_sensors",
        sa.Column("sensor", sa.Text(), nullable=False),
        sa.Column("match_sequence", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("sensor", "match_sequence", name="pk_match_sensors"),
        sa.ForeignKeyConstraint(
            ["match_sequence"], ["matches.sequence"], name="fk_match_sensors_match_sequence_matches", ondelete="CASCADE"
        ),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_match_sensors_match_sequence", "match_sensors", ["match_sequence"])


def _create_dead_letters() -> None:
    op.create_table(
        "dead_letters",
        sa.Column("sequence", SEQUENCE, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("area", sa.Text()),
        sa.Column("sensor", sa.Text()),
        sa.Column("received_at_us", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name="pk_dead_letters"),
        sa.UniqueConstraint("id", name="uq_dead_letters_id"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_dead_letters_reason_sequence", "dead_letters", ["reason", "sequence"])
    op.create_index("ix_dead_letters_received_at_us", "dead_letters", ["received_at_us"])


def _start_sequence_at(table: str, first: int) -> None:
    # A database made anew goes on above the sequences of the one before, so that a Last-Event-ID from then is below
    # everything in it: its reader gets all of it again rather than a part. In microseconds of today it stays
    # below 2**53, which is as far as JavaScript counts.
    if op.get_bind().dialect.name == "postgresql":
        op.execute(f"ALTER SEQUENCE {table}_sequence_seq RESTART WITH {first}")
    else:
        op.execute(f"INSERT INTO sqlite_sequence (name, seq) VALUES ('{table}', {first})")  # noqa: S608


def _create_queries(table: str, *key: str) -> None:
    op.create_table(
        table,
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("paused", sa.Boolean(), nullable=False),
        sa.Column("removed", sa.Boolean(), nullable=False),
        sa.Column("changed_at_us", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text()),
        sa.PrimaryKeyConstraint(*key, name=f"pk_{table}"),
    )

"""Episodes and their revisions."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# SQLite keeps a table in the order of a key that is declared INTEGER.
SEQUENCE = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    """Create the tables; their sequences come from the one that numbers the matches."""
    op.create_table(
        "episodes",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("changed_sequence", sa.BigInteger(), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("area", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("start_us", sa.BigInteger()),
        sa.Column("end_us", sa.BigInteger()),
        sa.Column("count", sa.BigInteger()),
        sa.Column("best_probability", sa.Double()),
        sa.Column("received_at_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_episodes"),
        sa.UniqueConstraint("sequence", name="uq_episodes_sequence"),
        sa.UniqueConstraint("changed_sequence", name="uq_episodes_changed_sequence"),
    )
    op.create_index("ix_episodes_query_sequence", "episodes", ["query", "sequence"])
    op.create_index("ix_episodes_area_sequence", "episodes", ["area", "sequence"])
    op.create_index("ix_episodes_received_at_us", "episodes", ["received_at_us"])
    op.create_table(
        "episode_revisions",
        sa.Column("sequence", SEQUENCE, autoincrement=False, nullable=False),
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("rank", sa.Integer(), nullable=False),
        sa.Column("received_at_us", sa.BigInteger(), nullable=False),
        sa.Column("stored_at_us", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("sequence", name="pk_episode_revisions"),
    )
    op.create_index("ix_episode_revisions_id_sequence", "episode_revisions", ["id", "sequence"])
    op.create_index("ix_episode_revisions_received_at_us", "episode_revisions", ["received_at_us"])


def downgrade() -> None:
    """Drop the tables; what they held is still in Kafka, as far back as its retention goes."""
    op.drop_table("episode_revisions")
    op.drop_table("episodes")

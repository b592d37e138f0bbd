"""How sure it is that episodes are one event, see `store/episode_sureness.py`."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"


def upgrade() -> None:
    """Create the table; an episode that there is stands in it from its next revision, or next evidence, on."""
    op.create_table(
        "episode_sureness",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("posterior", sa.Double(), nullable=False),
        sa.Column("told_sequence", sa.BigInteger(), nullable=False),
    )
    for name in ("posterior", "query_posterior"):
        columns = [*name.split("_"), "sequence"]
        op.create_index(f"ix_episode_sureness_{name}_sequence", "episode_sureness", columns)
    op.create_index("ix_episode_sureness_told_sequence", "episode_sureness", ["told_sequence"])

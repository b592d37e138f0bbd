"""Within what time the matches of each block lie, see `store/match_blocks.py`."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"


def upgrade() -> None:
    """Create the table, and fill it from the matches that there are."""
    op.create_table(
        "match_blocks",
        sa.Column("block", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("earliest_us", sa.BigInteger(), nullable=False),
        sa.Column("latest_us", sa.BigInteger(), nullable=False),
    )
    op.execute(
        "INSERT INTO match_blocks (block, earliest_us, latest_us) "
        "SELECT sequence / 4096, min(earliest_us), max(latest_us) FROM matches GROUP BY sequence / 4096"
    )

"""Whether the members of a match are of one event, see `store/evidence_rows.py`."""

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"

INDEXES = ("query", "sequence"), ("posterior", "sequence"), ("query", "posterior", "sequence"), ("received_at_us",)


def upgrade() -> None:
    """Create the table; no match that there is has evidence yet."""
    op.create_table(
        "evidence",
        sa.Column("id", sa.Text(), primary_key=True),
        sa.Column("sequence", sa.BigInteger(), nullable=False, unique=True),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("area", sa.Text(), nullable=False),
        sa.Column("posterior", sa.Double(), nullable=True),
        sa.Column("received_at_us", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.Text(), nullable=False),
    )
    for columns in INDEXES:
        op.create_index(f"ix_evidence_{'_'.join(columns)}", "evidence", list(columns))

"""Which match superseded which."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create the table; no match stored before it exists supersedes another."""
    op.create_table(
        "supersessions",
        sa.Column("superseded", sa.Text(), nullable=False),
        sa.Column("superseded_by", sa.Text(), nullable=False),
        sa.Column("received_at_us", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("superseded", name="pk_supersessions"),
        sqlite_with_rowid=False,
    )
    op.create_index("ix_supersessions_superseded_by", "supersessions", ["superseded_by"])
    op.create_index("ix_supersessions_received_at_us", "supersessions", ["received_at_us"])


def downgrade() -> None:
    """Drop the table; matches still say what they supersede."""
    op.drop_table("supersessions")

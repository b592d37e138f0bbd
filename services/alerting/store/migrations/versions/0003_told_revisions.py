"""Of which alert a delivery tells, and at which revision of its source."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    """Add the columns."""
    for name in ("alert", "change"):
        op.add_column("deliveries", sa.Column(name, sa.Text(), nullable=True))
    op.add_column("deliveries", sa.Column("revision", sa.BigInteger(), nullable=True))
    op.create_index("ix_deliveries_alert_revision", "deliveries", ["alert", "revision"])

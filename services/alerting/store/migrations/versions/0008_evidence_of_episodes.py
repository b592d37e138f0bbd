"""Which detections evidence and episodes are about, see `store/episode_evidence.py`."""

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"


def upgrade() -> None:
    """Create the tables; an episode that there is has evidence from its next revision on."""
    _create("evidence_members", sa.Column("belongs", sa.Double(), nullable=False))
    _create("episode_members")


def _create(table: str, *others: sa.Column[float]) -> None:
    key = (sa.Column(name, sa.Text(), primary_key=True) for name in ("id", "sensor", "detection"))
    op.create_table(table, *key, *others, sqlite_with_rowid=False)
    op.create_index(f"ix_{table}_sensor_detection", table, ["sensor", "detection"])

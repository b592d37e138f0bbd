"""The tables of alerts, as they were then: `store/tables.py` has them as they are now."""

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    """Create the tables."""
    _create(
        "alerts",
        _text("id", primary_key=True),
        _integer("sequence", unique=True),
        _integer("changed_sequence", unique=True),
        *(_text(name) for name in ("kind", "query", "area", "severity", "state")),
        _text("withheld", nullable=True),
        _integer("fired_at_us"),
        _integer("resolve_at_us", nullable=True),
        _integer("received_at_us"),
        _text("body"),
        indexes=[
            *((name, "sequence") for name in ("kind", "severity", "state", "query", "area")),
            ("query", "fired_at_us"),
            ("resolve_at_us",),
            ("withheld",),
            ("received_at_us",),
        ],
    )
    _create(
        "alert_transitions",
        _text("key", primary_key=True),
        _integer("sequence", unique=True),
        _text("alert"),
        _text("kind"),
        _integer("at_us"),
        _integer("received_at_us"),
        _text("body"),
        indexes=[("alert", "sequence"), ("received_at_us",)],
    )
    _create(
        "deliveries",
        _text("receiver", primary_key=True),
        _text("key", primary_key=True),
        _integer("sequence"),
        _text("state"),
        _integer("since_us"),
        _integer("attempts"),
        _text("reason", nullable=True),
        _integer("received_at_us"),
        indexes=[("receiver", "state", "sequence"), ("receiver", "sequence"), ("received_at_us",)],
    )
    _create("alert_controls", _text("key", primary_key=True), _text("body"), indexes=[])


def _create(table: str, *columns: sa.Column[Any], indexes: list[tuple[str, ...]]) -> None:
    op.create_table(table, *columns)
    for index in indexes:
        op.create_index(f"ix_{table}_{'_'.join(index)}", table, list(index))


def _text(name: str, *, nullable: bool = False, **options: Any) -> sa.Column[str]:
    return sa.Column(name, sa.Text(), nullable=nullable, **options)


def _integer(name: str, *, nullable: bool = False, **options: Any) -> sa.Column[int]:
    return sa.Column(name, sa.BigInteger(), nullable=nullable, **options)

"""Which matches are of a sensor, block by block, see `store/match_blocks.py`; no longer a text in each match."""

import sqlalchemy as sa
from alembic import op

revision = "0006"
down_revision = "0005"

#: The text had a line for each member, with its sensor as JSON.
LIST = "'[' || replace(trim(sensors, :line), :line, ',') || ']'"
SENSORS = {
    "sqlite": f"json_each({LIST}) AS named",
    "postgresql": f"json_array_elements_text(({LIST})::json) AS named(value)",
}


def upgrade() -> None:
    """Create the table, fill it from the matches that there are, and drop the text."""
    op.create_table(
        "match_sensors",
        sa.Column("block", sa.BigInteger(), primary_key=True, autoincrement=False),
        sa.Column("sensor", sa.Text(), primary_key=True),
        sa.Column("sequence", sa.BigInteger(), primary_key=True, autoincrement=False),
        sqlite_with_rowid=False,
    )
    rows = "SELECT DISTINCT sequence / 4096, named.value, sequence FROM matches CROSS JOIN "
    fill = f"INSERT INTO match_sensors (block, sensor, sequence) {rows}{SENSORS[op.get_bind().dialect.name]}"
    op.execute(sa.text(fill).bindparams(line="\n"))
    op.drop_column("matches", "sensors")

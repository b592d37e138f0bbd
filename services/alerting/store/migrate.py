"""Bringing the database to the newest schema, at every start."""

from pathlib import Path

from alembic import command
from alembic.config import Config
from sqlalchemy import Engine

from services.alerting.store.dialect import migration_lock

MIGRATIONS = Path(__file__).parent / "migrations"


def migrate(engine: Engine) -> None:
    """Apply the migrations that `engine`'s database lacks, in one transaction, under the migration lock."""
    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    with migration_lock(engine), engine.begin() as connection:
        config.attributes["connection"] = connection
        command.upgrade(config, "head")

"""Episodes as the database has them, for the tests."""

import json
from typing import Any

from sqlalchemy import Engine, func, select

from services.alerting.metrics import Metrics
from services.alerting.store.episode_rows import read_episode, read_revisions
from services.alerting.store.tables import metadata


def current(engine: Engine, id_: str = "e-1") -> dict[str, Any] | None:
    with engine.connect() as connection:
        body = read_episode(connection, id_)
    return None if body is None else json.loads(body)


def revisions(engine: Engine, id_: str = "e-1") -> list[tuple[int, str]]:
    """Revision and state of every one kept, oldest first."""
    with engine.connect() as connection:
        bodies = [json.loads(body) for _, body in read_revisions(connection, id_, None, 1000)]
    return [(body["revision"], state_of(body)) for body in reversed(bodies)]


def state_of(body: dict[str, Any]) -> str:
    if body.get("retracted"):
        return "retracted"
    return "open" if body["open"] else "final" if body["final"] else "closed"


def rows(engine: Engine, table: str) -> int:
    with engine.connect() as connection:
        return connection.execute(select(func.count()).select_from(metadata.tables[table])).scalar_one()


def counted(metrics: Metrics, name: str, **labels: str) -> float:
    return metrics.registry.get_sample_value(f"coincide_alerting_{name}", labels) or 0.0

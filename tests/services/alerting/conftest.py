"""Fixtures of the alerting tests: a database of their own, and an app whose Kafka is a list."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import Engine

from services.alerting.kafka.storing import Storage
from services.alerting.metrics import Metrics
from services.alerting.store.dialect import migrate, open_engine
from tests.services.alerting.clients import Api, Live, running_api


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    engine = open_engine(f"sqlite:///{tmp_path / 'alerting.sqlite3'}")
    migrate(engine)
    yield engine
    engine.dispose()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics(CollectorRegistry())


@pytest.fixture
def storage(engine: Engine, metrics: Metrics) -> Storage:
    return Storage(engine, metrics)


@pytest.fixture
def api(engine: Engine, storage: Storage, metrics: Metrics) -> Iterator[Api]:
    with running_api(engine, storage, metrics) as api:
        yield api


@pytest.fixture
async def live(
    engine: Engine, storage: Storage, metrics: Metrics, request: pytest.FixtureRequest
) -> AsyncIterator[Live]:
    """A live stream; a test may give `readers_max` or `queue_matches` as the parameter of this fixture."""
    bounds = {"readers_max": 100, "queue_matches": 10_000, **getattr(request, "param", {})}
    live = Live(engine, storage, metrics, **bounds)
    yield live
    live.hub.close()
    await live.ended()

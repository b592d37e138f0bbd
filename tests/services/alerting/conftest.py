"""Fixtures of the alerting tests: a database of their own, and an app whose Kafka is a list."""

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import Engine

from services.alerting.kafka.sorting import Sorter
from services.alerting.kafka.storing import Intake
from services.alerting.metrics import Metrics
from services.alerting.store.dialect import migrate, open_engine
from tests.services.alerting.live_clients import Live, OpenLive
from tests.services.alerting.records import TOPICS


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
def intake(engine: Engine, metrics: Metrics) -> Intake:
    return Intake(engine, TOPICS, metrics, Sorter(TOPICS, metrics))


@pytest.fixture
def live(engine: Engine, intake: Intake, metrics: Metrics) -> OpenLive:
    @asynccontextmanager
    async def open_live(readers_max: int = 100, queue_matches: int = 10_000) -> AsyncIterator[Live]:
        opened = Live(engine, intake, metrics, readers_max, queue_matches)
        yield opened
        opened.hub.close()
        await opened.ended()

    return open_live

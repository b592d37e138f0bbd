"""Fixtures of the alerting tests: a database of their own, and an app whose Kafka is a list."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry
from sqlalchemy import Engine

from services.alerting.batch import Sorter
from services.alerting.intake import Intake
from services.alerting.metrics import Metrics
from services.alerting.store.dialect import open_engine
from services.alerting.store.migrate import migrate
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

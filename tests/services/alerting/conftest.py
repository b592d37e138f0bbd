"""Fixtures of the alerting tests: a database of their own, and an app whose Kafka is a list."""

import shutil
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Engine

from services.alerting.live.hub import LiveHub
from services.alerting.store.dialect import migrate, open_engine
from tests.services.alerting.clients import Api, Live, running_api
from tests.services.alerting.records import Database


@pytest.fixture(scope="session")
def empty_database(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database that was migrated once, to be copied."""
    path = tmp_path_factory.mktemp("migrated") / "alerting.sqlite3"
    engine = open_engine(f"sqlite:///{path}")
    migrate(engine)
    engine.dispose()
    return path


@contextmanager
def copied(database: Path, folder: Path) -> Iterator[Engine]:
    engine = open_engine(f"sqlite:///{shutil.copy(database, folder)}")
    yield engine
    engine.dispose()


@pytest.fixture
def engine(tmp_path: Path, empty_database: Path) -> Iterator[Engine]:
    with copied(empty_database, tmp_path) as engine:
        yield engine


@pytest.fixture
def another_engine(tmp_path_factory: pytest.TempPathFactory, empty_database: Path) -> Iterator[Engine]:
    """One for a database that is made anew."""
    with copied(empty_database, tmp_path_factory.mktemp("anew")) as engine:
        yield engine


@pytest.fixture
def database(engine: Engine) -> Database:
    return Database(engine)


@pytest.fixture
def api(database: Database) -> Iterator[Api]:
    with running_api(database) as api:
        yield api


@pytest.fixture(scope="module")
def quiet_api(empty_database: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The API for all tests of a module whose requests are refused, and so change nothing."""
    with copied(empty_database, tmp_path_factory.mktemp("quiet")) as engine, running_api(Database(engine)) as api:
        yield api


@pytest.fixture
async def live(database: Database, request: pytest.FixtureRequest) -> AsyncIterator[Live]:
    """A live stream; a test may give `readers_max` or `queue_max` as the parameter of this fixture."""
    bounds = {"readers_max": 100, "queue_max": 10_000, **getattr(request, "param", {})}
    live = Live(database, LiveHub(database.metrics, **bounds))
    yield live
    live.hub.close()
    await live.ended()

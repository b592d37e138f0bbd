"""Fixtures of the alerting tests: a database of their own, and an app whose Kafka is a list."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine

from services.alerting.live.hub import LiveHub
from tests.postgresql import Server, running_server
from tests.services.alerting.clients import Api, Live, running_api
from tests.services.alerting.databases import (
    IN_POSTGRESQL,
    Databases,
    PostgresqlDatabases,
    SqliteDatabases,
    migrated,
    run_on_both,
)
from tests.services.alerting.sample_records import Database


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run tests of what reads and writes rows on SQLite and on PostgreSQL, but for one that says on which."""
    is_said = any(each.args[0] == "databases" for each in metafunc.definition.iter_markers("parametrize"))
    if "databases" in metafunc.fixturenames and not is_said and run_on_both(metafunc.definition.path):
        metafunc.parametrize("databases", ["sqlite", IN_POSTGRESQL], indirect=True)


@pytest.fixture(scope="session")
def empty_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A database of SQLite that was migrated once, to be copied."""
    path = tmp_path_factory.mktemp("migrated") / "alerting.sqlite3"
    migrated(f"sqlite:///{path}")
    return path


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """A PostgreSQL of its own for the whole test session."""
    with running_server() as server:
        yield server


@pytest.fixture(scope="session")
def empty_template(server: Server) -> str:
    """A database of PostgreSQL that was migrated once, to be copied."""
    name = server.create()
    migrated(server.url(name))
    return name


@pytest.fixture
def databases(request: pytest.FixtureRequest, tmp_path: Path, empty_file: Path) -> Iterator[Databases]:
    """What makes databases of the kind that is the parameter of this fixture; SQLite's where there is none."""
    made: Databases
    if getattr(request, "param", "sqlite") == "postgresql":
        made = PostgresqlDatabases(request.getfixturevalue("empty_template"), request.getfixturevalue("server"))
    else:
        made = SqliteDatabases(empty_file, tmp_path)
    yield made
    made.close()


@pytest.fixture
def engine(databases: Databases) -> Engine:
    return databases.engine()


@pytest.fixture
def another_engine(databases: Databases) -> Engine:
    """One for a database that is made anew."""
    return databases.engine()


@pytest.fixture
def database(engine: Engine) -> Database:
    return Database(engine)


@pytest.fixture
def api(database: Database) -> Iterator[Api]:
    with running_api(database) as api:
        yield api


@pytest.fixture(scope="module")
def quiet_api(empty_file: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    """The API for all tests of a module whose requests are refused, and so change nothing."""
    databases = SqliteDatabases(empty_file, tmp_path_factory.mktemp("quiet"))
    with running_api(Database(databases.engine())) as api:
        yield api
    databases.close()


@pytest.fixture
async def live(database: Database, request: pytest.FixtureRequest) -> AsyncIterator[Live]:
    """A live stream; a test may give `readers_max` or `queue_max` as the parameter of this fixture."""
    bounds = {"readers_max": 100, "queue_max": 10_000, **getattr(request, "param", {})}
    live = Live(database, LiveHub(database.metrics, **bounds))
    yield live
    live.hub.close()
    await live.ended()

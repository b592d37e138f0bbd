"""Databases of one test: SQLite's are files, PostgreSQL's are on the one server of the test session."""

import shutil
from abc import ABC, abstractmethod
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import ClassVar

import pytest
from sqlalchemy import Engine

from services.alerting.store.dialect import migrate, open_engine
from tests.postgresql import Server

ON_SQLITE = pytest.mark.parametrize("databases", ["sqlite"], indirect=True)
#: The parameter of what asks for the server of all tests, while it runs.
IN_POSTGRESQL = pytest.param("postgresql", marks=pytest.mark.shares("postgresql"))
ON_POSTGRESQL = pytest.mark.parametrize("databases", [IN_POSTGRESQL], indirect=True)

HERE = Path(__file__).parent
#: The tests that run on both: those of what reads and writes rows. The others would see no difference.
ON_BOTH = (
    "leadership/",
    "store/",
    "following/",
    "alerts/test_raising.py",
    "alerts/test_sure_alerts.py",
    "alerts/test_sure_episodes.py",
    "alerts/test_system_conditions.py",
    "api/test_alerts.py",
    "api/test_episodes.py",
    "api/test_formats.py",
    "api/test_long_lists.py",
    "api/test_queries.py",
    "api/test_results.py",
    "live/test_live_alerts.py",
    "live/test_live_episodes.py",
    "receivers/test_sending.py",
)


def run_on_both(path: Path) -> bool:
    """Whether the tests of the module at `path` run on both."""
    gone = [each for each in ON_BOTH if not (HERE / each).exists()]
    assert not gone, f"{gone} are named to run on both, and are elsewhere now"
    within = path.relative_to(HERE).as_posix()
    return any(within.startswith(each) for each in ON_BOTH)


def migrated(url: str) -> None:
    """Migrate the database at `url`."""
    engine = open_engine(url)
    migrate(engine)
    engine.dispose()


class Databases(ABC):
    """Makes databases, which are gone once it is closed."""

    kind: ClassVar[str]

    def __init__(self) -> None:
        self._made = ExitStack()

    @abstractmethod
    def empty(self) -> str:
        """Return the URL of a database that nobody has migrated."""

    @abstractmethod
    def copied(self) -> str:
        """Return the URL of one that is migrated, and has no rows."""

    def open(self, url: str, busy_timeout_ms: int = 5000) -> Engine:
        """Return an engine that is disposed of at the end."""
        engine = open_engine(url, busy_timeout_ms)
        self._made.callback(engine.dispose)
        return engine

    def engine(self) -> Engine:
        """Return an engine for a migrated database without rows."""
        return self.open(self.copied())

    def close(self) -> None:
        """Let go of everything that was made, the last first."""
        self._made.close()


class SqliteDatabases(Databases):
    kind = "sqlite"

    def __init__(self, template: Path, folder: Path) -> None:
        super().__init__()
        self._template, self._folder, self._numbers = template, folder, count()

    def empty(self) -> str:
        return f"sqlite:///{self._path()}"

    def copied(self) -> str:
        return f"sqlite:///{shutil.copy(self._template, self._path())}"

    def _path(self) -> Path:
        folder = self._folder / f"database-{next(self._numbers)}"
        folder.mkdir()
        return folder / "alerting.sqlite3"


class PostgresqlDatabases(Databases):
    kind = "postgresql"

    def __init__(self, template: str, server: Server) -> None:
        super().__init__()
        self._template, self._server = template, server

    def empty(self) -> str:
        return self._create()

    def copied(self) -> str:
        return self._create(self._template)

    def _create(self, *template: str) -> str:
        name = self._server.create(*template)
        self._made.callback(self._server.drop, name)
        return self._server.url(name)

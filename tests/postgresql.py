"""A real PostgreSQL for tests, of its own user, in a folder of its own: it is reached by a socket in there alone."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import psycopg

from tests.needs import found
from tests.patience import until

OWNER = "coincide"
#: An order of texts that is not that of their code points, as most servers have.
CLUSTER = ("--encoding=UTF8", "--locale=C.UTF-8", "--locale-provider=icu", "--icu-locale=en")
#: The first version that copies the files of a template where it is told to: half of what it takes by its own way.
COPIES_FILES = 150_000
#: Nothing need survive a power cut.
HASTE = ("fsync=off", "synchronous_commit=off", "full_page_writes=off", "listen_addresses=", "max_connections=300")


def find_programs() -> Path:
    """Return the folder of PostgreSQL's programs."""
    return Path(found("postgresql"))


class Server:
    """A running server: makes databases, empty ones or copies of another."""

    def __init__(self, socket_folder: Path) -> None:
        self.address = f"host={socket_folder} user={OWNER}"
        self._folder = socket_folder
        self._numbers = count()

    def url(self, name: str) -> str:
        """Return the URL of a database."""
        return f"postgresql://{OWNER}@/{name}?host={self._folder}"

    def create(self, template: str = "template1") -> str:
        """Make a database, and return its name."""
        name = f"made_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}{self._strategy}")
        return name

    @cached_property
    def _strategy(self) -> str:
        [version] = self.execute("SHOW server_version_num")
        return " STRATEGY FILE_COPY" if int(version) >= COPIES_FILES else ""

    def drop(self, name: str) -> None:
        """Drop a database, whoever is connected."""
        self.execute(f"DROP DATABASE {name} WITH (FORCE)")

    def execute(self, statement: str) -> Any:
        """Execute one statement outside of all these databases; return the first row, if there are any."""
        with psycopg.connect(f"{self.address} dbname=postgres", autocommit=True) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchone() if cursor.description else None

    def answers(self) -> bool:
        """Whether it takes connections."""
        try:
            return bool(self.execute("SELECT true"))
        except psycopg.OperationalError:
            return False


@contextmanager
def running_server() -> Iterator[Server]:
    """Run a server until the end of the block. As it refuses to be root, the user postgres runs it there."""
    programs, folder = find_programs(), Path(tempfile.mkdtemp(prefix="coincide-postgresql-"))
    apart: dict[str, Any] = {}
    if os.geteuid() == 0:
        shutil.chown(folder, "postgres", "postgres")
        apart = {"user": "postgres", "group": "postgres", "extra_groups": []}
    try:
        made = (programs / "initdb", f"--pgdata={folder / 'data'}", f"--username={OWNER}", "--auth=trust", *CLUSTER)
        subprocess.run([*made, "--no-sync"], check=True, capture_output=True, cwd=folder, **apart)
        options = [word for setting in (*HASTE, f"unix_socket_directories={folder}") for word in ("-c", setting)]
        command = [str(programs / "postgres"), "-D", str(folder / "data"), *options]
        with (folder / "log").open("wb") as log, subprocess.Popen(command, stderr=log, cwd=folder, **apart) as process:
            server = Server(folder)
            try:
                until(server.answers, 60.0)
                yield server
            finally:
                process.send_signal(signal.SIGQUIT)  # at once: nothing need be kept
    finally:
        shutil.rmtree(folder)

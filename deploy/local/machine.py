"""What everything here stands on: where the checkout lies, which ports are free, waiting, and the one kind of error."""

import random
import socket
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from pathlib import Path

import psutil

#: The checkout; nothing here depends on the working directory.
ROOT = Path(__file__).resolve().parents[2]
#: Ignored by git: everything that running the system leaves behind.
RUNTIME = ROOT / ".local"
#: Files that this package reads.
HERE = Path(__file__).resolve().parent

#: Below the range from which systems take the local end of outgoing connections, so a free one stays free.
_CANDIDATES = range(20_000, 32_000)


class LocalError(Exception):
    """The system cannot do what it was asked to; the message is one clear sentence and says what to do."""


def exit_with(command: Callable[[], None]) -> None:
    """Run ``command``; a `LocalError` becomes its sentence on stderr and exit status 1, Ctrl-C status 130."""
    try:
        command()
    except LocalError as error:
        sys.exit(f"coincide: {error}")
    except KeyboardInterrupt:
        sys.exit(130)  # the status that shells give to Ctrl-C


def wait_until(is_so: Callable[[], bool], timeout_s: float, every_s: float = 0.1) -> bool:
    """Return True as soon as ``is_so()`` holds, False if it does not within ``timeout_s``."""
    deadline_s = time.monotonic() + timeout_s
    while not is_so():
        if time.monotonic() >= deadline_s:
            return False
        time.sleep(every_s)
    return True


def free_ports(count: int) -> list[int]:
    """Return ``count`` different ports of 127.0.0.1 on which nobody listens now."""
    return list(islice(filter(is_free, random.sample(_CANDIDATES, k=len(_CANDIDATES))), count))


def is_free(port: int) -> bool:
    """Return whether a server could listen on ``port`` of 127.0.0.1."""
    with socket.socket() as trial:
        # As servers do: a connection that is still closing does not keep the port.
        trial.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            trial.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def owner_of(port: int) -> str:
    """Return who listens on ``port``, for a sentence: ``process 4711 (python)``, or ``another process``."""
    with suppress(psutil.Error):  # not ours to see
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,)
            if listens and connection.pid:
                return f"process {connection.pid} ({psutil.Process(connection.pid).name()})"
    return "another process"

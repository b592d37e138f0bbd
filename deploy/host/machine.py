"""What everything here stands on: where the checkout lies, which ports are free, waiting, and the one kind of error."""

import fcntl
import os
import random
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from itertools import islice
from pathlib import Path

#: The checkout; nothing here depends on the working directory.
ROOT = Path(__file__).resolve().parents[2]
#: Ignored by git: everything that running the system leaves behind.
RUNTIME = ROOT / ".local"

#: Below the range from which systems take the local end of outgoing connections, so a free one stays free.
_CANDIDATES = range(20_000, 32_000)
_GIVEN: set[int] = set()  # a process does not lock itself out


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
    """Return ``count`` different ports of 127.0.0.1 on which nobody listens now; they are this process's until it ends.

    A JVM takes its port 5 to 30 s later, so until then no other process of this user is given it.
    """
    candidates = random.sample(_CANDIDATES, k=len(_CANDIDATES))
    ports = list(islice((port for port in candidates if _is_taken(port) and is_free(port)), count))
    if len(ports) < count:
        raise LocalError(f"there are no {count} free ports from {_CANDIDATES.start} to {_CANDIDATES.stop - 1}")
    return ports


def _is_taken(port: int) -> bool:
    """Take ``port`` for this process, and return whether it could be had."""
    if port in _GIVEN:
        return False
    try:
        fcntl.lockf(_lock_file(), fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except (BlockingIOError, PermissionError):  # POSIX allows both
        return False
    _GIVEN.add(port)
    return True


@cache
def _lock_file() -> int:
    """Return the file of which each byte stands for a port, open as long as this process lives.

    Locks of bytes belong to one process: no child inherits them, and they end with it, or where it closes the file.
    """
    path = Path(tempfile.gettempdir()) / f"coincide-{os.getuid()}-ports"
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


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

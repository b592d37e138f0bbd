"""Ports on the loopback interface: which are free, and who has one that is not."""

import random
import socket

import psutil

#: Below the range from which systems take the local end of outgoing connections, so a free one stays free.
_CANDIDATES = range(20_000, 32_000)


def free_ports(count: int) -> list[int]:
    """Return ``count`` different ports that nobody listens on now."""
    found: list[int] = []
    for port in random.sample(_CANDIDATES, k=len(_CANDIDATES)):
        if len(found) == count:
            break
        if is_free(port):
            found.append(port)
    return found


def is_free(port: int) -> bool:
    """Return whether a server could listen on ``port`` of 127.0.0.1."""
    with socket.socket() as probe:
        # As servers do: a connection that is still closing does not hold the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def owner_of(port: int) -> str:
    """Return who listens on ``port``, for a sentence: ``process 4711 (python)``, or ``another process``."""
    try:
        for connection in psutil.net_connections("tcp"):
            listens = connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,)
            if listens and connection.pid:
                return f"process {connection.pid} ({psutil.Process(connection.pid).name()})"
    except psutil.Error:  # not ours to see
        pass
    return "another process"

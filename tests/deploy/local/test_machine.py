"""A port that somebody has is not given out, and the sentence about it names who has it."""

import os
import socket

from deploy.local.machine import free_ports, is_free
from deploy.local.system import _owner_of


def test_a_port_that_is_listened_on_is_not_free_and_has_an_owner() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert not is_free(port)
        assert _owner_of(port).startswith(f"process {os.getpid()} (")
    assert is_free(port)


def test_free_ports_differ_and_can_be_had_together() -> None:
    ports = free_ports(20)
    servers = [socket.create_server(("127.0.0.1", port)) for port in ports]
    for server in servers:
        server.close()
    assert len(set(ports)) == 20

import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from kafka.errors import KafkaConnectionError, KafkaError, KafkaTimeoutError

from deploy.host.machine import free_ports, wait_until
from services.common.kafka import clients, greeting
from services.common.kafka.clients import close_producer, create_admin, create_consumer, create_producer
from services.common.kafka.connection import KafkaConnection
from services.common.kafka.faults import KafkaRefusedError


@pytest.mark.parametrize("create", [create_admin, create_consumer, create_producer])
def test_a_broker_that_is_away_is_said_at_once_and_leaves_no_thread(create: Callable[[KafkaConnection], Any]) -> None:
    [port] = free_ports(1)
    before = set(threading.enumerate())
    with pytest.raises(KafkaConnectionError, match=f"127.0.0.1:{port}"):
        create(KafkaConnection(servers=f"127.0.0.1:{port}"))
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize("create", [create_admin, create_consumer, create_producer])
def test_a_broker_that_hangs_is_said_in_time_and_leaves_no_thread(
    create: Callable[[KafkaConnection], Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(clients._PATIENCE, "bootstrap_timeout_ms", 200)
    monkeypatch.setattr(greeting, "ANSWER_TIMEOUT_S", 0.2)
    before = set(threading.enumerate())
    with socket.create_server(("127.0.0.1", 0)) as listening:  # and nobody accepts
        for _ in range(3):
            with pytest.raises(KafkaError):
                create(KafkaConnection(servers=f"127.0.0.1:{listening.getsockname()[1]}"))
    assert wait_until(lambda: set(threading.enumerate()) <= before, 20)


NO_TLS = [ssl.SSLZeroReturnError(), ssl.SSLEOFError(), ConnectionResetError()]


@pytest.mark.parametrize("end", NO_TLS, ids=lambda each: type(each).__name__)
def test_a_handshake_that_is_broken_off_says_that_kafka_speaks_no_tls(
    end: OSError, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What Python calls it depends on its version, and on how far the server had read."""
    context = Mock()
    context.wrap_socket.side_effect = end
    monkeypatch.setattr(KafkaConnection, "tls_context", lambda _: context)
    with socket.create_server(("127.0.0.1", 0)) as listening:
        connection = KafkaConnection(servers=f"127.0.0.1:{listening.getsockname()[1]}", protocol="SSL")
        with pytest.raises(KafkaRefusedError, match=r"^Kafka speaks no TLS here: protocol SSL is wrong"):
            create_admin(connection)


def test_a_producer_with_records_unsettled_is_ended_all_the_same() -> None:
    producer = Mock()
    producer.close.side_effect = KafkaTimeoutError
    close_producer(producer, timeout_s=0)
    producer._sender.force_close.assert_called_once_with()

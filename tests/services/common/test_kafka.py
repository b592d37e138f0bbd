import threading
from collections.abc import Callable
from typing import Any, cast

import pytest
from kafka import KafkaProducer
from kafka.errors import KafkaConnectionError, KafkaTimeoutError

from deploy.local.machine import free_ports
from services.common.kafka import close_producer, create_admin, create_consumer, create_producer


@pytest.mark.parametrize("create", [create_admin, create_consumer, create_producer])
def test_a_broker_that_is_away_is_said_at_once_and_leaves_no_thread(create: Callable[[str], Any]) -> None:
    [port] = free_ports(1)
    before = set(threading.enumerate())
    with pytest.raises(KafkaConnectionError, match=f"127.0.0.1:{port}"):
        create(f"127.0.0.1:{port}")
    assert set(threading.enumerate()) == before


class Unsettled:
    """A producer that will not close: records are left unsettled."""

    def __init__(self) -> None:
        self._sender = self
        self.was_forced = False

    def close(self, timeout: float) -> None:
        raise KafkaTimeoutError(f"after {timeout} s")

    def force_close(self) -> None:
        self.was_forced = True


def test_a_producer_with_records_unsettled_is_ended_all_the_same() -> None:
    producer = Unsettled()
    close_producer(cast("KafkaProducer", producer), timeout_s=0)
    assert producer.was_forced

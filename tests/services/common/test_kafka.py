import threading
from collections.abc import Callable
from typing import Any

import pytest
from kafka.errors import KafkaConnectionError

from deploy.local.ports import free_ports
from services.common.kafka import create_admin, create_consumer, create_producer


@pytest.mark.parametrize("create", [create_admin, create_consumer, create_producer])
def test_a_broker_that_is_away_is_said_at_once_and_leaves_no_thread(create: Callable[[str], Any]) -> None:
    [port] = free_ports(1)
    before = set(threading.enumerate())
    with pytest.raises(KafkaConnectionError, match=f"127.0.0.1:{port}"):
        create(f"127.0.0.1:{port}")
    assert set(threading.enumerate()) == before

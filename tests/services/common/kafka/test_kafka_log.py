"""The log in Kafka: the contract of every log, on a real broker."""

from collections.abc import Sequence
from contextlib import closing
from itertools import count

import pytest
from hypothesis import given, settings

from deploy.local.broker import Broker
from services.common.kafka.clients import create_admin
from services.common.kafka.kafka_log import KafkaLog
from services.common.log.declared_topic import Topic
from services.common.log.faults import LogError
from tests.examples import examples
from tests.integration.topics import expire
from tests.patience import until
from tests.services.common.log.contract import STEPS, LogContract, append, follows_the_twin, record

pytestmark = pytest.mark.jvm

_numbers = count(1)


class KafkaLogs:
    """See `tests.services.common.log.contract.Logs`."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    @property
    def address(self) -> Sequence[str]:
        return "kafka", self.broker.bootstrap

    def open(self) -> KafkaLog:
        return KafkaLog(self.broker.connection)

    def name(self) -> str:
        return f"kafka-log.{next(_numbers)}"

    def expire(self, topic: str) -> None:
        expire(self.broker.bootstrap, topic)

    def replace(self, topic: str) -> None:
        admin = create_admin(self.broker.connection)
        admin.delete_topics([topic])
        until(lambda: not any(each["partitions"] for each in admin.describe_topics([topic])))
        admin.close()
        with closing(self.open()) as log:
            log.create_topics({topic: Topic(partitions=1)})


@pytest.fixture
def logs(kafka: Broker) -> KafkaLogs:
    return KafkaLogs(kafka)


class TestKafkaLog(LogContract):
    """The contract."""

    shows_groups = True


@settings(max_examples=examples(15))
@given(steps=STEPS)
def test_it_says_what_lists_say(kafka: Broker, steps: list[object]) -> None:
    logs = KafkaLogs(kafka)
    with closing(logs.open()) as log:
        follows_the_twin(log, {"first": logs.name(), "second": logs.name()}, steps)


@pytest.mark.kills
def test_a_kafka_that_hangs_is_a_fault_that_passes(logs: KafkaLogs) -> None:
    topic = logs.name()
    with closing(KafkaLog(logs.broker.connection, timeout_s=3.0)) as log:
        log.create_topics({topic: Topic(partitions=1)})
        until(lambda: _acknowledges(log, topic, b"before"))
        logs.broker.suspend()
        try:
            for _ in range(2):
                with pytest.raises(LogError, match="Kafka") as told:
                    append(log, record(topic, b"lost"))
                assert told.value.is_retriable
        finally:
            logs.broker.resume()
        until(lambda: log.problem is None)  # it connects by itself
        until(lambda: _acknowledges(log, topic, b"after"))


def _acknowledges(log: KafkaLog, topic: str, value: bytes) -> bool:
    """Whether the log takes it in its time; on a busy machine it may not, which is a fault that passes."""
    try:
        append(log, record(topic, value))
    except LogError as error:
        if not error.is_retriable:
            raise
        return False
    return True

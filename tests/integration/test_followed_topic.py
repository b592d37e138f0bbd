"""A follower of a topic on a real Kafka that is killed, and whose topic is deleted and made anew."""

from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest
from kafka import KafkaAdminClient
from kafka.errors import InvalidReplicationFactorError

from deploy.local.broker import Broker
from services.common.kafka.clients import create_admin
from services.common.kafka.topic_reader import TopicReader
from services.common.topics.compacted_topic import TopicFollower
from tests.integration.topics import send
from tests.patience import until

pytestmark = [pytest.mark.jvm, pytest.mark.kills]

TOPIC = "followed.names"


class NewestView:
    """The newest value of each key, and how often it began anew."""

    def __init__(self) -> None:
        self.newest: dict[bytes, bytes] = {}
        self.times_whole = 0

    def replace(self, records: Iterable[list[Any]]) -> None:
        self.newest = {each.key: each.value for some in records for each in some}
        self.times_whole += 1

    def apply(self, records: list[Any]) -> None:
        self.newest |= {each.key: each.value for each in records}


def create(broker: Broker) -> None:
    admin = create_admin(broker.connection)
    until(lambda: is_created(admin))
    admin.close()


def is_created(admin: KafkaAdminClient) -> bool:
    """Return whether there is the topic now; none can be made while the broker counts as away, as on a busy machine."""
    try:
        admin.create_topics({TOPIC: {"num_partitions": 1, "replication_factor": 1}}, wait_for_metadata=True)
    except InvalidReplicationFactorError:
        return False
    return True


def delete(broker: Broker) -> None:
    admin = create_admin(broker.connection)
    admin.delete_topics([TOPIC])
    until(lambda: not any(each["partitions"] for each in admin.describe_topics([TOPIC])))
    admin.close()


def test_it_goes_on_after_a_kill_and_begins_anew_with_another_topic_of_the_name(kafka: Broker) -> None:
    create(kafka)
    send(kafka.bootstrap, TOPIC, [(b"one", b"1"), (b"two", b"2")])
    view = NewestView()
    follower = TopicFollower(TOPIC, view, partial(TopicReader.connected, kafka.connection))
    follower.start()
    until(lambda: view.newest == {b"one": b"1", b"two": b"2"} and follower.log_answers)
    kafka.kill()
    until(lambda: not follower.log_answers)
    kafka.start()
    send(kafka.bootstrap, TOPIC, [(b"two", b"3")])
    until(lambda: view.newest == {b"one": b"1", b"two": b"3"} and follower.log_answers)
    assert view.times_whole == 1
    delete(kafka)
    create(kafka)
    send(kafka.bootstrap, TOPIC, [(name, b"new") for name in (b"a", b"b", b"c", b"d")])
    until(lambda: view.newest.keys() == {b"a", b"b", b"c", b"d"})
    assert view.times_whole > 1
    follower.stop()
    assert not follower.is_alive()

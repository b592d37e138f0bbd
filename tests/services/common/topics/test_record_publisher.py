"""Single records on a log: where it stands still, or is away, whoever publishes hears so in time."""

from contextlib import closing
from pathlib import Path

import pytest

from services.common.kafka.connection import KafkaConnection
from services.common.kafka.kafka_log import KafkaLog
from services.common.local_log.local_log import LocalLog
from services.common.log.declared_topic import Topic
from services.common.log.faults import LogError, NoSuchTopicError
from services.common.topics.record_publisher import RecordPublisher
from services.common.topics.topic_names import TopicNames
from tests.services.common.local_log.local_logs import LocalLogs

REEF = TopicNames("reef.")


def test_a_record_is_in_the_log_when_that_is_told(tmp_path: Path) -> None:
    with closing(LocalLog(tmp_path / "log.sqlite")) as log:
        log.create_topics({"reef.buoys": Topic(partitions=1)})
        records = RecordPublisher(log, 10.0, REEF)
        assert [records.publish("buoys", b"k", value) for value in (b"1", None)] == [0, 1]
        with pytest.raises(NoSuchTopicError):
            records.publish("boats", b"k", b"1")


def test_what_is_not_taken_in_time_is_told_and_not_written_later(tmp_path: Path) -> None:
    logs = LocalLogs(tmp_path)
    with closing(logs.open()) as log:
        log.create_topics({"reef.buoys": Topic(partitions=1)})
        records = RecordPublisher(log, 0.05, REEF)
        with logs.locked():
            with pytest.raises(LogError, match="the log did not acknowledge in time") as told:
                records.publish("buoys", b"k", b"at work")
            assert told.value.is_retriable
            with pytest.raises(LogError, match="in time"):
                records.publish("buoys", b"k", b"waits")
        assert RecordPublisher(log, 60.0, REEF).publish("buoys", b"k", b"there is room") == 1


@pytest.mark.anyio
async def test_a_kafka_that_is_away_is_told_at_once_and_to_everybody() -> None:
    with closing(KafkaLog(KafkaConnection(servers="127.0.0.1:9"))) as log:
        records = RecordPublisher(log, 60.0, REEF)
        for _ in range(2):
            with pytest.raises(LogError, match="the producer is not connected") as told:
                records.publish("buoys", b"k", b"lost")
            assert told.value.is_retriable
        assert not await records.publish_record("buoys", b"k", b"lost")

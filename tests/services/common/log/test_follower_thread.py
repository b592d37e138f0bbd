"""What every follower of topics has in common: ends that are reached, faults said once, and a new beginning."""

import threading
import time
import uuid
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from kafka import TopicPartition
from kafka.errors import KafkaError, LeaderNotAvailableError

from services.common.backoff import Backoff
from services.common.kafka.faults import MissingTopicError
from services.common.kafka.topic_reader import ReplacedTopicError, TopicReader
from services.common.log.follower_thread import FollowerThread
from services.common.log.reader import StoppedError
from services.common.topics.topic_names import TopicNames
from tests.patience import until

HERE = TopicPartition("reef.here", 0)


class Record(NamedTuple):
    offset: int
    topic: str = HERE.topic
    partition: int = 0


class ListConsumer:
    """One partition with `records` records, of which a poll returns two."""

    def __init__(self, records: int) -> None:
        self.records, self.at, self.polls, self.closed = records, 0, 0, 0
        self.topic_id = uuid.UUID(int=1)
        self.is_without_leader = False

    @property
    def _cluster(self) -> Any:
        return SimpleNamespace(topic_id=lambda _topic: self.topic_id)

    def partitions_for_topic(self, topic: str) -> set[int]:
        return {0} if topic == HERE.topic else set()

    def assign(self, _partitions: object) -> None: ...

    def seek(self, _partition: object, offset: int) -> None:
        self.at = offset

    def seek_to_beginning(self, _partition: object) -> None:
        self.at = 0

    def end_offsets(self, partitions: list[TopicPartition], timeout_ms: int) -> dict[TopicPartition, int]:
        if self.is_without_leader:
            raise KeyError(HERE)
        return dict.fromkeys(partitions, self.records)

    def position(self, _partition: object, timeout_ms: int) -> int:
        return self.at

    def poll(self, _timeout_ms: int) -> dict[TopicPartition, list[Record]]:
        self.polls += 1
        read = [Record(n) for n in range(self.at, min(self.at + 2, self.records))]
        self.at += len(read)
        time.sleep(0.001)
        return {HERE: read}

    def close(self, **_: object) -> None:
        self.closed += 1


def test_a_topic_is_read_up_to_the_end_that_it_has_at_first() -> None:
    consumer = ListConsumer(5)
    with TopicReader(consumer) as reader:
        read = [[each.offset for each in some] for some in reader.whole(HERE.topic)]
        assert read == [[0, 1], [2, 3], [4]]
        reader.read_from({HERE: 3})
        assert [[each.offset for each in some] for some in reader.up_to({HERE: 4})] == [[3, 4]]
    assert consumer.closed == 1


def test_what_is_read_between_offsets_ends_before_the_second() -> None:
    consumer = ListConsumer(5)
    reader = TopicReader(consumer)
    assert [[each.offset for each in some] for some in reader.between({HERE: 1}, {HERE: 4})] == [[1, 2], [3]]
    assert list(reader.between({HERE: 4}, {HERE: 4})) == []
    with pytest.raises(ReplacedTopicError):
        list(reader.between({HERE: 5}, {HERE: 9}))


def test_what_was_not_read_whole_is_no_end() -> None:
    consumer = ListConsumer(5)
    reader = TopicReader(consumer)
    with pytest.raises(StoppedError):
        list(reader.whole(HERE.topic, lambda: consumer.polls == 2))
    reader.read_from({HERE: 5})
    with pytest.raises(ReplacedTopicError):  # offset 9 was promised, and Kafka now says 5
        list(reader.up_to({HERE: 9}))


def test_a_topic_that_is_not_there_is_named_with_the_command_that_creates_it() -> None:
    names = TopicNames("reef.")
    with pytest.raises(MissingTopicError, match=r"^there is no topic reef\.gone: [^\n]* --prefix reef\. creates it$"):
        TopicReader(ListConsumer(0), names=names).partitions_of(HERE.topic, "reef.gone")


def test_a_partition_without_a_leader_is_a_fault_of_kafka() -> None:
    consumer = ListConsumer(0)
    consumer.is_without_leader = True
    with pytest.raises(LeaderNotAvailableError):
        TopicReader(consumer).ends([HERE])


class Collecting(FollowerThread[TopicReader]):
    """Collects offsets; goes on from where it stood, as long as the topic is the same."""

    expected = (*FollowerThread.expected, KafkaError)

    def __init__(self, consumer: ListConsumer, stopping: threading.Event | None = None) -> None:
        super().__init__("reef-follower", stopping)
        self._consumer = consumer
        self.read: list[int] = []
        self.begins: list[int] = []
        self.fails_with: Exception | None = None

    def _connect(self) -> TopicReader:
        return TopicReader(self._consumer)

    def _begin(self, reader: TopicReader) -> None:
        self.begins.append(len(self.read))
        reader.read_from({HERE: len(self.read)})

    def _take(self, reader: TopicReader, records: list[Any]) -> None:
        if (fault := self.fails_with) is not None:
            raise fault
        self.read += [each.offset for each in records]

    def _look(self, reader: TopicReader) -> None:
        reader.ends([HERE])

    def _look_every_s(self) -> float:
        return 0.0


@pytest.fixture
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.common.log.follower_thread.PAUSES_S", (0.001, 0.001))


@pytest.mark.usefixtures("_soon")
@pytest.mark.parametrize(
    ("fault", "has_traceback"), [(KafkaError("away"), False), (OSError("reset"), False), (ZeroDivisionError(), True)]
)
def test_whatever_fails_it_goes_on_and_says_so_once(
    fault: Exception, has_traceback: bool, caplog: pytest.LogCaptureFixture
) -> None:
    consumer = ListConsumer(3)
    follower = Collecting(consumer)
    follower.fails_with = fault
    follower.start()
    until(lambda: consumer.closed > 3)
    follower.fails_with = None
    until(lambda: len(follower.read) == 3)
    follower.stop()
    assert not follower.is_alive()
    assert follower.read == [0, 1, 2]
    [said] = [each for each in caplog.records if each.name == "services.common.log.follower_thread"]
    assert said.getMessage() == f"reef-follower cannot go on: {type(fault).__name__}"
    assert (said.exc_info is not None) == has_traceback


@pytest.mark.usefixtures("_soon")
def test_a_topic_made_anew_while_it_is_followed_is_begun_anew() -> None:
    consumer = ListConsumer(2)
    follower = Collecting(consumer)
    follower.start()
    until(lambda: len(follower.read) == 2)
    consumer.topic_id = uuid.UUID(int=2)
    until(lambda: len(follower.begins) == 2)
    follower.stop()
    assert follower.begins == [0, 2]


def test_it_ends_with_the_event_of_its_host() -> None:
    stopping = threading.Event()
    follower = Collecting(ListConsumer(1), stopping)
    follower.start()
    until(lambda: follower.read == [0])
    stopping.set()
    follower.join(10)
    assert not follower.is_alive()


def test_pauses_double_up_to_the_longest_and_start_over() -> None:
    backoff = Backoff(0.5, 3)
    assert [backoff.next_s() for _ in range(5)] == [0.5, 1, 2, 3, 3]
    backoff.start_over()
    assert backoff.next_s() == 0.5

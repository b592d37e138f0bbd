"""A topic's follower: it reads the topic whole at its start, and goes on or begins again whatever fails."""

import threading
import time
import uuid
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest
from kafka import TopicPartition
from kafka.errors import KafkaTimeoutError

from services.common.kafka.topic_reader import TopicReader
from services.common.topics.compacted_topic import TopicFollower

PARTITION = TopicPartition("names", 0)
THIS, ANOTHER = uuid.UUID(int=1), uuid.UUID(int=2)


class Named(NamedTuple):
    key: str
    value: int | None


class NewestView:
    """The newest value of each key."""

    def __init__(self) -> None:
        self.newest: dict[str, int] = {}
        self.times_whole = 0

    def replace(self, records: Iterable[list[Any]]) -> None:
        newest: dict[str, int | None] = {each.key: each.value for some in records for each in some}
        self.newest = {key: value for key, value in newest.items() if value is not None}
        self.times_whole += 1

    def apply(self, records: list[Any]) -> None:
        for each in records:
            if each.value is None:
                del self.newest[each.key]
            else:
                self.newest[each.key] = each.value


class ListConsumer:
    """The topic as a list, of which a poll returns two records; `is_asked` is set by the first poll."""

    def __init__(
        self,
        topic: list[Named],
        *,
        fails_at: int | None = None,
        waits: threading.Event | None = None,
        topic_id: uuid.UUID | None = THIS,
    ) -> None:
        self._topic, self.fails_at, self._at = topic, fails_at, 0
        self._waits, self.is_asked = waits, threading.Event()
        self.topic_id = topic_id
        self.is_closed = False

    def assign(self, _partitions: object) -> None: ...

    def seek_to_beginning(self, _partition: object) -> None:
        self._at = 0

    def seek(self, _partition: object, offset: int) -> None:
        self._at = offset

    @property
    def _cluster(self) -> Any:
        return SimpleNamespace(topic_id={PARTITION.topic: self.topic_id}.get)

    def end_offsets(self, _partitions: object, timeout_ms: int) -> dict[Any, int]:
        return {PARTITION: len(self._topic)}

    def position(self, _partition: object, timeout_ms: int) -> int:
        return self._at

    def poll(self, _timeout_ms: int) -> dict[Any, list[Named]]:
        self.is_asked.set()
        assert self._waits is None or self._waits.wait(10)
        if self._at == self.fails_at:
            raise KafkaTimeoutError
        records = self._topic[self._at : self._at + 2]
        self._at += len(records)
        if not records:
            time.sleep(0.005)  # as a poll without records waits
        return {PARTITION: records}

    def close(self, **_: object) -> None:
        self.is_closed = True


def until(condition: Callable[[], bool]) -> None:
    deadline_s = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.005)


def test_the_topic_is_read_whole_at_the_start_and_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.common.log.follower_thread.PAUSES_S", (0.01, 0.01))
    topic = [Named(f"n{nth}", nth) for nth in range(5)]
    consumers = [ListConsumer(topic, fails_at=2), ListConsumer(topic)]
    left, view = iter(consumers), NewestView()
    follower = TopicFollower("names", view, lambda: TopicReader(next(left)))
    follower.start()
    until(lambda: len(view.newest) == 5)
    assert view.times_whole == 1  # not with the half that was read before the fault
    topic.append(Named("n0", None))
    until(lambda: len(view.newest) == 4)
    assert follower.log_answers
    follower.stop()
    assert "names-follower" not in {each.name for each in threading.enumerate()}
    assert [each.is_closed for each in consumers] == [True, True]


@pytest.mark.parametrize(
    ("topic_id", "kept_s", "left", "times_whole"),
    [
        (THIS, 3600.0, 7, 1),
        (THIS, 3600.0, 5, 1),
        (THIS, 3600.0, 3, 2),
        (THIS, 0.0, 7, 2),
        (ANOTHER, 3600.0, 7, 2),
        (None, 3600.0, 7, 2),
    ],
    ids=["more", "the same", "less than it had", "after too long", "another topic", "a broker that has no ids"],
)
def test_after_a_fault_it_goes_on_where_that_is_safe(
    topic_id: uuid.UUID | None, kept_s: float, left: int, times_whole: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("services.common.log.follower_thread.PAUSES_S", (0.01, 0.01))
    monkeypatch.setattr("services.common.topics.compacted_topic.GOES_ON_WITHIN_S", kept_s)
    topic = [Named(f"n{nth}", nth) for nth in range(5)]
    later = [*topic, Named("n1", None), Named("n2", 9)][:left]
    before, after = ListConsumer(topic), ListConsumer(later, topic_id=topic_id)
    consumers, view = iter([before, after]), NewestView()
    follower = TopicFollower("names", view, lambda: TopicReader(next(consumers)))
    follower.start()
    until(lambda: len(view.newest) == 5 and follower._stand is not None)
    before.fails_at = 5
    until(after.is_asked.is_set)
    expected = NewestView()
    expected.apply(later)
    until(lambda: view.newest == expected.newest)
    follower.stop()
    assert (view.times_whole, before.is_closed) == (times_whole, True)


def test_what_was_read_in_part_when_it_was_stopped_is_not_taken_for_the_whole() -> None:
    goes_on = threading.Event()
    consumer, view = ListConsumer([Named("n", 1)] * 5, waits=goes_on), NewestView()
    follower = TopicFollower("names", view, lambda: TopicReader(consumer))
    follower.start()
    assert consumer.is_asked.wait(10)
    stopping = threading.Thread(target=follower.stop)
    stopping.start()
    until(follower.stopping.is_set)
    goes_on.set()
    stopping.join()
    assert view.times_whole == 0
    assert consumer.is_closed

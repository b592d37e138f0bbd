"""A topic's follower: it reads the topic whole at every start, and begins again whatever fails."""

import threading
import time
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest
from kafka import TopicPartition
from kafka.errors import KafkaTimeoutError

from services.common.compacted_topic import TopicFollower

PARTITION = TopicPartition("names", 0)


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
        self, topic: list[Named], *, fails_at: int | None = None, waits: threading.Event | None = None
    ) -> None:
        self._topic, self._fails_at, self._at = topic, fails_at, 0
        self._waits, self.is_asked = waits, threading.Event()
        self.is_closed = False

    def assign(self, _partitions: object) -> None: ...

    def seek_to_beginning(self, _partition: object) -> None: ...

    def end_offsets(self, _partitions: object, timeout_ms: int) -> dict[Any, int]:
        return {PARTITION: len(self._topic)}

    def position(self, _partition: object, timeout_ms: int) -> int:
        return self._at

    def poll(self, _timeout_ms: int) -> dict[Any, list[Named]]:
        self.is_asked.set()
        assert self._waits is None or self._waits.wait(10)
        if self._at == self._fails_at:
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


def test_the_topic_is_read_whole_at_every_start_and_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("services.common.compacted_topic.RETRY_S", 0.01)
    topic = [Named(f"n{nth}", nth) for nth in range(5)]
    consumers = [ListConsumer(topic, fails_at=2), ListConsumer(topic)]
    left, view = iter(consumers), NewestView()
    follower = TopicFollower("names", view, lambda: next(left))
    follower.start()
    until(lambda: len(view.newest) == 5)
    assert view.times_whole == 1  # not with the half that was read before the fault
    topic.append(Named("n0", None))
    until(lambda: len(view.newest) == 4)
    assert follower.kafka_answers
    follower.stop()
    assert "names-follower" not in {each.name for each in threading.enumerate()}
    assert [each.is_closed for each in consumers] == [True, True]


def test_what_was_read_in_part_when_it_was_stopped_is_not_taken_for_the_whole() -> None:
    goes_on = threading.Event()
    consumer, view = ListConsumer([Named("n", 1)] * 5, waits=goes_on), NewestView()
    follower = TopicFollower("names", view, lambda: consumer)
    follower.start()
    assert consumer.is_asked.wait(10)
    stopping = threading.Thread(target=follower.stop)
    stopping.start()
    until(follower._stop.is_set)
    goes_on.set()
    stopping.join()
    assert view.times_whole == 0
    assert consumer.is_closed

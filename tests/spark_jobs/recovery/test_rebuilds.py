"""Rebuilds as the topic tells them: asked for, begun, how far, done; read again without going back."""

import json
from collections.abc import Sequence
from typing import Any
from unittest.mock import Mock

import pytest

from coincide.wire.rebuild_record import KEY_PREFIX
from spark_jobs.recovery.rebuilds import MOST_KEPT, Rebuilds

BEGINS = {("detections", 0): 5, ("detections", 1): 0}
ENDS = {("detections", 0): 15, ("detections", 1): 90}
ASKED = {"v": 1, "id": "b-1", "state": "asked", "asked_at_us": 7, "by": "ann", "why": "drill"}


class Topic:
    """The records that were written, as a compacted topic that keeps all of them."""

    def __init__(self) -> None:
        self.records: list[tuple[bytes, bytes | None]] = []
        self.now_us = 0

    def write(self, records: Sequence[tuple[bytes, bytes | None]]) -> None:
        self.records += records

    def clock_us(self) -> int:
        self.now_us += 1_000_000
        return self.now_us

    def follower(self, records: int | None = None) -> Rebuilds:
        """Return what a process knows that has read so many of the records."""
        rebuilds = Rebuilds(self.write, self.clock_us)
        for record in self.records[:records]:
            assert rebuilds.take(*record)
        return rebuilds

    def ask(self, **fields: Any) -> None:
        asked = {**ASKED, **fields}
        self.records.append((KEY_PREFIX.encode() + asked["id"].encode(), json.dumps(asked).encode()))

    @property
    def last(self) -> dict[str, Any]:
        return dict(json.loads(self.records[-1][1] or b""))


@pytest.fixture
def topic() -> Topic:
    return Topic()


def test_one_that_is_asked_for_begins_goes_on_and_is_done(topic: Topic) -> None:
    topic.ask()
    rebuilds = topic.follower()
    assert not rebuilds.is_asked  # not before the topic was read to its end
    rebuilds.all_taken()
    assert (rebuilds.is_asked, rebuilds.is_running) == (True, False)
    rebuilds.begin(BEGINS, ENDS)
    assert (rebuilds.is_asked, rebuilds.is_running) == (False, True)
    assert {**topic.last, **ASKED, "state": "running"} == topic.last
    assert (topic.last["records"], topic.last["read"], topic.last["ends"]) == (100, 0, {"0": 15, "1": 90})

    for unread, read in ((None, 0), (60, 40), (70, 40), (1, 99)):
        left = Mock(return_value=unread)
        rebuilds.reached(left)
        left.assert_called_once_with({"0": 15, "1": 90})
        assert (topic.last["state"], topic.last["read"]) == ("running", read)
    rebuilds.reached(lambda _ends: 0)
    assert (topic.last["state"], topic.last["read"], rebuilds.is_running) == ("done", 100, False)
    written = len(topic.records)
    rebuilds.reached(lambda _ends: 0)
    assert len(topic.records) == written


def test_one_that_a_halt_ends_has_failed_and_another_one_begins(topic: Topic) -> None:
    topic.ask()
    rebuilds = topic.follower()
    rebuilds.begin(BEGINS, ENDS)
    rebuilds.failed("the checkpoint is damaged")
    assert (topic.last["state"], topic.last["failure"]) == ("failed", "the checkpoint is damaged")
    assert (rebuilds.is_asked, rebuilds.is_running) == (False, False)
    written = len(topic.records)
    rebuilds.failed("the checkpoint is damaged")
    assert len(topic.records) == written
    topic.ask(id="b-2")
    rebuilds = topic.follower()
    rebuilds.all_taken()
    assert rebuilds.is_asked
    rebuilds.begin(BEGINS, ENDS)
    rebuilds.reached(lambda _ends: 0)
    told = {key: json.loads(value or b"")["state"] for key, value in topic.records}
    assert told == {KEY_PREFIX.encode() + b"b-1": "failed", KEY_PREFIX.encode() + b"b-2": "done"}


def test_one_that_goes_on_after_a_halt_has_not_failed(topic: Topic) -> None:
    topic.ask()
    rebuilds = topic.follower()
    rebuilds.begin(BEGINS, ENDS)
    rebuilds.failed("Kafka does not have the topics")
    rebuilds.reached(lambda _ends: 60)
    assert (topic.last["state"], topic.last["read"], topic.last["failure"]) == ("running", 40, None)


def test_a_process_that_reads_the_topic_again_begins_none_twice(topic: Topic) -> None:
    topic.ask()
    rebuilds = topic.follower()
    rebuilds.all_taken()
    rebuilds.begin(BEGINS, ENDS)
    rebuilds.reached(lambda _ends: 60)
    for record in topic.records[:1]:  # it connects anew
        rebuilds.take(*record)
        rebuilds.all_taken()
    assert (rebuilds.is_asked, rebuilds.is_running) == (False, True)
    rebuilds.reached(lambda _ends: None)
    assert topic.last["read"] == 40

    another = topic.follower()
    another.all_taken()
    assert (another.is_asked, another.is_running) == (False, True)
    another.reached(lambda _ends: 10)  # and goes on with what the first one began
    assert topic.last["read"] == 90


def test_all_that_are_not_done_are_the_same_rebuild(topic: Topic) -> None:
    topic.ask()
    rebuilds = topic.follower()
    rebuilds.begin(BEGINS, ENDS)
    topic.ask(id="b-2")
    rebuilds.take(*topic.records[-1])
    rebuilds.all_taken()
    assert rebuilds.is_asked
    rebuilds.reached(lambda _ends: 50)
    rebuilds.begin(BEGINS, ENDS)
    begun = {each["id"]: each for each in (json.loads(value or b"") for _, value in topic.records[-2:])}
    assert begun.keys() == {"b-1", "b-2"}
    assert {(each["state"], each["read"]) for each in begun.values()} == {("running", 0)}


def test_one_that_nobody_asked_for_over_rest_is_told_too_and_old_ones_are_forgotten(topic: Topic) -> None:
    rebuilds = topic.follower()
    ids = []
    for _ in range(MOST_KEPT + 3):
        rebuilds.begin({}, {})
        rebuilds.reached(lambda _ends: 0)
        ids.append(topic.last["id"])
        assert (topic.last["state"], topic.last["by"], topic.last["why"]) == ("done", None, None)
    removed = [key for key, value in topic.records if value is None]
    assert removed == [KEY_PREFIX.encode() + each.encode() for each in ids[:3]]
    kept = {key for key, _ in topic.records} - set(removed)
    assert len(kept) == MOST_KEPT


@pytest.mark.parametrize(
    "value", [b"", b"{", b"\xff", b"[" * 100_000, b'{"v": 2}', b'{"v": 1, "id": "x", "state": "odd"}']
)
def test_what_is_unusable_is_ignored_and_what_is_of_a_shard_is_not_taken(topic: Topic, value: bytes) -> None:
    rebuilds = topic.follower()
    assert rebuilds.take(KEY_PREFIX.encode() + b"x", value)
    rebuilds.all_taken()
    assert not rebuilds.is_asked
    assert not rebuilds.take(b"shard-0", b"{}")

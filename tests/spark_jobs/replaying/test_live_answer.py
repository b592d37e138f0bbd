"""The changes of a query: where fusion applied them, else by their time."""

from collections.abc import Callable, Iterator
from typing import Any

from msgspec import json

from spark_jobs.job.activations import PushedOffsets
from spark_jobs.records.kafka_records import InputRecord
from spark_jobs.replaying.live_answer import read_history
from spark_jobs.replaying.topic_records import TopicRecord
from tests.spark_jobs.inputs import declaration, put
from tests.spark_jobs.replaying.test_answers import PAIR


class Topic:
    def __init__(self, *records: TopicRecord) -> None:
        self._records = records

    def all(self, check: Callable[[], None]) -> Iterator[TopicRecord]:
        check()
        yield from self._records

    def offsets_at(self, time_us: int) -> dict[int, int]:
        return {0: time_us}


def change(offset: int, version: int, changed_at_us: int, id_: str = "pair") -> TopicRecord:
    content = json.decode(put(offset, {**PAIR, "id": id_}, version).value or b"")
    return TopicRecord(0, offset, id_.encode(), json.encode({**content, "changed_at_us": changed_at_us}))


def activation(of: TopicRecord, shard: int, offsets: dict[int, int]) -> TopicRecord:
    [told] = PushedOffsets(offsets).records(shard, [InputRecord("queries", *of)])
    return TopicRecord(0, 0, *told)


def history(queries: Any, activations: Any, id_: str = "pair") -> Any:
    return read_history(id_, queries, activations)


def test_each_change_is_placed_where_all_shards_applied_it() -> None:
    first, second, third = (change(4 + nth, 1 + nth, 100 * nth) for nth in range(3))
    told = [activation(second, 0, {0: 7}), activation(second, 1, {1: 9}), activation(third, 0, {0: 8, 1: 11})]
    of_pair = history(Topic(first, change(5, 1, 0, "other"), second, third), Topic(*told, told[0]))
    assert of_pair.query.id == "pair"
    placed = of_pair.placed(Topic())
    assert [(each.record.offset, each.offsets) for each in placed] == [
        (4, {0: 0}),  # nobody told it: by its time
        (5, {0: 7, 1: 9}),
        (6, {0: 8, 1: 11}),
    ]
    assert [each.record.value for each in placed] == [first.value, second.value, third.value]


def test_changes_of_streams_are_among_those_of_the_query() -> None:
    def of_stream(offset: int, version: int) -> TopicRecord:
        return TopicRecord(*declaration(offset, "p", 30, version=version)[1:])

    first, early, other, late = change(0, 1, 0), of_stream(1, 1), change(2, 1, 0, "other"), of_stream(3, 2)
    of_pair = history(Topic(first, other, late), Topic(activation(early, 0, {0: 5}), activation(late, 0, {0: 9})))
    placed = of_pair.placed(Topic())
    assert [(each.record.offset, each.record.key, each.offsets) for each in placed] == [
        (0, b"pair", {0: 0}),
        (1, b"stream/p", {0: 5}),  # compacted away since
        (3, b"stream/p", {0: 9}),
    ]
    assert history(Topic(late), Topic(), "pair") is None


def test_a_version_that_was_compacted_away_is_still_known() -> None:
    first, second = change(0, 1, 0), change(1, 2, 100)
    of_pair = history(Topic(second), Topic(activation(first, 0, {0: 1}), activation(second, 0, {0: 2})))
    assert [each.record.offset for each in of_pair.placed(Topic())] == [0, 1]


def test_what_nobody_knows_is_no_query() -> None:
    assert history(Topic(change(0, 1, 0)), Topic(), "other") is None
    assert history(Topic(TopicRecord(0, 0, b"pair", None)), Topic()) is None

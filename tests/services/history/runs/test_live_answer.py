"""The changes of a query: where fusion applied them, else by their time."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from msgspec import json

from coincide.fusion.batches.activations import PushedOffsets
from coincide.fusion.records.kafka_records import InputRecord
from services.history.replaying.request import RunError
from services.history.rows.topic_records import TopicRecord
from services.history.runs.live_answer import read_history
from tests.coincide.fusion.inputs import declaration, put
from tests.services.history.replaying.test_answers import PAIR

DEEP = b'{"more": ' + b"[" * 20_000 + b"]" * 20_000 + b"}"


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
    assert history(Topic(TopicRecord(0, 0, b"pair", DEEP)), Topic()) is None


@pytest.mark.parametrize("key", [b"pair", b"stream/p"])
@pytest.mark.parametrize("value", [None, b"{", DEEP])
def test_what_is_no_change_is_no_activation(key: bytes, value: bytes | None) -> None:
    assert [*PushedOffsets().records(0, [InputRecord("queries", 0, 0, key, value)])] == []


@pytest.mark.parametrize(
    "value",
    [
        *(None, b"{", DEEP, b"{}", b'{"v": 1, "shard": 0, "control_offset": 0, "offsets": {"x": 1}, "change": {}}'),
        b'{"v": 1, "shard": 0, "control_offset": 0, "offsets": {}, "change": {"v": 1, "id": "pair", "version": 9}}',
    ],
)
def test_what_is_no_activation_hides_no_query(value: bytes | None) -> None:
    of_pair = history(Topic(change(0, 1, 100)), Topic(TopicRecord(0, 0, b"pair", value)))
    assert of_pair.query.id == "pair"
    assert len(of_pair.changes) == 1


@pytest.mark.parametrize("fields", [{"query": {"id": "pair", "from": 3}}, {"query": 7}, {"changed_at_us": "now"}])
def test_what_fusion_has_refused_hides_no_version_before_it(fields: dict[str, Any]) -> None:
    first, second = change(0, 1, 100), change(1, 2, 200)
    refused = TopicRecord(0, 1, b"pair", json.encode({**json.decode(second.value or b""), **fields}))
    of_pair = history(Topic(first, refused), Topic())
    assert of_pair.query.id == "pair"
    assert [each.record.offset for each in of_pair.placed(Topic())] == [0, 1]  # the replay refuses it, too


def test_a_query_none_of_whose_versions_can_be_read_says_why() -> None:
    change = b'{"v": 1, "id": "pair", "version": 2, "changed_at_us": 0, "query": {"id": "pair"}}'
    refused = TopicRecord(0, 1, b"pair", change)
    with pytest.raises(RunError, match="the query cannot be read: from is missing"):
        history(Topic(refused), Topic())

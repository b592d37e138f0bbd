"""A micro-batch in parts: bounded work for each, every record once and in order, and no other answer."""

from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from spark_jobs.job.batch_parts import BatchParts
from spark_jobs.records.kafka_records import InputRecord
from tests.spark_jobs.inputs import frame, put, query_json, started
from tests.spark_jobs.outputs import SavedCore
from tests.spark_jobs.strategies import SWEEPING, Pushes, runs


def record(offset: int, size: int, topic: Literal["detections", "queries"] = "detections") -> InputRecord:
    return InputRecord(topic, 0, offset, None, b"x" * size)


def offsets(parts: list[list[InputRecord]]) -> list[list[int]]:
    return [[each.offset for each in part] for part in parts]


def test_a_part_has_at_most_so_many_bytes_unless_it_is_one_record() -> None:
    records = [record(2, 40), record(0, 50), record(1, 60), record(3, 500), record(4, 10)]
    assert offsets([*map(list, BatchParts(most_bytes=100).cut(records))]) == [[0], [1, 2], [3], [4]]


def test_all_control_records_come_with_the_first_detections() -> None:
    records = [record(7, 90), record(8, 90), *(record(nth, 300, "queries") for nth in (0, 1))]
    assert offsets([*map(list, BatchParts(most_bytes=1_000).cut(records))]) == [[0, 1, 7, 8]]
    assert offsets([*map(list, BatchParts(most_bytes=100).cut(records))]) == [[0, 1, 7], [8]]


def test_what_gave_many_matches_goes_on_in_smaller_parts() -> None:
    parts, sizes = BatchParts(most_bytes=1_000, most_matches=10), []
    for part in parts.cut([record(nth, 100) for nth in range(20)]):
        sizes.append(len(part))
        parts.gave(part, matches=5 * len(part) if len(sizes) < 4 else 0)
    assert sizes == [10, 2, 2, 2, 4]


def test_no_record_is_one_part() -> None:
    assert [*BatchParts().cut([])] == [[]]


@settings(max_examples=25, deadline=None)
@given(runs(), st.integers(1, 2_000))
def test_the_parts_of_a_batch_give_what_the_batch_gives(pushes: Pushes, most_bytes: int) -> None:
    whole, cut = started(limits=SWEEPING), started(limits=SWEEPING)
    saved = SavedCore(limits=SWEEPING)
    for batch in [[put(0, query_json()), frame(0, [])], *pushes]:
        at_once, parts = whole.push(batch), BatchParts(most_bytes, most_matches=3)
        matches, dead_letters = [], []
        for part in parts.cut(batch):
            output = cut.push(part)
            saved.save(cut)
            parts.gave(part, len(output.matches))
            matches += output.matches
            dead_letters += output.dead_letters
        assert sorted(matches) == sorted(at_once.matches)
        assert sorted(dead_letters) == sorted(at_once.dead_letters)
    assert saved.restored().header() == cut.header()

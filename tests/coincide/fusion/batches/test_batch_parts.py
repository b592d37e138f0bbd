"""A micro-batch in parts: bounded work for each and for all, every record once and in order, and no other answer."""

from typing import Literal

from hypothesis import given, settings
from hypothesis import strategies as st

from coincide.fusion.batches.backlog import Backlog
from coincide.fusion.batches.batch_parts import US_EACH_ANSWER, US_EACH_TEMPLATE_PAIR, BatchParts
from coincide.fusion.records.kafka_records import InputRecord
from tests.coincide.fusion.inputs import frame, put, query_json, started
from tests.coincide.fusion.outputs import SavedCore
from tests.coincide.fusion.strategies import SWEEPING, Pushes, frames_in_order, runs
from tests.examples import examples


def record(
    offset: int, size: int, topic: Literal["detections", "queries"] = "detections", partition: int = 0
) -> InputRecord:
    return InputRecord(topic, partition, offset, None, b"x" * size)


def offsets(parts: list[list[InputRecord]]) -> list[list[int]]:
    return [[each.offset for each in part] for part in parts]


def whole(**limits: float) -> BatchParts:
    """Return parts of a batch that takes on everything."""
    return BatchParts(most_us=float("inf"), **limits)  # type: ignore[arg-type]


def test_a_part_has_at_most_so_many_bytes_unless_it_is_one_record() -> None:
    records = [record(2, 40), record(0, 50), record(1, 60), record(3, 500), record(4, 10)]
    assert offsets([*map(list, whole(most_part_bytes=100).cut(records))]) == [[0], [1, 2], [3], [4]]


def test_all_control_records_come_with_the_first_detections() -> None:
    records = [record(7, 90), record(8, 90), *(record(nth, 300, "queries") for nth in (0, 1))]
    assert offsets([*map(list, whole(most_part_bytes=1_000).cut(records))]) == [[0, 1, 7, 8]]
    assert offsets([*map(list, whole(most_part_bytes=100).cut(records))]) == [[0, 1, 7], [8]]


def test_what_took_much_work_goes_on_in_smaller_parts() -> None:
    parts, sizes = whole(most_part_bytes=1_000, most_part_us=10 * US_EACH_ANSWER), list[int]()
    for part in parts.cut([record(nth, 100) for nth in range(20)]):
        sizes.append(len(part))
        parts.took(part, answers=4 * len(part) if len(sizes) < 4 else 0)
    assert sizes == [10, 2, 2, 2, 4]


def test_template_pairs_that_match_nothing_are_work_too() -> None:
    parts, sizes = whole(most_part_bytes=1_000, most_part_us=50 * US_EACH_TEMPLATE_PAIR), list[int]()
    for part in parts.cut([record(nth, 100) for nth in range(14)]):
        sizes.append(len(part))
        parts.took(part, answers=0, template_pairs=20 * len(part))
    assert sizes == [10, 2, 2]


def test_no_record_is_one_part() -> None:
    assert [*BatchParts().cut([])] == [[]]


def taken(parts: BatchParts, records: list[InputRecord], matches_each: int) -> list[tuple[int, int]]:
    """Return what one batch takes on, as (partition, offset)."""
    records_taken: list[InputRecord] = []
    for part in parts.cut(records):
        parts.took(part, matches_each * len(part))
        records_taken += part
    return [(each.partition, each.offset) for each in records_taken]


def limited(*, after_flood: bool = False) -> BatchParts:
    """Return parts of a batch that is full with 10 matches; each record that gives as many is a part."""
    return BatchParts(100, most_part_us=US_EACH_ANSWER, most_us=10 * US_EACH_ANSWER, after_flood=after_flood)


def test_a_flooded_partition_is_left_to_later_batches_and_the_others_go_first() -> None:
    flood = [record(nth, 100) for nth in range(5)]
    beside = [record(nth, 10, partition=3) for nth in range(2)]
    first = limited()
    assert taken(first, [*flood, *beside], 10) == [(3, 0), (3, 1), (0, 0)]
    assert [each.offset for each in first.left] == [1, 2, 3, 4]


def test_a_flooded_partition_waits_every_other_batch_for_others_and_for_nobody_else() -> None:
    left, turns = [record(nth, 100) for nth in range(5)], list[list[tuple[int, int]]]()
    after_flood = False
    for fresh in (1, 1, 1, 0, 0, 1):
        parts = limited(after_flood=after_flood)
        beside = [record(len(turns), 10, partition=3)] * fresh
        turns.append(taken(parts, [*left, *beside], 10))
        left, after_flood = parts.left, parts.after_flood
    assert turns == [[(3, 0), (0, 0)], [(3, 1)], [(3, 2), (0, 1)], [(0, 2)], [(0, 3)], [(3, 5)]]
    assert taken(limited(after_flood=after_flood), left, 10) == [(0, 4)]


def test_a_batch_goes_on_while_too_much_is_left() -> None:
    parts = limited()
    parts.most_left_bytes = 250
    assert len(taken(parts, [record(nth, 100) for nth in range(8)], 10)) == 6


def test_nothing_is_left_where_there_is_little_work() -> None:
    parts = BatchParts()
    assert len(taken(parts, [record(nth, 300, partition=nth % 8) for nth in range(2_000)], 2)) == 2_000


@settings(max_examples=examples(25), deadline=None)
@given(runs(), st.integers(1, 2_000))
def test_the_parts_of_a_batch_give_what_the_batch_gives(pushes: Pushes, most_part_bytes: int) -> None:
    at_once, cut = started(limits=SWEEPING), started(limits=SWEEPING)
    saved = SavedCore(limits=SWEEPING)
    for batch in [[put(0, query_json()), frame(0, [])], *pushes]:
        expected, parts = at_once.push(batch), whole(most_part_bytes=most_part_bytes, most_part_us=3 * US_EACH_ANSWER)
        matches, dead_letters = [], []
        for part in parts.cut(batch):
            output = cut.push(part)
            saved.save(cut)
            parts.took(part, len(output.matches))
            matches += output.matches
            dead_letters += output.dead_letters
        assert sorted(matches) == sorted(expected.matches)
        assert sorted(dead_letters) == sorted(expected.dead_letters)
    assert saved.restored().header() == cut.header()


@settings(max_examples=examples(25), deadline=None)
@given(st.lists(frames_in_order(), min_size=1, max_size=3), st.integers(1, 2_000), st.floats(1, 1_000))
def test_what_batches_leave_to_later_ones_changes_no_answer(
    batches: Pushes, most_part_bytes: int, most_us: float
) -> None:
    """Each batch brings records, and stores what it leaves as the state does; the last ones only finish."""
    at_once, cut, backlog = started(), started(), Backlog()
    chunks, after_flood = dict[int, bytes](), False
    in_order = [each._replace(offset=nth) for nth, each in enumerate(record for batch in batches for record in batch)]
    expected, output = at_once.push([put(0, query_json()), *in_order]), cut.push([put(0, query_json())])
    matches, dead_letters = list(output.matches), list(output.dead_letters)
    while in_order or backlog.records:
        fresh, in_order = in_order[:5], in_order[5:]
        parts = BatchParts(most_part_bytes, most_us=most_us, after_flood=after_flood)
        for part in parts.cut([*backlog.records, *fresh]):
            output = cut.push(part)
            parts.took(part, len(output.matches))
            matches += output.matches
            dead_letters += output.dead_letters
        after_flood = parts.after_flood
        written, dropped = backlog.replace(parts.left)
        chunks = {number: chunk for number, chunk in chunks.items() if number not in dropped} | written
        backlog = Backlog(chunks)
        assert sorted(backlog.records) == sorted(parts.left)
    assert sorted(matches) == sorted(expected.matches)
    assert sorted(dead_letters) == sorted(expected.dead_letters)

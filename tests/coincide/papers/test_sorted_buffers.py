"""Buffers: sorted lists, and hash tables whose events stay in order of time."""

from hypothesis import given
from hypothesis import strategies as st

from coincide.papers.recording import Event, Label
from coincide.papers.sorted_buffers import HashBuffer, SortedBuffer


def event(row: int, latest_us: int, key: Label = None) -> Event:
    return Event("a", row, latest_us, 0, latest_us, latest_us, latest_us, key)


@given(st.lists(st.integers(0, 20), max_size=12), st.lists(st.integers(0, 20), max_size=12), *[st.integers(-1, 21)] * 3)
def test_a_buffer_is_a_sorted_list(first: list[int], inserted: list[int], lo_us: int, hi_us: int, cut_us: int) -> None:
    buffer = SortedBuffer(event(row, latest_us) for row, latest_us in enumerate(first))
    for row, latest_us in enumerate(inserted, start=len(first)):
        buffer.insert(event(row, latest_us))
    expected = sorted(enumerate([*first, *inserted]), key=lambda row: row[1])
    assert [(held.row, held.latest_us) for held in buffer] == expected
    assert [held.row for held in buffer.between(lo_us, hi_us)] == [row for row, us in expected if lo_us <= us <= hi_us]
    assert buffer.first_from(lo_us) == sum(us < lo_us for _, us in expected)
    assert buffer.drop_before(cut_us) == sum(us < cut_us for _, us in expected)
    assert [buffer[at].row for at in range(len(buffer))] == [row for row, us in expected if us >= cut_us]


def test_a_hash_table_drops_in_order_of_time_from_all_buckets_and_forgets_empty_ones() -> None:
    table, queue = HashBuffer(), SortedBuffer()
    for row, (time_us, key) in enumerate([(3, "x"), (1, "y"), (2, "x"), (2, "y")]):
        for buffer in (table, queue):
            buffer.insert(event(row, time_us, key))
    assert [each.row for each in table.newest_first("x")] == [0, 2]
    assert [each.row for each in queue.newest_first("x")] == [0, 3, 2, 1]
    dropped = []
    while table.oldest is not None:
        dropped.append(table.oldest.row)
        table.drop_oldest()
    assert dropped == [1, 2, 3, 0]
    assert len(table) == 0
    assert list(table.newest_first("x")) == []
    for row, (time_us, key) in enumerate([(1, "x"), (2, "y"), (3, "x"), (4, "y")]):
        table.insert(event(row, time_us, key))
    assert table.drop_before(3) == 2
    assert [[each.row for each in table.newest_first(key)] for key in "xy"] == [[2], [3]]

import tracemalloc
from collections.abc import Iterable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide.joins.buffer import Buffer
from coincide.joins.events import Events
from coincide.joins.keys import PackedKeys, WideKeys, narrowest_keys

YEAR_1980, YEAR_2100 = 315_532_800_000_000, 4_102_444_800_000_000
Row = tuple[int, int, int]  # area, time, ref

areas = st.one_of(st.integers(0, 3), st.sampled_from([255, 256, 99_999, 2**31 - 1]))
times = st.one_of(st.integers(0, 20), st.sampled_from([YEAR_1980, YEAR_2100, -(2**51), 2**52]))
batches = st.lists(st.lists(st.tuples(areas, times), max_size=12), max_size=6)


def events(rows: list[Row]) -> Events:
    area, time_us, ref = np.array(rows, np.int64).reshape(-1, 3).T
    codes = (ref % 7).astype(np.int32)
    return Events(area.astype(np.int32), time_us, codes, codes + np.int32(1), ref)


def filled(parts: Iterable[list[tuple[int, int]]]) -> tuple[Buffer, list[Row]]:
    """Return a buffer that takes to several runs even with so few rows, and its rows."""
    buffer = Buffer(few_moved=0, moved_a_row=1)
    held: list[Row] = []
    for part in parts:
        new = [(area, time_us, len(held) + at) for at, (area, time_us) in enumerate(part)]
        buffer.insert(events(new))
        held += new
    return buffer, held


def contents(buffer: Buffer) -> list[Row]:
    held = buffer.events()
    assert (held.template == held.ref % 7).all(), "columns came apart"
    assert (held.sensor == held.ref % 7 + 1).all(), "columns came apart"
    return list(zip(held.area.tolist(), held.detected_at_us.tolist(), held.ref.tolist(), strict=True))


@given(batches)
def test_holds_every_row_in_order_of_area_time_and_arrival(parts: list[list[tuple[int, int]]]) -> None:
    buffer, held = filled(parts)
    restored = Buffer()
    restored.insert(buffer.events())
    assert contents(buffer) == contents(restored) == sorted(held)


@given(batches, st.lists(st.tuples(areas, times), max_size=4), st.tuples(times, times))
def test_has_near_events_every_row_in_reach_in_the_order_of_area_time_and_arrival(
    parts: list[list[tuple[int, int]]], probing: list[tuple[int, int]], span: tuple[int, int]
) -> None:
    buffer, held = filled(parts)
    lo_us, hi_us = sorted(span)
    near = buffer.near(events([(*row, 0) for row in probing]), np.array([lo_us]), np.array([hi_us]))
    area, time_us = near.codec.area(near.keys), near.codec.time_us(near.keys)
    rows = list(zip(area.tolist(), time_us.tolist(), near.ref.tolist(), strict=True))
    assert rows == sorted(set(rows) & set(held))
    reached = {row for row in held for area, at_us in probing if row[0] == area and lo_us <= row[1] - at_us <= hi_us}
    assert reached <= set(rows)


@given(batches, st.dictionaries(st.integers(0, 3), times))
def test_evicts_nothing_that_is_still_needed(parts: list[list[tuple[int, int]]], bounds: dict[int, int]) -> None:
    buffer, held = filled(parts)
    keep_from_us = np.array([bounds.get(area, -(2**62)) for area in range(4)])
    dropped = buffer.evict(keep_from_us).tolist()
    obsolete = {ref for area, time_us, ref in held if area < 4 and time_us < keep_from_us[area]}
    assert set(dropped) <= obsolete
    assert 16 * len(obsolete - set(dropped)) < max(16, len(held)), "far more than a sixteenth is left"
    assert contents(buffer) == sorted(row for row in held if row[2] not in dropped)


@given(st.lists(times, max_size=20), times)
def test_evicts_exactly_in_a_single_area(reported: list[int], bound: int) -> None:
    buffer, held = filled([[(2, time_us) for time_us in reported]])
    dropped = buffer.evict(np.array([0, 0, bound])).tolist()
    assert sorted(dropped) == [ref for _, time_us, ref in held if time_us < bound]


@given(batches, st.integers(0, 20))
def test_the_hard_bound_drops_the_earliest(parts: list[list[tuple[int, int]]], count: int) -> None:
    buffer, held = filled(parts)
    dropped = set(buffer.evict_oldest(count).tolist())
    assert len(dropped) == min(count, len(held))
    kept = [time_us for _, time_us, ref in held if ref not in dropped]
    gone = [time_us for _, time_us, ref in held if ref in dropped]
    assert not kept or not gone or max(gone) <= min(kept)
    assert len(contents(buffer)) == len(kept)


def test_takes_24_bytes_an_event_with_many_areas() -> None:
    area, buffer = np.arange(100_000, dtype=np.int32), Buffer()
    buffer.insert(Events(area, YEAR_1980 + area.astype(np.int64), area, area, area.astype(np.int64)))
    held = buffer.rows()
    assert sum(column.itemsize for column in (held.keys, held.template, held.sensor, held.ref)) == 24


every_key = pytest.mark.parametrize("keys", [PackedKeys(), narrowest_keys(99_999, YEAR_1980, YEAR_1980), WideKeys()])


@every_key
def test_keys_give_back_area_and_time(keys: PackedKeys | WideKeys) -> None:
    area, time_us = np.array([0, 255, 7], np.int32), YEAR_1980 + np.array([0, 1, -1])
    written = keys.encode(area, time_us)
    assert keys.area(written).tolist() == area.tolist()
    assert keys.time_us(written).tolist() == time_us.tolist()


@every_key
def test_a_bound_beyond_all_times_stays_in_its_area(keys: PackedKeys | WideKeys) -> None:
    area = np.array([4, 5, 6], np.int32)
    stored = keys.encode(area, np.full(3, YEAR_1980))
    below = keys.encode_bound(area, np.full(3, -(2**61)))
    above = keys.encode_bound(area, np.full(3, 2**61))
    assert np.searchsorted(stored, below, side="left").tolist() == [0, 1, 2]
    assert np.searchsorted(stored, above, side="right").tolist() == [1, 2, 3]


def test_an_area_beyond_the_keys_finds_nothing() -> None:
    keys = PackedKeys()  # 256 areas
    stored = keys.encode(np.array([0, 255], np.int32), np.array([5, 5]))
    beyond = keys.encode_bound(np.array([256, 512, 2**31 - 1], np.int32), np.array([5, 5, 5]))
    assert np.searchsorted(stored, beyond).tolist() == [2, 2, 2]


def test_a_sliding_buffer_takes_no_more_than_a_quarter_beyond_its_24_bytes() -> None:
    held, batch = 100_000, 1_000
    nought = np.zeros(batch, np.int32)
    tracemalloc.start()
    buffer = Buffer()
    for first in range(0, 5 * held, batch):
        rows = np.arange(first, first + batch)
        buffer.insert(Events(nought, rows, nought, nought, rows))
        buffer.evict(np.array([first + batch - held]))
    size, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(buffer) == held
    assert size / held < 24 * 1.25 + 2
    assert buffer.rows().ref.tolist() == list(range(4 * held, 5 * held))


@given(batches, st.sets(st.integers(0, 80)))
def test_drops_exactly_the_events_of_the_given_refs(parts: list[list[tuple[int, int]]], refs: set[int]) -> None:
    buffer, held = filled(parts)
    buffer.drop(np.array(sorted(refs), np.int64))
    assert contents(buffer) == sorted(row for row in held if row[2] not in refs)

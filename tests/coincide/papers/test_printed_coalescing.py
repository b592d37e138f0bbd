"""Each defect of the printed algorithms of the coalescing paper on its smallest case, beside the right answer."""

from __future__ import annotations

from typing import Any

import pytest

from coincide import EagerCoalescing, Equal, LazyCoalescing, WindowExtent
from tests.reference.coalescing import Reading, coalesced_readings, in_time_scope, in_tuple_scope
from tests.reference.printed_coalescing import NeverEndsError, PrintedEager, PrintedExtent, PrintedLazy, UndefinedError

Interval = tuple[int | str, int, int, Any]


def at(ts_us: int, value: Any = 81, group: int = 0) -> Reading:
    return Reading(ts_us, group, ts_us, value)


def right(arrivals: list[Reading], extent: WindowExtent) -> list[Interval]:
    """Return the runs by definition, after eager and lazy have agreed with it."""
    held = in_tuple_scope(arrivals, extent.size) if extent.size else in_time_scope(arrivals, extent.duration_us or 0)
    runs = coalesced_readings(held, Equal())
    ts, group, ids, value, _ = [list(column) for column in zip(*arrivals, strict=True)]
    for operator in (EagerCoalescing(extent), LazyCoalescing(extent)):
        operator.push(ts, group, value, ids)
        assert list(operator.scan()) == runs
    return [run[:4] for run in runs]


def pushed(extent: PrintedExtent, arrivals: list[Reading]) -> list[Interval]:
    """Return the runs as printed."""
    extent.push(*arrivals)
    return list(extent.intervals)


def test_in_order_and_in_one_group_print_is_right() -> None:
    arrivals = [at(0), at(10), at(20, 79), at(30, 79), at(40)]
    assert pushed(PrintedEager(full_at=4), arrivals) == right(arrivals, WindowExtent(size=4)) == [
        (0, 10, 20, 81), (0, 20, 40, 79), (0, 40, 40, 81),
    ]  # fmt: skip


@pytest.mark.parametrize("printed", [PrintedLazy, PrintedEager])
def test_the_oldest_goes_before_the_window_is_full(printed: type[PrintedLazy | PrintedEager]) -> None:
    arrivals = [at(0), at(10, 79), at(20)]
    assert pushed(printed(), arrivals) == [(0, 20, 20, 81)]  # never more than one
    assert right(arrivals, WindowExtent(size=3)) == [(0, 0, 10, 81), (0, 10, 20, 79), (0, 20, 20, 81)]


@pytest.mark.parametrize("printed", [PrintedLazy, PrintedEager])
def test_a_tuple_that_is_too_late_throws_the_oldest_out(printed: type[PrintedLazy | PrintedEager]) -> None:
    arrivals = [at(10), at(20, 79), at(5)]
    assert pushed(printed(full_at=2), arrivals) == [(0, 20, 20, 79)]  # 5 is discarded, and 10 has gone for it
    assert right(arrivals, WindowExtent(size=2)) == [(0, 10, 20, 81), (0, 20, 20, 79)]


def test_algorithm_1_line_9_finds_a_tuple_too_early() -> None:
    arrivals = [at(0, 1), at(10, 2), at(20, 3), at(15, 4)]
    starts = [interval[1] for interval in pushed(PrintedLazy(full_at=9), arrivals)]
    assert starts == [0, 15, 10, 20]  # 15 stands before 10
    assert [interval[1] for interval in right(arrivals, WindowExtent(size=9))] == [0, 10, 15, 20]


@pytest.mark.parametrize("printed", [PrintedLazy, PrintedEager])
def test_no_tuple_is_too_late_for_a_time_window(printed: type[PrintedLazy | PrintedEager]) -> None:
    arrivals = [at(0, 1), at(100, 2), at(110, 3), at(50, 4)]
    extent = printed(duration_us=20)
    extent.push(*arrivals[:3])
    with pytest.raises(UndefinedError):
        extent.push(arrivals[3])  # 60 before the latest, it is not discarded: a place for it is looked for
    assert right(arrivals, WindowExtent(duration_us=20)) == [(0, 100, 110, 2), (0, 110, 110, 3)]


def test_a_split_leaves_the_second_part_where_the_first_starts() -> None:
    arrivals = [at(0), at(10), at(20, 79), at(5, 80)]
    intervals = pushed(PrintedEager(full_at=9), arrivals)
    assert intervals == [(0, 0, 5, 81), (0, 5, 0, 80), (0, 0, 20, 81), (0, 20, 20, 79)]  # 5 ends before it starts
    assert right(arrivals, WindowExtent(size=9)) == [(0, 0, 5, 81), (0, 5, 10, 80), (0, 10, 20, 81), (0, 20, 20, 79)]


def test_a_late_tuple_in_the_newest_run_is_taken_as_in_order() -> None:
    arrivals = [at(0), at(10), at(20), at(5, 79)]
    # 5 is after 0, where the run starts; 10 and 20 are lost
    assert pushed(PrintedEager(full_at=9), arrivals) == [(0, 0, 5, 81), (0, 5, 5, 79)]
    assert right(arrivals, WindowExtent(size=9)) == [(0, 0, 5, 81), (0, 5, 10, 79), (0, 10, 20, 81)]


def test_a_split_makes_a_run_of_no_reading() -> None:
    arrivals = [at(0), at(20, 79), at(10, 80)]
    assert len(pushed(PrintedEager(full_at=9), arrivals)) == 4  # of three readings; 81 is there twice
    assert right(arrivals, WindowExtent(size=9)) == [(0, 0, 10, 81), (0, 10, 20, 80), (0, 20, 20, 79)]


def test_a_late_tuple_never_merges_with_the_run_after_it() -> None:
    arrivals = [at(0), at(20, 79), at(10, 79)]
    assert [interval[3] for interval in pushed(PrintedEager(full_at=9), arrivals)].count(79) == 2
    assert right(arrivals, WindowExtent(size=9)) == [(0, 0, 10, 81), (0, 10, 20, 79)]


def test_a_late_tuple_before_the_first_of_its_group_has_no_target() -> None:
    arrivals = [at(0, group=1), at(20), at(10)]
    extent = PrintedEager(full_at=9)
    extent.push(*arrivals[:2])
    with pytest.raises(UndefinedError):
        extent.push(arrivals[2])
    assert right(arrivals, WindowExtent(size=9)) == [(0, 10, 20, 81), (1, 0, 0, 81)]


def test_the_latest_of_a_group_is_taken_for_the_latest_of_all() -> None:
    arrivals = [at(0, group=1), at(100, 79), at(110, group=1), at(60, 80)]
    # taken as in order: it follows the run that starts at 100
    assert (0, 60, 60, 80) in pushed(PrintedEager(full_at=9), arrivals)
    assert right(arrivals, WindowExtent(size=9)) == [(0, 60, 100, 80), (0, 100, 100, 79), (1, 0, 110, 81)]


def test_the_next_tuple_is_one_of_another_group() -> None:
    arrivals = [at(0, 1), at(5, 1, group=1), at(10, 2)]
    assert pushed(PrintedLazy(full_at=9), arrivals)[0] == (0, 0, 5, 1)  # cut by the other region's reading
    assert right(arrivals, WindowExtent(size=9))[0] == (0, 0, 10, 1)


def test_a_time_window_over_a_coalesced_tuple_never_ends() -> None:
    arrivals = [at(0), at(10), at(20), at(28)]
    extent = PrintedEager(duration_us=15)
    extent.push(*arrivals[:2])
    with pytest.raises(NeverEndsError):
        extent.push(*arrivals[2:])  # 13 splits [0, 20); its second part starts at 0 again
    assert right(arrivals, WindowExtent(duration_us=15)) == [(0, 20, 28, 81)]


def test_the_newest_tuple_holds_at_no_time() -> None:
    arrivals = [at(0), at(10, 79)]
    extent = PrintedEager(full_at=9)
    extent.push(*arrivals)
    runs = coalesced_readings(arrivals, Equal())
    assert extent.intervals[-1] == (0, 10, 10, 79)  # [10, 10) is empty: nothing says that it goes on
    assert [run.is_open for run in runs] == [False, True]


@pytest.mark.parametrize("printed", [PrintedLazy, PrintedEager])
def test_of_two_tuples_at_one_instant_the_last_to_arrive_counts(printed: type[PrintedLazy | PrintedEager]) -> None:
    first, second = Reading(10, 0, 0, 80), Reading(10, 0, 1, 79)
    in_turn = [[at(0), *tied, at(20, 78)] for tied in ([first, second], [second, first])]
    answers = [pushed(printed(full_at=9), arrivals) for arrivals in in_turn]
    assert answers[0] == [(0, 0, 10, 81), (0, 10, 10, 80), (0, 10, 20, 79), (0, 20, 20, 78)]
    assert answers[1] == [(0, 0, 10, 81), (0, 10, 10, 79), (0, 10, 20, 80), (0, 20, 20, 78)]  # the order decides
    for arrivals in in_turn:
        assert right(arrivals, WindowExtent(size=9)) == [(0, 0, 10, 81), (0, 10, 20, 80), (0, 20, 20, 78)]

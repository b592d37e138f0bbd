"""Algorithms 1 and 2 of the coalescing paper and its Functions 1 to 3, line by line: each defect on its smallest case.

What print leaves open is filled in the mildest way: an empty extent takes its first tuple as it is, and `full_at` lets
a tuple scope fill before its oldest goes (as printed, `full_at` None, it goes with every arrival).
"""

from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from coincide import EagerCoalescing, Equal, LazyCoalescing, WindowExtent
from tests.reference.coalescing import Reading, coalesced_readings, in_time_scope, in_tuple_scope

Interval = tuple[int | str, int, int, Any]
MANY_TURNS = 100


class NeverEndsError(Exception):
    """The loop that discards expired tuples comes to no end."""


class UndefinedError(Exception):
    """There is no tuple such as the algorithm says to find."""


@dataclass(eq=False)
class TemporalTuple:
    group: int
    value: Any
    t_s: int
    t_e: int
    v: list[int] = field(default_factory=list)


class PrintedLazy:
    """Algorithm 1 and its time-based form; `extent` is one list for all groups, as next() and prev() have it."""

    def __init__(self, full_at: int | None = None, duration_us: int | None = None) -> None:
        self.extent: list[TemporalTuple] = []
        self.full_at, self.duration_us = full_at, duration_us
        self.s_latest: TemporalTuple | None = None

    def pushed(self, arrivals: list[Reading]) -> list[Interval]:
        """Take readings; return the runs as printed."""
        for s_new in arrivals:
            self._push(s_new)
        return [(each.group, each.t_s, each.t_e, each.value) for each in self.extent]

    def _push(self, s_new: Reading) -> None:
        if self.duration_us is not None:
            self._discard_expired(s_new.ts_us - self.duration_us)
        elif self.extent and (self.full_at is None or sum(1 + len(each.v) for each in self.extent) >= self.full_at):
            self._discard_oldest()
        if not self.extent or self.s_latest is None:
            self._add_first(s_new)
        elif s_new.ts_us < self.s_latest.t_s:
            too_late_from = self.extent[0].t_s if self.duration_us is None else s_new.ts_us - self.duration_us
            if not s_new.ts_us < too_late_from:
                self._add_out_of_order(s_new)
        else:
            self._add_in_order(s_new, self.s_latest)

    def _add_first(self, s_new: Reading) -> None:
        self.s_latest = TemporalTuple(s_new.group, s_new.value, s_new.ts_us, s_new.ts_us)
        self.extent.append(self.s_latest)

    def _discard_oldest(self) -> None:
        del self.extent[0]

    def _discard_expired(self, since_us: int) -> None:
        while self.extent and self.extent[0].t_s < since_us:
            del self.extent[0]

    def _add_out_of_order(self, s_new: Reading) -> None:
        for s_prev, following in zip(self.extent, self.extent[1:], strict=False):
            if s_prev.t_s < s_new.ts_us < following.t_e:  # line 9
                self._add_tuple(s_new, s_prev)
                return
        raise UndefinedError

    def _add_in_order(self, s_new: Reading, s_latest: TemporalTuple) -> None:
        self.s_latest = self._add_tuple(s_new, s_latest)

    def _add_tuple(self, s_new: Reading, s_prev: TemporalTuple) -> TemporalTuple:
        """Function 1."""
        place = self.extent.index(s_prev) + 1
        s_prev.t_e = s_new.ts_us
        t_e = s_new.ts_us if place == len(self.extent) else self.extent[place].t_s
        added = TemporalTuple(s_new.group, s_new.value, s_new.ts_us, t_e)
        self.extent.insert(place, added)
        return added


class PrintedEager(PrintedLazy):
    """Algorithm 2 and its time-based form."""

    def _discard_oldest(self) -> None:
        s_oldest = self.extent[0]
        if s_oldest.v:
            s_oldest.t_s = s_oldest.v.pop(0)
        else:
            del self.extent[0]

    def _discard_expired(self, since_us: int) -> None:
        for _ in range(MANY_TURNS):
            if not self.extent or not self.extent[0].t_s < since_us:
                return
            s_oldest = self.extent[0]
            if s_oldest.v and s_oldest.t_e > since_us:
                self._split_tuple(s_oldest, since_us)
            del self.extent[0]
        raise NeverEndsError

    def _add_out_of_order(self, s_new: Reading) -> None:
        for s_target in self.extent:
            if s_target.group == s_new.group and s_target.t_s < s_new.ts_us < s_target.t_e:  # line 14
                if s_target.value == s_new.value:
                    self._merge_tuples(s_new, s_target)
                else:
                    self._add_tuple(s_new, self._split_tuple(s_target, s_new.ts_us))
                return
        raise UndefinedError

    def _add_in_order(self, s_new: Reading, s_latest: TemporalTuple) -> None:
        mine = [each for each in self.extent if each.group == s_new.group]
        if not mine:  # the group's first tuple: not in the text
            self._add_first(s_new)
            return
        self.s_latest = mine[-1]  # line 24: the global variable
        if self.s_latest.value == s_new.value:
            self._merge_tuples(s_new, self.s_latest)
        else:
            self.s_latest = self._add_tuple(s_new, self.s_latest)

    def _merge_tuples(self, s_new: Reading, s: TemporalTuple) -> None:
        """Function 2."""
        s.v = sorted([*s.v, s_new.ts_us])
        s.t_e = max(s.t_e, s.v[-1])

    def _split_tuple(self, s: TemporalTuple, ts_us: int) -> TemporalTuple:
        """Function 3."""
        s2 = replace(s)
        s.v = [ts for ts in s.v if not ts > ts_us]
        s2.v = [ts for ts in s2.v if not ts < ts_us]
        self.extent.insert(self.extent.index(s) + 1, s2)
        return s


NINE = WindowExtent(size=9)

each_printed = pytest.mark.parametrize("printed", [PrintedLazy, PrintedEager])


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


def test_in_order_and_in_one_group_print_is_right() -> None:
    arrivals = [at(0), at(10), at(20, 79), at(30, 79), at(40)]
    runs = [(0, 10, 20, 81), (0, 20, 40, 79), (0, 40, 40, 81)]
    assert PrintedEager(full_at=4).pushed(arrivals) == right(arrivals, WindowExtent(size=4)) == runs


@each_printed
def test_the_oldest_goes_before_the_window_is_full(printed: type[PrintedLazy]) -> None:
    arrivals = [at(0), at(10, 79), at(20)]
    assert printed().pushed(arrivals) == [(0, 20, 20, 81)]  # never more than one
    assert right(arrivals, WindowExtent(size=3)) == [(0, 0, 10, 81), (0, 10, 20, 79), (0, 20, 20, 81)]


@each_printed
def test_a_tuple_that_is_too_late_throws_the_oldest_out(printed: type[PrintedLazy]) -> None:
    arrivals = [at(10), at(20, 79), at(5)]
    assert printed(full_at=2).pushed(arrivals) == [(0, 20, 20, 79)]  # 5 is discarded, and 10 has gone for it
    assert right(arrivals, WindowExtent(size=2)) == [(0, 10, 20, 81), (0, 20, 20, 79)]


def test_algorithm_1_line_9_finds_a_tuple_too_early() -> None:
    arrivals = [at(0, 1), at(10, 2), at(20, 3), at(15, 4)]
    assert [run[1] for run in PrintedLazy(full_at=9).pushed(arrivals)] == [0, 15, 10, 20]  # 15 stands before 10
    assert [run[1] for run in right(arrivals, NINE)] == [0, 10, 15, 20]


@each_printed
def test_no_tuple_is_too_late_for_a_time_window(printed: type[PrintedLazy]) -> None:
    arrivals = [at(0, 1), at(100, 2), at(110, 3), at(50, 4)]
    extent = printed(duration_us=20)
    extent.pushed(arrivals[:3])
    with pytest.raises(UndefinedError):
        extent.pushed(arrivals[3:])  # 60 before the latest, it is not discarded: a place for it is looked for
    assert right(arrivals, WindowExtent(duration_us=20)) == [(0, 100, 110, 2), (0, 110, 110, 3)]


def test_a_late_tuple_splits_a_run_wrongly_or_is_taken_as_in_order() -> None:
    arrivals = [at(0), at(10), at(20, 79), at(5, 80)]
    as_printed = [(0, 0, 5, 81), (0, 5, 0, 80), (0, 0, 20, 81), (0, 20, 20, 79)]  # 5 ends before it starts
    assert PrintedEager(full_at=9).pushed(arrivals) == as_printed
    assert right(arrivals, NINE) == [(0, 0, 5, 81), (0, 5, 10, 80), (0, 10, 20, 81), (0, 20, 20, 79)]
    late = [
        at(0),
        at(10),
        at(20),
        at(5, 79),
    ]  # taken as in order: 5 is after 0, where the run starts; 10 and 20 are lost
    assert PrintedEager(full_at=9).pushed(late) == [(0, 0, 5, 81), (0, 5, 5, 79)]
    assert right(late, NINE) == [(0, 0, 5, 81), (0, 5, 10, 79), (0, 10, 20, 81)]


def test_a_split_makes_a_run_of_no_reading_and_none_merges_with_the_run_after_it() -> None:
    arrivals = [at(0), at(20, 79), at(10, 80)]
    assert len(PrintedEager(full_at=9).pushed(arrivals)) == 4  # of three readings; 81 is there twice
    assert right(arrivals, NINE) == [(0, 0, 10, 81), (0, 10, 20, 80), (0, 20, 20, 79)]
    alike = [*arrivals[:2], at(10, 79)]
    assert [run[3] for run in PrintedEager(full_at=9).pushed(alike)].count(79) == 2
    assert right(alike, NINE) == [(0, 0, 10, 81), (0, 10, 20, 79)]


def test_a_late_tuple_before_the_first_of_its_group_has_no_target() -> None:
    arrivals = [at(0, group=1), at(20), at(10)]
    extent = PrintedEager(full_at=9)
    extent.pushed(arrivals[:2])
    with pytest.raises(UndefinedError):
        extent.pushed(arrivals[2:])
    assert right(arrivals, NINE) == [(0, 10, 20, 81), (1, 0, 0, 81)]


def test_the_latest_of_a_group_is_taken_for_the_latest_of_all() -> None:
    arrivals = [at(0, group=1), at(100, 79), at(110, group=1), at(60, 80)]
    # taken as in order: it follows the run that starts at 100
    assert (0, 60, 60, 80) in PrintedEager(full_at=9).pushed(arrivals)
    assert right(arrivals, NINE) == [(0, 60, 100, 80), (0, 100, 100, 79), (1, 0, 110, 81)]


def test_the_next_tuple_is_one_of_another_group() -> None:
    arrivals = [at(0, 1), at(5, 1, group=1), at(10, 2)]
    assert PrintedLazy(full_at=9).pushed(arrivals)[0] == (0, 0, 5, 1)  # cut by the other region's reading
    assert right(arrivals, NINE)[0] == (0, 0, 10, 1)


def test_a_time_window_over_a_coalesced_tuple_never_ends() -> None:
    arrivals = [at(0), at(10), at(20), at(28)]
    extent = PrintedEager(duration_us=15)
    extent.pushed(arrivals[:2])
    with pytest.raises(NeverEndsError):
        extent.pushed(arrivals[2:])  # 13 splits [0, 20); its second part starts at 0 again
    assert right(arrivals, WindowExtent(duration_us=15)) == [(0, 20, 28, 81)]


def test_the_newest_tuple_holds_at_no_time() -> None:
    arrivals = [at(0), at(10, 79)]
    assert PrintedEager(full_at=9).pushed(arrivals)[-1] == (0, 10, 10, 79)  # [10, 10): nothing says that it goes on
    assert [run.is_open for run in coalesced_readings(arrivals, Equal())] == [False, True]


@each_printed
def test_of_two_tuples_at_one_instant_the_last_to_arrive_counts(printed: type[PrintedLazy]) -> None:
    first, second = Reading(10, 0, 0, 80), Reading(10, 0, 1, 79)
    in_turn = [[at(0), *tied, at(20, 78)] for tied in ([first, second], [second, first])]
    answers = [printed(full_at=9).pushed(arrivals) for arrivals in in_turn]
    assert answers[0] == [(0, 0, 10, 81), (0, 10, 10, 80), (0, 10, 20, 79), (0, 20, 20, 78)]
    assert answers[1] == [(0, 0, 10, 81), (0, 10, 10, 79), (0, 10, 20, 80), (0, 20, 20, 78)]  # the order decides
    for arrivals in in_turn:
        assert right(arrivals, NINE) == [(0, 0, 10, 81), (0, 10, 20, 80), (0, 20, 20, 78)]

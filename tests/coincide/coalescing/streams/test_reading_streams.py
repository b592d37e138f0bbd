"""Eager, lazy and batch against the definition, at every scan and in every order of arrival."""

import pickle
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import pairwise
from operator import eq
from random import Random
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from coincide import Changes, EagerCoalescing, LazyCoalescing, Runs, WindowExtent
from coincide.coalescing import Bounded, CoalescedRun, Equal, Predicate, RunChanges
from coincide.coalescing.links import Link
from coincide.coalescing.runs import value_column
from coincide.coalescing.streams.columnar import ColumnarExtent
from coincide.coalescing.streams.extent import ReadingBatch
from coincide.coalescing.streams.single import SingleExtent
from coincide.errors import CoalescingError
from tests.examples import examples
from tests.reference.coalescing import (
    EQUIVALENCES,
    Reading,
    coalesced_readings,
    each_group,
    in_time_scope,
    in_tuple_scope,
)

NUMBERS = st.integers(0, 2) | st.sampled_from([-0.1, 0.1, 0.2, 0.3, 0.4, 0.6, 0.7])

few = st.integers(0, 2)
readings = st.lists(st.builds(Reading, st.integers(0, 20), few, few, NUMBERS, st.sampled_from([1, 1, 0])), max_size=30)
extents = st.builds(
    lambda is_time, bound, per_group: WindowExtent(
        size=None if is_time else bound + 1, duration_us=bound if is_time else None, per_group=per_group
    ),
    st.booleans(),
    st.integers(0, 9),
    st.booleans(),
)
links = st.builds(Link, st.sampled_from(EQUIVALENCES), st.none() | st.integers(0, 5))
cuts = st.lists(st.integers(0, 30), max_size=8)


def held(arrived: list[Reading], extent: WindowExtent) -> list[Reading]:
    scope, bound = (in_tuple_scope, extent.size) if extent.size else (in_time_scope, extent.duration_us or 0)
    return each_group(arrived, scope, bound) if extent.per_group else scope(arrived, bound)


@pytest.fixture(autouse=True, scope="module")
def little_room() -> Iterator[None]:
    """A few readings already fill blocks, segments and sections."""
    sizes = {"ordered_times.BLOCK": 4, "segments.ROOM": 1, "sections.FULL": 3}
    sizes |= {"linked_section.SPARSE": 1, "reading_streams.SLICE": 2}
    with ExitStack() as stack:
        for name, size in sizes.items():
            stack.enter_context(patch(f"coincide.coalescing.streams.{name}", size))
        yield


class SoonChanging(EagerCoalescing):
    """Goes over to columns at batches of four rows, and back soon."""

    _even_rows = 3

    def __init__(self, extent: WindowExtent, link: Link) -> None:
        super().__init__(extent, link.equivalence, link.hold_us)


Eager = SingleExtent | ColumnarExtent | SoonChanging
Way = Callable[[WindowExtent, Link], Eager]
ways = st.sampled_from([SingleExtent, ColumnarExtent, SoonChanging])


def pushed(operator: Eager | LazyCoalescing, part: list[Reading]) -> Changes[Runs]:
    ts, group, ids, value, where = [list(column) for column in zip(*part, strict=True)] if part else [[]] * 5
    columns = ts, group, value, ids, [bool(each) for each in where]
    if isinstance(operator, LazyCoalescing | EagerCoalescing):
        return operator.push(*columns)
    ts_us, groups, refs, kept = (np.array(column, np.int64) for column in (ts, group, ids, where))
    return operator.push(ReadingBatch(ts_us, groups, value_column(value), refs, kept.astype(np.bool_)))


def parts(listed: list[Reading], cuts: list[int]) -> Iterator[list[Reading]]:
    for begin, end in pairwise([0, *sorted(cuts), len(listed)]):
        yield listed[begin:end]


@settings(max_examples=examples())
@given(ways, readings, cuts, extents, links)
@example(
    SingleExtent,
    [Reading(5, 0, 1, 0), Reading(5, 0, 0, 1), Reading(6, 0, 0, 0)],
    [1, 2],
    WindowExtent(size=2),
    Link(Equal(), None),
)
@example(
    SingleExtent,
    [Reading(0, 0, 0, 0), Reading(1, 0, 1, 0), Reading(1, 0, 0, 0), Reading(2, 0, 1, 0), Reading(2, 0, 0, 0)],
    [2],
    WindowExtent(size=9),
    Link(Equal(), None),
)
def test_every_scan_is_the_definition_and_the_changes_until_then(
    way: Way, listed: list[Reading], cuts: list[int], extent: WindowExtent, link: Link
) -> None:
    eager, lazy = way(extent, link), LazyCoalescing(extent, link.equivalence, link.hold_us)
    arrived, live = 0, set[CoalescedRun]()
    for part in parts(listed, cuts):
        arrived += len(part)
        changes = pushed(eager, part)
        pushed(lazy, part)
        expected = coalesced_readings(held(listed[:arrived], extent), link.equivalence, link.hold_us)
        assert list(eager.scan()) == expected
        assert list(lazy.scan()) == expected
        inserted, retracted = set(changes.insert), set(changes.retract)
        assert retracted <= live
        assert not inserted & live
        live = (live - retracted) | inserted
        assert live == set(expected)
        assert len({(run.group, run.start_us) for run in live}) == len(live)  # the stable id names one run


@settings(max_examples=examples())
@given(ways, ways, readings, st.randoms(use_true_random=False), extents, links)
def test_neither_order_nor_batches_matter(
    way: Way, another: Way, listed: list[Reading], random: Any, extent: WindowExtent, link: Link
) -> None:
    distinct = list({reading.key: reading for reading in listed}.values())
    shuffled = random.sample(distinct, len(distinct))
    one, other = way(extent, link), another(extent, link)
    pushed(one, distinct)
    for part in parts(shuffled, [len(shuffled) // 3, len(shuffled) // 2]):
        pushed(other, part)
    assert list(one.scan()) == list(other.scan())


@settings(max_examples=examples())
@given(ways, readings, extents, links)
def test_readings_again_change_nothing(way: Way, listed: list[Reading], extent: WindowExtent, link: Link) -> None:
    eager = way(extent, link)
    pushed(eager, listed)
    changes = pushed(eager, listed)
    assert (len(changes.insert), len(changes.retract)) == (0, 0)


@settings(max_examples=examples())
@given(ways, readings, st.integers(0, 30), extents)
def test_late_ones_are_those_outside_when_they_arrive(
    way: Way, listed: list[Reading], before: int, extent: Any
) -> None:
    eager, lazy = way(extent, Link(Equal())), LazyCoalescing(extent)
    for operator in (eager, lazy):
        pushed(operator, listed[:before])
    counting = [{kept.key for kept in held(listed[: at + 1], extent)} for at in range(before, len(listed))]
    outside = [row for row, keys in enumerate(counting) if listed[before + row].key not in keys]
    late, also_late = pushed(eager, listed[before:]), pushed(lazy, listed[before:])
    assert late.late.tolist() == also_late.late.tolist() == outside
    assert late.late_by_us.tolist() == also_late.late_by_us.tolist()
    assert (late.late_by_us >= 0).all()
    assert (len(also_late.insert), len(also_late.retract)) == (0, 0)


@settings(max_examples=examples())
@given(ways, readings, st.integers(0, 25), extents, links)
def test_both_forms_drop_and_read_the_same(
    way: Way, listed: list[Reading], before_us: int, extent: WindowExtent, link: Link
) -> None:
    eager, changes = way(extent, link), RunChanges()
    pushed(eager, listed)
    live = set(eager.scan())
    eager.drop_before(before_us, changes)
    rest = [reading for reading in held(listed, extent) if reading.ts_us >= before_us]
    expected = coalesced_readings(rest, link.equivalence, link.hold_us)
    assert list(eager.scan()) == expected
    assert (live - set(changes.retracted.values())) | set(changes.inserted.values()) == set(expected)
    assert sorted(zip(*(eager.readings()[column].tolist() for column in (0, 1, 3)), strict=True)) == sorted(
        {(reading.ts_us, reading.group, reading.id) for reading in rest}
    )
    for run in expected:
        if not run.is_open and run.start_us < run.end_us:  # an empty interval has no readings in it
            assert eager.readings_in(run.group, run.start_us, run.end_us) == (run.count, run.value, run.last)


@settings(max_examples=examples())
@given(readings, cuts, st.integers(0, 30), extents, links)
def test_a_restart_changes_nothing_while_the_form_changes(
    listed: list[Reading], cuts: list[int], restart: int, extent: WindowExtent, link: Link
) -> None:
    one = other = SoonChanging(extent, link)
    for number, part in enumerate(parts(listed, cuts)):
        if number == restart % (len(cuts) + 1):
            other = pickle.loads(pickle.dumps(one))
        changes = pushed(one, part)
        if other is not one:
            again = pushed(other, part)
            assert (list(changes.insert), list(changes.retract)) == (list(again.insert), list(again.retract))
    assert list(one.scan()) == list(other.scan())


@pytest.mark.parametrize("readings_a_run", [1, 7])
@pytest.mark.parametrize("rows", [1, 100])
@pytest.mark.parametrize("new_groups", [False, True])
def test_a_long_stream_forgets_what_it_dropped(readings_a_run: int, rows: int, new_groups: bool) -> None:
    eager = EagerCoalescing(WindowExtent(size=10))
    for begin in range(0, 3000, rows):
        ts = np.arange(begin, begin + rows)
        eager.push(ts, ts // 50 if new_groups else None, ts // readings_a_run)
    assert sum(run.count for run in eager.scan()) == 10
    assert len(pickle.dumps(eager)) < 20_000


@pytest.mark.parametrize("extent", [WindowExtent(150), WindowExtent(duration_us=150), WindowExtent(90, None, True)])
def test_a_long_stream_in_any_order_is_the_lazy_one(extent: WindowExtent) -> None:
    random = Random(2)
    single, columnar = (way(extent, Link(Equal(), 9)) for way in (SingleExtent, ColumnarExtent))
    lazy = LazyCoalescing(extent, hold_us=9)
    for begin in range(0, 3000, 50):
        part = [
            Reading(ts - random.choice([0, 0, 0, random.randrange(200)]), random.randrange(2), ts, random.randrange(2))
            for ts in range(begin, begin + 50)
        ]
        for operator in (single, columnar, lazy):
            pushed(operator, part)
        assert list(single.scan()) == list(columnar.scan()) == list(lazy.scan())


@pytest.mark.parametrize("value", [["calm", "stormy"], [1.5, None], [3, 4.5], [(1, 2), (1, 2)]])
def test_values_of_every_kind_pass_through_columns(value: list[Any]) -> None:
    column = np.empty(2, object)
    column[:] = value
    batches = [([0, 10], value_column(value[:1] * 2)), ([20, 30], value_column(value[1:] * 2)), ([40], column[1:])]
    eager = SoonChanging(WindowExtent(size=4), Link(Predicate(eq)))
    eager._even_rows = 1
    for ts, values in batches:
        eager.push(ts, value=values)
    assert isinstance(eager._form, ColumnarExtent)
    assert [run.value for run in eager.scan()] == ([value[0]] if value[0] != value[1] else []) + [value[1]]


def test_groups_may_have_names_and_readings_too() -> None:
    eager = EagerCoalescing(WindowExtent(size=3))
    changes = eager.push([0, 10, 20], ["bay", "sea", "bay"], ["calm", "calm", "calm"], ["r1", "r2", "r3"])
    assert [(run.group, run.first, run.last, run.value) for run in changes.insert] == [
        ("bay", "r1", "r3", "calm"),
        ("sea", "r2", "r2", "calm"),
    ]
    with pytest.raises(CoalescingError, match="group is 7: of one type with those before, str"):
        eager.push([5], [7])


def test_readings_without_an_id_are_numbered_as_they_arrive() -> None:
    eager = EagerCoalescing(WindowExtent(size=9))
    eager.push([10, 20], value=[81, 79])
    eager.push([5, 30], value=[3, 4], where=[True, False])
    assert [(run.first, run.value) for run in eager.scan()] == [(2, 3), (0, 81), (1, 79)]


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (WindowExtent, "extent is .*: size or duration_us, exactly one of both"),
        (lambda: WindowExtent(size=3, duration_us=3), "exactly one of both"),
        (lambda: WindowExtent(size=0), "size is 0: a whole number of readings, 1 or more"),
        (lambda: WindowExtent(size=True), "size is True"),
        (lambda: WindowExtent(duration_us=-1), "duration_us is -1"),
        (lambda: WindowExtent(size=2, per_group=1), "per_group is 1"),  # type: ignore[arg-type]
        (lambda: EagerCoalescing(5), "extent is 5: a WindowExtent"),  # type: ignore[arg-type]
        (lambda: LazyCoalescing(WindowExtent(size=2), eq), "an Equivalence, such"),  # type: ignore[arg-type]
        (lambda: EagerCoalescing(WindowExtent(size=2), hold_us=-5), "hold_us is -5"),
        (lambda: EagerCoalescing(WindowExtent(size=2)).push([1], [1, 2]), "group is 'an array with shape"),
        (lambda: LazyCoalescing(WindowExtent(size=2), Bounded(1)).push([1], value=["a"]), "numbers for Bounded"),
    ],
)
def test_what_cannot_be_used_is_refused(call: Any, message: str) -> None:
    with pytest.raises(CoalescingError, match=message):
        call()

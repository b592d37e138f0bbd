"""Eager, lazy and batch against the definition, at every scan and in every order of arrival."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise, permutations
from operator import eq
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from coincide.coalescing import (
    Bounded,
    CoalescingError,
    Decreasing,
    EagerCoalescing,
    Equal,
    Increasing,
    LazyCoalescing,
    Predicate,
    Quantised,
    Run,
    Runs,
    WindowExtent,
)
from coincide.pairs import Changes
from tests.reference.coalescing import (
    Reading,
    coalesced_readings,
    each_group,
    in_time_scope,
    in_tuple_scope,
)

EQUIVALENCES = [Equal(), Bounded(1), Increasing(), Decreasing(), Quantised(2), Predicate(eq)]

readings = st.lists(
    st.builds(Reading, st.integers(0, 20), st.integers(0, 2), st.integers(0, 2), st.integers(0, 2)), max_size=30
)
extents = st.builds(
    lambda is_time, bound, per_group: WindowExtent(
        size=None if is_time else bound + 1, duration_us=bound if is_time else None, per_group=per_group
    ),
    st.booleans(), st.integers(0, 9), st.booleans(),
)  # fmt: skip
equivalences = st.sampled_from(EQUIVALENCES)
holds = st.none() | st.integers(0, 5)


def held(arrived: list[Reading], extent: WindowExtent) -> list[Reading]:
    scope, bound = (in_tuple_scope, extent.size) if extent.size else (in_time_scope, extent.duration_us)
    assert bound is not None
    return each_group(arrived, scope, bound) if extent.per_group else scope(arrived, bound)


def pushed(operator: EagerCoalescing, part: list[Reading]) -> Changes[Runs]:
    return operator.push(*columns(part))


def columns(part: list[Reading]) -> tuple[list[int], list[int], list[Any], list[int]]:
    ts, group, ids, value = [list(column) for column in zip(*part, strict=True)] if part else [[], [], [], []]
    return ts, group, value, ids


def parts(listed: list[Reading], cuts: list[int]) -> Iterator[list[Reading]]:
    bounds = [0, *sorted(cuts), len(listed)]
    for begin, end in pairwise(bounds):
        yield listed[begin:end]


@given(readings, extents, equivalences, holds)
@example([Reading(5, 0, 1, 0), Reading(5, 0, 0, 1), Reading(6, 0, 0, 0)], WindowExtent(size=2), Equal(), None)
def test_every_scan_is_the_definition(
    listed: list[Reading], extent: WindowExtent, equivalence: Any, hold_us: int | None
) -> None:
    eager, lazy = EagerCoalescing(extent, equivalence, hold_us), LazyCoalescing(extent, equivalence, hold_us)
    for end, reading in enumerate(listed, 1):
        pushed(eager, [reading])
        lazy.push(*columns([reading]))

        expected = coalesced_readings(held(listed[:end], extent), equivalence, hold_us)
        assert list(eager.scan()) == expected
        assert list(lazy.scan()) == expected


@given(readings, st.lists(st.integers(0, 30), max_size=4), extents, equivalences, holds)
def test_changes_replayed_give_every_scan(
    listed: list[Reading], cuts: list[int], extent: WindowExtent, equivalence: Any, hold_us: int | None
) -> None:
    eager = EagerCoalescing(extent, equivalence, hold_us)
    live: set[Run] = set()
    for part in parts(listed, cuts):
        changes = pushed(eager, part)
        inserted, retracted = set(changes.insert), set(changes.retract)

        assert retracted <= live
        assert not inserted & live
        live = (live - retracted) | inserted
        assert live == set(eager.scan())
        assert len({(run.group, run.start_us) for run in live}) == len(live)  # the stable id names one run


@given(readings, st.randoms(use_true_random=False), extents, equivalences, holds)
def test_neither_order_nor_batches_matter(
    listed: list[Reading], random: Any, extent: WindowExtent, equivalence: Any, hold_us: int | None
) -> None:
    distinct = list({reading.key: reading for reading in listed}.values())
    shuffled = random.sample(distinct, len(distinct))
    one, other = EagerCoalescing(extent, equivalence, hold_us), EagerCoalescing(extent, equivalence, hold_us)
    pushed(one, distinct)
    for part in parts(shuffled, [len(shuffled) // 3, len(shuffled) // 2]):
        pushed(other, part)

    assert list(one.scan()) == list(other.scan())


@given(readings, extents, equivalences)
def test_readings_again_change_nothing(listed: list[Reading], extent: WindowExtent, equivalence: Any) -> None:
    eager = EagerCoalescing(extent, equivalence)
    pushed(eager, listed)

    changes = pushed(eager, listed)

    assert (len(changes.insert), len(changes.retract)) == (0, 0)


@given(readings, extents)
def test_late_ones_are_those_outside_when_they_arrive(listed: list[Reading], extent: WindowExtent) -> None:
    eager, lazy = EagerCoalescing(extent), LazyCoalescing(extent)
    late = pushed(eager, listed)

    assert lazy.push(*columns(listed))[0].tolist() == late.late.tolist()
    assert late.late.tolist() == [
        row
        for row, reading in enumerate(listed)
        if reading.key not in {kept.key for kept in held(listed[: row + 1], extent)}
    ]
    assert (late.late_by_us >= 0).all()


def test_every_order_of_four_readings_splits_and_merges_alike() -> None:
    four = [Reading(0, 0, 0, 81), Reading(60, 0, 1, 81), Reading(120, 0, 2, 79), Reading(180, 0, 3, 81)]
    for order in permutations(four):
        eager = EagerCoalescing(WindowExtent(size=9))
        pushed(eager, list(order))

        assert [(run.start_us, run.end_us, run.value) for run in eager.scan()] == [
            (0, 120, 81), (120, 180, 79), (180, 180, 81),
        ]  # fmt: skip


@pytest.mark.parametrize("readings_a_run", [1, 7])
def test_a_long_stream_forgets_what_it_dropped(readings_a_run: int) -> None:
    eager = EagerCoalescing(WindowExtent(size=10))
    for ts in range(3000):
        eager.push([ts], ["bay"], [ts // readings_a_run])

    assert sum(run.count for run in eager.scan()) == 10
    assert len(eager._groups["bay"]._times) < 200


@pytest.mark.parametrize(
    "extent", [WindowExtent(size=150), WindowExtent(duration_us=150), WindowExtent(90, None, True)]
)
def test_a_long_stream_in_any_order_is_the_lazy_one(extent: WindowExtent) -> None:
    random = Random(2)
    eager, lazy = EagerCoalescing(extent, hold_us=9), LazyCoalescing(extent, hold_us=9)
    for begin in range(0, 3000, 50):
        part = [
            Reading(ts - random.choice([0, 0, 0, random.randrange(200)]), random.randrange(2), ts, random.randrange(2))
            for ts in range(begin, begin + 50)
        ]
        pushed(eager, part)
        lazy.push(*columns(part))

        assert list(eager.scan()) == list(lazy.scan())


def test_groups_may_have_names_and_readings_too() -> None:
    eager = EagerCoalescing(WindowExtent(size=3))
    changes = eager.push([0, 10, 20], ["bay", "sea", "bay"], ["calm", "calm", "calm"], ["r1", "r2", "r3"])

    assert [(run.group, run.first, run.last, run.value) for run in changes.insert] == [
        ("bay", "r1", "r3", "calm"), ("sea", "r2", "r2", "calm"),
    ]  # fmt: skip


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

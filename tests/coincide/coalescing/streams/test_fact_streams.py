"""Facts in streams, eager and lazy, against the definition, at every scan and in every order of arrival."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import Bounded, Equal, Increasing, WindowExtent, coalesce
from coincide.coalescing import NEVER_US, EagerFactCoalescing, Equivalence, LazyFactCoalescing, Run
from coincide.errors import CoalescingError
from tests.reference.coalescing import Fact, coalesced_facts, coalesced_trends


class Arrival(NamedTuple):
    """Ordered by (start, group, id), as the tuple scope of an extent of facts is."""

    start_us: int
    group: int
    id: int
    end_us: int
    value: int

    @property
    def key(self) -> tuple[int, int, int]:
        return self[:3]


arrivals = st.lists(
    st.builds(
        lambda start, length, group, ref, value: Arrival(start, group, ref, start + length, value),
        st.integers(0, 20), st.integers(0, 8), st.integers(0, 1), st.integers(0, 20), st.integers(0, 1),
    ),
    max_size=25,
)  # fmt: skip
cuts = st.lists(st.integers(0, 25), max_size=6)
extents = st.builds(
    lambda is_time, bound, per_group: WindowExtent(
        size=None if is_time else bound + 1, duration_us=bound if is_time else None, per_group=per_group
    ),
    st.booleans(), st.integers(0, 12), st.booleans(),
)  # fmt: skip
equivalences = st.sampled_from([Equal(), Bounded(0), Increasing()])
gaps = st.integers(0, 4)


def held(listed: list[Arrival], extent: WindowExtent) -> list[Arrival]:
    """Return the facts in the extent of all that have arrived, by definition."""
    first: dict[Any, Arrival] = {}
    for arrival in listed:
        first.setdefault(arrival.key, arrival)
    scopes: dict[int, list[Arrival]] = {}
    for arrival in first.values():
        scopes.setdefault(arrival.group if extent.per_group else 0, []).append(arrival)
    kept = []
    for scope in scopes.values():
        if extent.size:
            kept += sorted(scope)[-extent.size :]
        else:
            latest = max(arrival.start_us for arrival in scope)
            kept += [arrival for arrival in scope if arrival.start_us >= latest - (extent.duration_us or 0)]
    return sorted(kept)


def expected(listed: list[Arrival], extent: WindowExtent, equivalence: Equivalence, gap_us: int) -> list[Any]:
    facts = [Fact(row.start_us, row.end_us, row.group, row.value) for row in held(listed, extent)]
    if isinstance(equivalence, Equal):
        return coalesced_facts(facts, gap_us)
    return coalesced_trends(facts, equivalence, gap_us)


def push(operator: EagerFactCoalescing | LazyFactCoalescing, part: list[Arrival]) -> Any:
    start, group, ids, end, value = np.array(part, np.int64).reshape(-1, 5).T
    return operator.push(start, end, group, value, ids)


def parts(listed: list[Arrival], cuts: list[int]) -> Iterator[list[Arrival]]:
    for begin, end in pairwise([0, *sorted(cuts), len(listed)]):
        yield listed[begin:end]


@given(arrivals, cuts, extents, equivalences, gaps)
def test_every_scan_is_the_definition_and_changes_replayed_give_it(
    listed: list[Arrival], cuts: list[int], extent: WindowExtent, equivalence: Equivalence, gap_us: int
) -> None:
    eager = EagerFactCoalescing(extent, equivalence, gap_us)
    lazy = LazyFactCoalescing(extent, equivalence, gap_us)
    live: set[Run] = set()
    arrived: list[Arrival] = []
    for part in parts(listed, cuts):
        arrived += part
        changes, nothing = push(eager, part), push(lazy, part)
        inserted, retracted = set(changes.insert), set(changes.retract)

        assert list(eager.scan()) == list(lazy.scan())
        assert sorted(run[:5] for run in eager.scan()) == expected(arrived, extent, equivalence, gap_us)
        assert retracted <= live
        assert not inserted & live
        live = (live - retracted) | inserted
        assert live == set(eager.scan())
        assert len({(run.group, run.start_us, run.first) for run in live}) == len(live)  # the stable id names one run
        assert nothing.late.tolist() == changes.late.tolist()
        assert nothing.late_by_us.tolist() == changes.late_by_us.tolist()
        assert (len(nothing.insert), len(nothing.retract)) == (0, 0)


@given(arrivals, extents)
def test_late_ones_are_those_outside_when_they_arrive(listed: list[Arrival], extent: WindowExtent) -> None:
    late = push(EagerFactCoalescing(extent), listed)

    assert late.late.tolist() == [
        row
        for row, arrival in enumerate(listed)
        if arrival.key not in {kept.key for kept in held(listed[: row + 1], extent)}
    ]
    assert (late.late_by_us >= 0).all()


@given(arrivals, st.randoms(use_true_random=False), extents, equivalences, gaps)
def test_neither_order_nor_repetition_matters(
    listed: list[Arrival], chance: random.Random, extent: WindowExtent, equivalence: Equivalence, gap_us: int
) -> None:
    distinct = list({arrival.key: arrival for arrival in listed}.values())
    one, other = (EagerFactCoalescing(extent, equivalence, gap_us) for _ in range(2))
    push(one, distinct)
    push(other, chance.sample(distinct, len(distinct)))
    again = push(one, distinct)

    assert list(one.scan()) == list(other.scan())
    assert (len(again.insert), len(again.retract)) == (0, 0)


@given(arrivals, equivalences, gaps)
def test_an_extent_that_holds_all_is_the_batch(listed: list[Arrival], equivalence: Equivalence, gap_us: int) -> None:
    rows = held(listed, WindowExtent(size=100))
    eager = EagerFactCoalescing(WindowExtent(size=100), equivalence, gap_us)
    push(eager, listed)
    start, group, _, end, value = np.array(rows, np.int64).reshape(-1, 5).T
    runs = coalesce(start, end, group, value, equivalence, gap_us)

    assert [run[:5] for run in eager.scan()] == [run[:5] for run in runs]


def test_a_long_fact_that_comes_late_merges_three_runs_and_leaves_them_when_it_expires() -> None:
    calm = EagerFactCoalescing(WindowExtent(duration_us=40))
    calm.push([10, 20, 30], [12, 22, 32])
    merged = calm.push([0], [31])
    split = calm.push([45], [46])  # 5 and after are left

    assert [(run.start_us, run.end_us) for run in merged.retract] == [(10, 12), (20, 22), (30, 32)]
    assert [(run.start_us, run.end_us) for run in merged.insert] == [(0, 32)]
    assert [(run.start_us, run.end_us) for run in split.retract] == [(0, 32)]
    assert [(run.start_us, run.end_us) for run in split.insert] == [(10, 12), (20, 22), (30, 32), (45, 46)]


def test_facts_may_have_names_and_nan_equals_nothing() -> None:
    sky = EagerFactCoalescing(WindowExtent(size=9))
    sky.push([0, 5], [5, 9], ["bay", "bay"], ["calm", "calm"], ["f1", "f2"])
    odd = EagerFactCoalescing(WindowExtent(size=9))
    odd.push([0, 5], [5, 9], value=[float("nan"), float("nan")])

    assert [tuple(run) for run in sky.scan()] == [("bay", 0, 9, "calm", 2, "f1", "f2", False)]
    assert len(odd.scan()) == 2


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: EagerFactCoalescing(WindowExtent(size=1), gap_us=-1), "gap_us is -1"),
        (lambda: EagerFactCoalescing(WindowExtent(size=1)).push([5], [4]), r"end_us\[0\] is 4: its start, 5, or later"),
        (lambda: LazyFactCoalescing(WindowExtent(size=1)).push([5], [NEVER_US]), "end_us is -"),
    ],
)
def test_what_cannot_be_used_is_refused(call: Any, message: str) -> None:
    with pytest.raises(CoalescingError, match=message):
        call()

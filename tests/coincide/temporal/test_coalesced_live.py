"""Temporal queries over window extents: the same whether these are coalesced eagerly or lazily, in any order."""

from __future__ import annotations

import random
from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from coincide import Bounded, EagerCoalescing, Equal, LazyCoalescing, Runs, WindowExtent, coalesce, validity
from coincide.coalescing import Equivalence
from coincide.temporal import Facts, SlidingWindows, join_in_windows, longest_periods

Reading = tuple[int, str, int]
READINGS = st.lists(
    st.tuples(st.integers(0, 20), st.sampled_from("ab"), st.integers(0, 2)),
    max_size=15,
    unique_by=lambda reading: reading[:2],
)
EXTENTS = st.builds(WindowExtent, size=st.integers(1, 10)) | st.builds(WindowExtent, duration_us=st.integers(0, 15))
WINDOWS = SlidingWindows([5, 10, 20], size_us=8)


def _joined(runs: Runs) -> list[list[int]]:
    found = join_in_windows(Facts.of(runs), None, WINDOWS, tolerance=1, at_least_us=2)
    columns = (found.window, found.left, found.right, found.intervals.start_us, found.intervals.end_us)
    return [column.tolist() for column in columns]


def _longest(runs: Runs) -> list[list[object]]:
    found = longest_periods(Facts.of(runs), WINDOWS)
    return [column.tolist() for column in (found.window, found.group, found.duration_us)]


@given(READINGS, EXTENTS, st.sampled_from([Equal(), Bounded(1)]), st.sampled_from([_joined, _longest]), st.randoms())
def test_eager_and_lazy_give_one_answer_at_every_scan(
    readings: list[Reading],
    extent: WindowExtent,
    equivalence: Equivalence,
    query: Callable[[Runs], object],
    chance: random.Random,
) -> None:
    chance.shuffle(readings)
    eager, lazy = EagerCoalescing(extent, equivalence), LazyCoalescing(extent, equivalence)
    for number, (ts, group, value) in enumerate(readings):
        eager.push([ts], [group], [value], [number])
        lazy.push([ts], [group], [value], [number])
        assert query(eager.scan()) == query(lazy.scan())


@given(READINGS)
def test_an_extent_that_holds_all_answers_as_the_batch_does(readings: list[Reading]) -> None:
    eager = EagerCoalescing(WindowExtent(size=100))
    ts, group, value = ([reading[column] for reading in readings] for column in range(3))
    eager.push(ts, group, value)
    runs = coalesce(*validity(ts, group), group, value)
    assert _longest(eager.scan()) == _longest(runs)
    assert _joined(eager.scan()) == _joined(runs)

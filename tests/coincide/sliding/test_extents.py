"""Both extents: the same runs at every scan, whatever came and went in whatever order."""

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Bounded, Decreasing, Equal, Increasing, Quantised
from coincide.coalescing import Equivalence
from coincide.sliding.counts import RunReadings, Scan, SlidingExtent
from coincide.sliding.extents import EagerExtent, LazyExtent, SharedExtents, SharedReadings
from coincide.sliding.readings import Readings
from coincide.sliding.rules import RunRule
from coincide.sliding.value_limits import ValueLimits
from tests.examples import examples

Run = tuple[int, int, int, float, RunReadings]

CONDITIONS = [None, None, ValueLimits(above=1), ValueLimits(at_least=1, below=3)]
EQUIVALENCES: list[Equivalence | None] = [None, Equal(), Increasing(), Decreasing(), Bounded(1), Quantised(2)]
EQUIVALENCES += [Bounded(0.1), Bounded(0.5, relative=True), Quantised(0.1)]
rules = st.builds(
    RunRule, hold_us=st.integers(1, 30), limits=st.sampled_from(CONDITIONS), equivalence=st.sampled_from(EQUIVALENCES)
)
NUMBERS = st.integers(0, 4) | st.sampled_from([0.1, 0.2, 0.3, 0.4, 0.6, 0.7])
rows = st.tuples(st.integers(0, 40), st.integers(0, 2), NUMBERS, st.integers(0, 5))
pushes = st.lists(st.tuples(st.lists(rows, max_size=8), st.integers(-30, 20)), min_size=1, max_size=6)


def runs(extent: SlidingExtent) -> list[Run]:
    found = extent.scan().runs
    columns = found.group, found.intervals.start_us, found.intervals.end_us, found.value
    return [(*run, extent.readings_in(*run[:3])) for run in zip(*(column.tolist() for column in columns), strict=True)]


def counts(scan: Scan) -> tuple[int, int, int]:
    return scan.readings, scan.groups, scan.runs_in_all


@settings(max_examples=examples(150), deadline=None)
@given(rules, pushes)
def test_eager_and_lazy_say_the_same(rule: RunRule, pushes: list[tuple[list[tuple[Any, ...]], int]]) -> None:
    eager, lazy = EagerExtent(rule), LazyExtent(rule, SharedReadings())
    numbers = iter(range(100))
    for added, dropped_before in pushes:
        ts, group, value, sensor = zip(*added, strict=True) if added else [()] * 4
        readings = Readings.of(ts, group, value, [(str(each), f"{next(numbers):02}", 0) for each in sensor])
        for extent in (eager, lazy):
            extent.add(readings)
            extent.drop_before(dropped_before)
        assert runs(eager) == runs(lazy)
        assert counts(eager.scan()) == counts(lazy.scan())


def test_what_does_not_interest_ends_a_run_and_makes_few_runs() -> None:
    hot = EagerExtent(RunRule(hold_us=100, limits=ValueLimits(above=1), equivalence=Equal()))
    hot.add(Readings.of([0, 10, 20, 30, 40], [0] * 5, [2, 0, 1, 3, 3], [("s", str(n), n) for n in range(5)]))
    assert [(start, end) for _, start, end, _, _ in runs(hot)] == [(0, 10), (30, 140)]
    assert counts(hot.scan()) == (5, 1, 3)


def test_of_one_instant_the_smallest_counts_in_either() -> None:
    for extent in (EagerExtent(RunRule(hold_us=5)), LazyExtent(RunRule(hold_us=5), SharedReadings())):
        for sensor, value in (("b", 2.0), ("c", 3.0), ("a", 1.0)):
            extent.add(Readings.of([0], [0], [value], [(sensor, "x", 7)]))
        assert runs(extent) == [(0, 0, 5, 1.0, RunReadings(1, 1.0, ("a", "x", 7)))]


def test_rules_share_what_is_lazy_and_count_what_came_out_of_order() -> None:
    steady, any_value = RunRule(hold_us=50, equivalence=Equal()), RunRule(hold_us=50)
    shared = SharedExtents({steady: True, any_value: False})
    refs = [("s", str(number), 0) for number in range(4)]
    assert shared.add(Readings.of([0, 30, 10, 40], [0, 0, 0, 0], [1, 1, 2, 2], refs)) == 1
    assert isinstance(shared.of(steady), EagerExtent)
    assert isinstance(shared.of(any_value), LazyExtent)
    assert [len(runs(shared.of(rule))) for rule in (steady, any_value)] == [4, 1]
    shared.drop_before(20)
    for schemes in ((True, False), (True, True), (False, True), (False, False)):
        shared = shared.switched(dict(zip((steady, any_value), schemes, strict=True)))
        assert [isinstance(shared.of(rule), EagerExtent) for rule in (steady, any_value)] == list(schemes)
        assert [counts(shared.of(rule).scan()) for rule in (steady, any_value)] == [(2, 1, 2), (2, 1, 1)]
    assert shared.add(Readings.of([39], [0], [1], refs[:1])) == 1  # it knows that 40 was there

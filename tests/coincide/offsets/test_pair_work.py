"""Work on template pairs: the estimate against its sum, and how many offset sets joins work out because of it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Detections, Histogram, Pairs, Stream, TimingJoin, Window, match_probability, timing_join
from coincide.arrays.kinds import FloatArray
from coincide.joins.pairs.pair_join import BatchJoin
from coincide.offsets import PairLimits
from coincide.offsets import cache as cache_module
from coincide.offsets import satisfaction_table as table_module
from coincide.offsets.cache import TABLE_WORK
from coincide.offsets.pair_work import mean_evaluation_work, offsets_in_evaluations, offsets_work, table_work
from coincide.offsets.ranges import Ranges
from coincide.offsets.satisfying import offset_ranges
from coincide.probability.trapezoids import Trapezoids
from coincide.templates.template_columns import TemplateColumns, TemplatePairs

SECOND = 1_000_000
SHORT, LONG = Window(0.5), Window(40.0)

templates = st.lists(
    st.builds(Histogram.normal, st.sampled_from([0.1, 0.3, 1.0]), st.sampled_from([1, 4, 8, 64])), max_size=5
)


@dataclass
class OffsetSets:
    """How many pairs' offsets were worked out, by whom."""

    by_table: list[int] = field(default_factory=list)
    by_cache: list[int] = field(default_factory=list)


@pytest.fixture
def worked_out(monkeypatch: pytest.MonkeyPatch) -> OffsetSets:
    counted = OffsetSets()
    for module, counts in ((table_module, counted.by_table), (cache_module, counted.by_cache)):

        def counting(
            pairs: TemplatePairs, window: Window, threshold: float | FloatArray, counts: list[int] = counts
        ) -> Ranges:
            counts.append(len(pairs))
            return offset_ranges(pairs, window, threshold)

        monkeypatch.setattr(module, "offset_ranges", counting)
    return counted


def every_pair(us: list[Histogram], vs: list[Histogram]) -> TemplatePairs:
    u_index, v_index = np.divmod(np.arange(len(us) * len(vs)), max(1, len(vs)))
    return TemplatePairs(us, vs, u_index, v_index)


@settings(max_examples=50)
@given(templates, templates, st.sampled_from([0.0, 0.5, 2.0, 5.0]))
def test_the_work_of_a_table_is_that_of_its_pairs(us: list[Histogram], vs: list[Histogram], half_s: float) -> None:
    each = offsets_work(every_pair(us, vs), Window(half_s))
    assert table_work(us, vs, Window(half_s)) == pytest.approx(each.sum())
    evaluations = offsets_in_evaluations(every_pair(us, vs), Window(half_s))
    assert mean_evaluation_work(us, vs) == pytest.approx((each / evaluations).mean() if len(each) else 0.0)


def own_templates(count: int, buckets: int, apart_s: float, seed: int) -> Detections:
    rng = np.random.default_rng(seed)
    own = [Histogram.normal(float(sigma), buckets) for sigma in rng.uniform(0.5, 2, count)]
    at_us = (np.arange(count) * apart_s * SECOND).astype(np.int64) + rng.integers(0, SECOND, count)
    return Detections(at_us, own, range(count))


def rows_of(events: Detections, first: int, last: int) -> Detections:
    """Rows with no templates but their own."""
    return Detections(events.detected_at_us[first:last], events.templates[first:last], range(last - first))


def by_definition(a: Detections, b: Detections, window: Window, threshold: float) -> list[tuple[int, int]]:
    return [
        (i, j)
        for i, (u, ta) in enumerate(zip(a.templates, a.detected_at_us.tolist(), strict=True))
        for j, (v, tb) in enumerate(zip(b.templates, b.detected_at_us.tolist(), strict=True))
        if abs(tb - ta) < 20 * SECOND and match_probability(u, v, (tb - ta) / SECOND, window) >= threshold
    ]


def as_tuples(pairs: Pairs) -> list[tuple[int, int]]:
    return list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))


def without_table(a: Detections, b: Detections, window: Window, threshold: float) -> list[tuple[int, int]]:
    left, right = BatchJoin.of(a, b, window, threshold, "different", PairLimits(table=0)).columns()
    return list(zip(left.tolist(), right.tolist(), strict=True))


def test_frames_of_few_events_with_many_buckets_of_their_own_are_evaluated(worked_out: OffsetSets) -> None:
    a, b = own_templates(40, 64, 20.0, 1), own_templates(40, 64, 20.0, 2)
    assert as_tuples(timing_join(a, b, SHORT, 0.2)) == by_definition(a, b, SHORT, 0.2) != []
    assert sum(worked_out.by_table) + sum(worked_out.by_cache) == 0


def test_a_stream_of_events_with_many_buckets_of_their_own_works_out_few_offset_sets(worked_out: OffsetSets) -> None:
    a, b = own_templates(20, 64, 20.0, 3), own_templates(20, 64, 20.0, 4)
    limits = PairLimits(table=200_000)  # two pairs
    join = TimingJoin(Stream("a", 10), Stream("b", 10), SHORT, 0.2, pair_limits=limits)
    found = []
    for row in range(len(a)):
        for stream, events in (("a", a), ("b", b)):
            found += as_tuples(join.push(stream, rows_of(events, row, row + 1)).insert)
    assert found == [(2 * i, 2 * j + 1) for i, j in by_definition(a, b, SHORT, 0.2)] != []
    assert sum(worked_out.by_table) <= 2
    assert sum(worked_out.by_cache) == 0


@pytest.mark.parametrize("window", [SHORT, LONG], ids=["short", "long"])
def test_the_verdicts_are_the_same_with_a_table_and_without(window: Window, worked_out: OffsetSets) -> None:
    rng = np.random.default_rng(5)
    kinds = [Histogram.normal(float(sigma), 6) for sigma in rng.uniform(0.5, 2, 12)]
    a, b = (Detections(rng.integers(0, 900 * SECOND, 500), kinds, rng.integers(0, 12, 500)) for _ in range(2))
    with_table = as_tuples(timing_join(a, b, window, 0.1))
    assert sum(worked_out.by_table) == 144
    assert sum(worked_out.by_cache) == 0
    assert without_table(a, b, window, 0.1) == with_table
    assert sum(worked_out.by_table) == 144
    assert len(with_table) > 100


def test_a_table_that_is_much_work_is_made_where_enough_events_meet(worked_out: OffsetSets) -> None:
    rng = np.random.default_rng(6)
    kinds = [Histogram.normal(float(sigma), 8) for sigma in rng.uniform(0.5, 2, 90)]
    assert table_work(kinds, kinds, SHORT) > TABLE_WORK

    def joined(spread_s: int) -> None:
        a, b = (Detections(rng.integers(0, spread_s * SECOND, 4000), kinds, rng.integers(0, 90, 4000)) for _ in "ab")
        timing_join(a, b, SHORT, 0.9)

    joined(400_000)
    assert sum(worked_out.by_table) == 0
    joined(400)
    assert sum(worked_out.by_table) == 90 * 90


def test_streams_of_own_templates_do_not_build_tables_again_and_again(worked_out: OffsetSets) -> None:
    limits = PairLimits(table=40 * 40 * 400)
    join = TimingJoin(Stream("a", 1, 20), Stream("b", 1, 20), LONG, 0.2, pair_limits=limits)
    a, b = own_templates(600, 8, 30.0, 7), own_templates(600, 8, 30.0, 8)
    for first in range(0, 600, 5):
        join.push("a", rows_of(a, first, first + 5))
        join.push("b", rows_of(b, first, first + 5))
    asked = join.look_ups.hits + join.look_ups.misses
    assert asked > 0
    # a table of 40 x 40 pairs to begin with, and another one only for as much work of evaluating
    assert sum(worked_out.by_table) <= 1600 + asked // 4


def test_certainty_compares_supports_and_evaluates_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(9)
    own = [Histogram.normal(float(sigma), 64) for sigma in rng.uniform(0.5, 2, 20)]
    made: list[int] = []
    of = Trapezoids.of

    def counting(u: TemplateColumns, v: TemplateColumns) -> Trapezoids:
        made.append(len(u))
        return of(u, v)

    monkeypatch.setattr(Trapezoids, "of", counting)
    events = Detections(np.zeros(20, np.int64), own, range(20))
    for window in (SHORT, Window(8.0), LONG):
        pairs = without_table(events, events, window, 1.0)
        reach = [
            (i, j)
            for i, u in enumerate(own)
            for j, v in enumerate(own)
            if window.lo_s <= v.earliest_s - u.latest_s and v.latest_s - u.earliest_s <= window.hi_s
        ]
        assert pairs == sorted(reach)
    assert made == []

"""Offsets of template pairs in joins: each as its own pair says, by table and by cache, without more work or room."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator

from coincide import CoincideError, Detections, Histogram, Stream, TimingJoin, Window, timing_join
from coincide.arrays.kinds import CodeArray, Int64Array
from coincide.arrays.order import IntegerArray
from coincide.joins.pairs.pair_join import BatchJoin
from coincide.joins.stream_buffers import SPARE_TEMPLATES
from coincide.offsets import PairLimits, pair_work
from coincide.offsets import cache as cache_module
from coincide.offsets import satisfaction_table as table_module
from coincide.offsets.cache import LookUps, OffsetCache
from coincide.probability import match_probabilities
from coincide.probability.trapezoids import Trapezoids
from coincide.templates.buckets import rounded_up
from coincide.templates.codes import TemplateRegistry
from coincide.templates.template_columns import TemplatePairs
from tests.examples import examples
from tests.reference.call_counts import CallCounts
from tests.reference.timing_join import couples, offsets

WINDOW, THRESHOLD = Window(1.0), 0.2
SHORT, LONG = Window(0.5), Window(40.0)
TEMPLATES = [
    Histogram.point(),
    Histogram.uniform(-1, 1),
    Histogram([-1, 0, 5, 6], [0.5, 0, 0.5]),  # gaps: several intervals against most of the others
    Histogram([-1, 0, 3, 4, 9, 10], [0.3, 0, 0.3, 0, 0.4]),
]
SECOND = 1_000_000


def cache_of(
    templates: list[Histogram], window: Window = WINDOW, threshold: float = THRESHOLD, most_pairs: int = 1000
) -> tuple[OffsetCache, CodeArray]:
    known = TemplateRegistry()
    codes = known.codes(templates)
    return OffsetCache(window, threshold, known, known, most_pairs), codes


def assert_as_their_own_pair_says(
    remembered: OffsetCache, templates: list[Histogram], u: IntegerArray, v: IntegerArray, offset_us: Int64Array
) -> None:
    answers = remembered.contain(u.astype(np.int32), v.astype(np.int32), offset_us).tolist()
    pairs = ((templates[i], templates[j]) for i, j in zip(u.tolist(), v.tolist(), strict=True))
    own = (offsets(*pair, WINDOW, THRESHOLD) for pair in pairs)
    each = zip(offset_us.tolist(), own, strict=True)
    assert answers == [any(lo <= offset <= hi for lo, hi in intervals) for offset, intervals in each]


@settings(max_examples=examples(25))
@given(st.data(), st.integers(0, 20))
def test_offsets_qualify_as_their_own_pair_says_whatever_is_remembered(data: st.DataObject, most_pairs: int) -> None:
    remembered, _ = cache_of(TEMPLATES, most_pairs=most_pairs)
    rows = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(-13, 13)), min_size=1, max_size=12)
    for _ in range(4):
        u, v, offset_s = np.array(data.draw(rows)).T
        assert_as_their_own_pair_says(remembered, TEMPLATES, u, v, offset_s * SECOND)
        assert remembered.look_ups.pairs <= most_pairs


def test_offsets_of_many_random_pairs_qualify_as_their_own_pair_says(rng: Generator) -> None:
    remembered, _ = cache_of(TEMPLATES)
    for size in (1, 3, 500, 500):
        u, v = rng.integers(0, 4, (2, size))
        assert_as_their_own_pair_says(remembered, TEMPLATES, u, v, rng.integers(-13 * SECOND, 13 * SECOND, size))
    assert np.count_nonzero(np.maximum(u, v) >= 2) > 100  # pairs of several intervals


def test_a_pair_is_known_once_it_has_come_often_and_the_least_recently_asked_goes_first() -> None:
    remembered, codes = cache_of([Histogram.uniform(-n, n) for n in range(1, 10)], Window(5), 0.1, most_pairs=8)

    def ask(nth: int, events: int = 1) -> LookUps:
        remembered.contain(codes[:1].repeat(events), codes[nth : nth + 1].repeat(events), np.full(events, 5 * SECOND))
        return remembered.look_ups

    for nth in range(8):
        assert ask(nth) == LookUps(hits=0, misses=nth + 1, pairs=nth + 1)
    assert ask(0, 2) == LookUps(hits=0, misses=9, pairs=8)
    assert ask(0) == LookUps(hits=0, misses=10, pairs=8)  # four events in a long window: its offsets are worked out
    assert ask(0) == LookUps(hits=1, misses=10, pairs=8)
    assert ask(8) == LookUps(hits=1, misses=11, pairs=7)  # one too many: an eighth goes as well, 1 and 2
    assert ask(0) == LookUps(hits=2, misses=11, pairs=7)
    assert ask(3) == LookUps(hits=2, misses=12, pairs=7)
    assert ask(1) == LookUps(hits=2, misses=13, pairs=8)


def test_what_the_ends_of_the_templates_decide_is_not_worked_out() -> None:
    """Up to 3 s apart every possible pair of times lies in the window, from 7 s and a little on none does."""
    remembered, codes = cache_of([Histogram.uniform(-1, 1)], Window(5), 0.9, most_pairs=8)
    u = codes[:1].repeat(6)
    inside = remembered.contain(u, u, np.array([-3, -1, 0, 3, 8, -8]) * SECOND)
    assert inside.tolist() == [True] * 4 + [False] * 2
    assert remembered.look_ups == LookUps()
    remembered.contain(u[:1], u[:1], np.array([3 * SECOND + 1]))
    assert remembered.look_ups == LookUps(misses=1, pairs=1)


def test_changed_codes_keep_what_is_known() -> None:
    known = TemplateRegistry()
    codes = known.codes(TEMPLATES)
    remembered = OffsetCache(WINDOW, THRESHOLD, known, known)
    u, v = (side.ravel().astype(np.int32) for side in np.meshgrid(codes, codes))
    for _ in range(40):  # its offsets are known then, in a short window too
        remembered.contain(u, v, np.zeros(16, np.int64))
    new_code = known.keep_only(np.array([0, 2, 3], np.int32))
    remembered.recode(new_code, new_code)
    before = remembered.look_ups
    assert before.pairs < 16
    kept = [TEMPLATES[n] for n in (0, 2, 3)]
    known_u, known_v = (side[(u < 3) & (v < 3)] for side in (u, v))
    for offset_s in range(-12, 13):
        assert_as_their_own_pair_says(remembered, kept, known_u, known_v, np.full(9, offset_s * SECOND))
    assert remembered.look_ups.hits - before.hits >= 25 * before.pairs // 2


def own_uncertainty(
    rng: Generator, count: int, start: int = 0, digits: int | None = None, buckets: int = 8, apart_s: int = 1
) -> Detections:
    """Events some seconds apart, each with a random sigma of its own, up to 2 s."""
    sigmas = np.exp(rng.uniform(np.log(0.1), np.log(2.0), count)).tolist()
    own = [Histogram.normal(sigma if digits is None else rounded_up(sigma, digits), buckets) for sigma in sigmas]
    at_us = (start + np.arange(count)) * apart_s * SECOND + rng.integers(0, SECOND, count)
    return Detections(at_us, own, range(count))


def test_a_stream_of_events_with_their_own_uncertainty_keeps_no_more_than_its_buffer_needs(rng: Generator) -> None:
    limits = PairLimits(table=100_000, cached=1000)
    join = TimingJoin(Stream("x", 30, 20), Stream("y", 30, 20), Window(2.0), 0.5, pair_limits=limits)
    most = 0
    batches: dict[str, list[Detections]] = {"x": [], "y": []}
    pairs: list[tuple[int, int]] = []
    for step in range(25):
        for stream, parts in batches.items():
            parts.append(own_uncertainty(rng, 20, 20 * step))
            pairs += couples(join.push(stream, parts[-1]).insert)
            held = join.buffered("x") + join.buffered("y")
            most = max(most, held)
            assert join.templates_known <= 2 * held + 2 * SPARE_TEMPLATES + 40
            assert join.look_ups.pairs <= 1000
    assert most < 300  # of 1,000
    assert join.look_ups.misses > 1000
    # rows are numbered in the order of arrival: 20 of x, 20 of y, and so on
    by_definition = pairs_by_definition(joined(batches["x"]), joined(batches["y"]), Window(2.0), 0.5)
    assert len(pairs) > 300
    assert sorted(pairs) == sorted((i // 20 * 40 + i % 20, j // 20 * 40 + 20 + j % 20) for i, j in by_definition)


def joined(parts: list[Detections]) -> Detections:
    templates = [template for part in parts for template in part.templates]
    return Detections(np.concatenate([part.detected_at_us for part in parts]), templates, range(len(templates)))


def pairs_by_definition(x: Detections, y: Detections, window: Window, threshold: float) -> set[tuple[int, int]]:
    """Every pair tried; none of these templates reaches further than 8 s."""
    offset_us = y.detected_at_us - x.detected_at_us[:, None]
    left, right = np.nonzero(np.abs(offset_us) <= 16 * SECOND + max(-window.lo_us, window.hi_us))
    probability = match_probabilities(x.templates, y.templates, left, right, offset_us[left, right], window)
    qualifies = probability >= threshold
    return set(zip(left[qualifies].tolist(), right[qualifies].tolist(), strict=True))


@pytest.mark.parametrize("window", [Window(2.0), Window(lo_s=1.0, hi_s=4.0)], ids=str)
def test_batches_of_events_with_their_own_uncertainty_are_joined_by_definition(rng: Generator, window: Window) -> None:
    x, y = own_uncertainty(rng, 300), own_uncertainty(rng, 300)
    assert pair_work.table_work(x.templates, y.templates, window) > pair_work.TABLE_WORK
    pairs = timing_join(x, y, window, 0.4)
    assert len(pairs) > 300
    assert set(couples(pairs)) == pairs_by_definition(x, y, window, 0.4)
    own = timing_join(x, None, window, 0.4)
    both_ways = {(i, j) for i, j in pairs_by_definition(x, x, window, 0.4) if i != j}
    once = {(i, j) for i, j in both_ways if x.detected_at_us[i] < x.detected_at_us[j]}
    assert sorted(couples(own)) == sorted(once if window.is_symmetric else both_ways)


@pytest.mark.parametrize(("digits", "least", "greatest"), [(None, 0.0, 0.0), (3, 0.0, 0.1), (1, 0.2, 1.0)])
def test_quantising_a_family_makes_pairs_meet_again(
    rng: Generator, digits: int | None, least: float, greatest: float
) -> None:
    join = TimingJoin(Stream("x", 30, 20), Stream("y", 30, 20), Window(2.0), 0.5, pair_limits=PairLimits(table=0))
    for step in range(15):
        for stream in ("x", "y"):
            join.push(stream, own_uncertainty(rng, 20, 20 * step, digits))
    done = join.look_ups
    assert least <= done.hits / (done.hits + done.misses) <= greatest


templates = st.lists(
    st.builds(Histogram.normal, st.sampled_from([0.1, 0.3, 1.0]), st.sampled_from([1, 4, 8, 64])), max_size=5
)


@pytest.fixture
def worked_out(counts: CallCounts) -> CallCounts:
    """How many pairs' offsets were worked out, by whom."""
    for module, kind in ((table_module, "by table"), (cache_module, "by cache")):
        counts.watch(module, "offset_ranges", kind, lambda _, pairs, *__: len(pairs))
    return counts


@settings(max_examples=examples(50))
@given(templates, templates, st.sampled_from([0.0, 0.5, 2.0, 5.0]))
def test_the_work_of_a_table_is_that_of_its_pairs(us: list[Histogram], vs: list[Histogram], half_s: float) -> None:
    pairs = TemplatePairs(us, vs, *np.divmod(np.arange(len(us) * len(vs)), max(1, len(vs))))
    each = pair_work.offsets_work(pairs, Window(half_s))
    assert pair_work.table_work(us, vs, Window(half_s)) == pytest.approx(each.sum())
    evaluations = pair_work.offsets_in_evaluations(pairs, Window(half_s))
    assert pair_work.mean_evaluation_work(us, vs) == pytest.approx((each / evaluations).mean() if len(each) else 0.0)


def rows_of(events: Detections, first: int, last: int) -> Detections:
    """Rows with no templates but their own."""
    return Detections(events.detected_at_us[first:last], events.templates[first:last], range(last - first))


def without_table(a: Detections, b: Detections, window: Window, threshold: float) -> list[tuple[int, int]]:
    left, right = BatchJoin.of(a, b, window, threshold, "different", PairLimits(table=0)).columns()
    return list(zip(left.tolist(), right.tolist(), strict=True))


def test_events_of_many_buckets_of_their_own_need_few_offset_sets(rng: Generator, worked_out: CallCounts) -> None:
    a, b = (own_uncertainty(rng, 40, buckets=64, apart_s=20) for _ in "ab")
    expected = sorted(pairs_by_definition(a, b, SHORT, 0.2))
    assert couples(timing_join(a, b, SHORT, 0.2)) == expected != []
    assert worked_out["by table"] == worked_out["by cache"] == 0
    limits = PairLimits(table=200_000)  # two pairs
    join = TimingJoin(Stream("a", 10), Stream("b", 10), SHORT, 0.2, pair_limits=limits)
    pairs = []
    for row in range(len(a)):
        for stream, events in (("a", a), ("b", b)):
            pairs += couples(join.push(stream, rows_of(events, row, row + 1)).insert)
    assert pairs == [(2 * i, 2 * j + 1) for i, j in expected]
    assert worked_out["by table"] <= 2
    assert worked_out["by cache"] == 0


@pytest.mark.parametrize("window", [SHORT, LONG], ids=["short", "long"])
def test_the_verdicts_are_those_of_a_table_without_one(window: Window, rng: Generator, worked_out: CallCounts) -> None:
    kinds = [Histogram.normal(float(sigma), 6) for sigma in rng.uniform(0.5, 2, 12)]
    a, b = (Detections(rng.integers(0, 900 * SECOND, 500), kinds, rng.integers(0, 12, 500)) for _ in range(2))
    with_table = couples(timing_join(a, b, window, 0.1))
    assert (worked_out["by table"], worked_out["by cache"]) == (144, 0)
    assert without_table(a, b, window, 0.1) == with_table
    assert worked_out["by table"] == 144
    assert len(with_table) > 100


def test_a_table_that_is_much_work_is_made_where_enough_events_meet(rng: Generator, worked_out: CallCounts) -> None:
    kinds = [Histogram.normal(float(sigma), 8) for sigma in rng.uniform(0.5, 2, 90)]
    assert pair_work.table_work(kinds, kinds, SHORT) > pair_work.TABLE_WORK
    for spread_s, tabled in ((400_000, 0), (400, 90 * 90)):
        a, b = (Detections(rng.integers(0, spread_s * SECOND, 4000), kinds, rng.integers(0, 90, 4000)) for _ in "ab")
        timing_join(a, b, SHORT, 0.9)
        assert worked_out["by table"] == tabled


def test_streams_of_own_templates_do_not_build_tables_again_and_again(rng: Generator, worked_out: CallCounts) -> None:
    limits = PairLimits(table=40 * 40 * 400)
    join = TimingJoin(Stream("a", 1, 20), Stream("b", 1, 20), LONG, 0.2, pair_limits=limits)
    a, b = (own_uncertainty(rng, 600, apart_s=30) for _ in "ab")
    for first in range(0, 600, 5):
        join.push("a", rows_of(a, first, first + 5))
        join.push("b", rows_of(b, first, first + 5))
    look_ups = join.look_ups.hits + join.look_ups.misses
    assert look_ups > 0
    # a table of 40 x 40 pairs to begin with, and another one only for as much work of evaluating
    assert worked_out["by table"] <= 1600 + look_ups // 4


def test_certainty_compares_supports_and_evaluates_nothing(rng: Generator, counts: CallCounts) -> None:
    own = [Histogram.normal(float(sigma), 64) for sigma in rng.uniform(0.5, 2, 20)]
    counts.watch(Trapezoids, "of", "made", lambda *_: 1)
    events, rows = Detections(np.zeros(20, np.int64), own, range(20)), list(enumerate(own))
    for window in (SHORT, Window(8.0), LONG):
        ends = ((i, j, v.earliest_s - u.latest_s, v.latest_s - u.earliest_s) for (i, u), (j, v) in product(rows, rows))
        inside = [(i, j) for i, j, least_s, most_s in ends if window.lo_s <= least_s and most_s <= window.hi_s]
        assert without_table(events, events, window, 1.0) == inside
    assert counts["made"] == 0
    remembered, codes = cache_of([Histogram.uniform(-10, 10)], Window(20), 1.0)
    # a microsecond too far: the probability is 1 - 1.25e-15
    assert remembered.contain(codes.repeat(2), codes.repeat(2), np.array([0, 1])).tolist() == [True, False]


@pytest.mark.parametrize("bad", [-1, True, 1.5])
def test_limits_are_whole_numbers(bad: int) -> None:
    with pytest.raises(CoincideError, match="cached"):
        PairLimits(cached=bad)

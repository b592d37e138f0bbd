"""How much work the kernels do, in counts: what makes them fast, and does not depend on the machine."""

import tracemalloc

import numpy as np
import pytest

from coincide import Detections, Histogram, SatisfactionTable, Stream, TimingJoin, Window, timing_join
from coincide.joins import timing_join_blocks
from coincide.offsets import cache as offset_cache
from coincide.offsets.bends import CdfPieces, DensityBends
from coincide.offsets.cache import OffsetCache
from coincide.offsets.pair_work import SHORT_WINDOW_EVALUATIONS
from coincide.probability import match_probabilities
from coincide.probability.trapezoids import Trapezoids
from coincide.templates.codes import TemplateRegistry
from coincide.templates.template_columns import TemplateColumns
from tests.reference.call_counts import CallCounts

TEMPLATES = 40  # a side: 1,600 pairs


@pytest.fixture
def evaluated(counts: CallCounts) -> CallCounts:
    """Cdf values of template pairs computed since, by the method that computed them."""
    counts.watch(Trapezoids, "at_most", "exact", lambda cdf, *_: cdf.size)
    counts.watch(Trapezoids, "below", "exact", lambda cdf, *_: cdf.size)
    counts.watch(Trapezoids, "at_most_and_density", "exact", lambda both, *_: both[0].size)
    counts.watch(DensityBends, "cdf_and_density", "summed", lambda both, *_: both[0].size)
    counts.watch(CdfPieces, "cdf", "summed", lambda cdf, *_: cdf.size)
    return counts


def templates(seed: int) -> list[Histogram]:
    rng = np.random.default_rng(seed)
    return [
        Histogram(np.cumsum(rng.uniform(0.5, 5, buckets + 1)), rng.dirichlet(np.ones(buckets)))
        for buckets in rng.integers(4, 9, TEMPLATES).tolist()
    ]


# in a long window an end each: one value decides both neighbours
@pytest.mark.parametrize(("half_s", "exact", "summed"), [(60, 2.1, 7), (5, 3, 65)])
def test_a_pair_takes_few_exact_values(evaluated: CallCounts, half_s: int, exact: float, summed: int) -> None:
    SatisfactionTable.build(templates(1), templates(2), Window(half_s), 0.6)
    assert evaluated["exact"] <= exact * TEMPLATES**2
    assert evaluated["summed"] <= summed * TEMPLATES**2


def test_blocks_need_no_memory_for_the_whole_answer() -> None:
    batch = Detections(np.arange(20_000), [Histogram.point()])
    tracemalloc.start()
    pairs = sum(len(block) for block in timing_join_blocks(batch, batch, Window(0.0002), threshold=1))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert pairs == 20_000 * 401 - 200 * 201  # each meets itself and 200 on either side; near the ends fewer
    assert peak < 16_000_000  # the answer alone has 127,000,000 bytes


@pytest.mark.parametrize("window", [Window(60), Window(5)], ids=str)
def test_a_template_pair_that_comes_again_costs_no_new_evaluation(evaluated: CallCounts, window: Window) -> None:
    evaluated.watch(offset_cache, "offset_ranges", "worked out", lambda _, pairs, *__: len(pairs))
    known = TemplateRegistry()
    codes = known.codes(templates(1)[:6])
    u, v = (side.ravel().astype(np.int32) for side in np.meshgrid(codes, codes))
    remembered = OffsetCache(window, 0.6, known, known)

    def look_up(times: int) -> None:
        for nth in range(times):
            remembered.contain(u, v, np.full(36, window.hi_us - 4_000_000 + nth % 3 * 1_000_000))  # none is certain

    look_up(int(SHORT_WINDOW_EVALUATIONS))
    assert evaluated["worked out"] == 36
    assert evaluated["exact"] <= 2 * 36 * SHORT_WINDOW_EVALUATIONS + 4 * 36  # of the events before, and of the offsets
    before = evaluated["exact"], evaluated["summed"]
    look_up(100)
    assert (evaluated["exact"], evaluated["summed"]) == before


def test_the_probability_of_a_pair_takes_two_values_once_it_is_asked_for(evaluated: CallCounts) -> None:
    batch = Detections(np.arange(1_000) * 1_000_000, templates(1), np.arange(1_000) % TEMPLATES)
    pairs = timing_join(batch, batch, Window(60), 0.7)
    before = evaluated["exact"]
    assert len(pairs) > 10_000
    assert before <= 2.1 * TEMPLATES**2  # the table's
    for _ in range(2):
        assert (pairs.probability >= 0.7).all()
        assert evaluated["exact"] - before == 2 * len(pairs)


def test_probabilities_prepare_a_template_once_however_many_pairs_have_it(counts: CallCounts) -> None:
    counts.watch(TemplateColumns, "of", "prepared", lambda columns, *_: len(columns))
    us, vs = templates(1), templates(2)
    u, v = np.random.default_rng(3).integers(0, TEMPLATES, (2, 20_000))
    match_probabilities(us, vs, u, v, np.zeros(20_000, np.int64), Window(5))
    assert counts["prepared"] == 2 * TEMPLATES


def test_a_pair_of_a_stream_prepares_its_own_templates_not_all_that_are_known(counts: CallCounts) -> None:
    join = TimingJoin(Stream("x", 10, 10), Stream("y", 10, 10), Window(0.5), 0.6)
    clocks = [Histogram.uniform(-length_s, 0) for length_s in np.linspace(0.1, 0.2, 50)]
    join.push("x", Detections(np.arange(50) * 5_000_000, clocks, range(50)))
    pair = join.push("y", Detections([240_000_000], clocks[:1])).insert
    counts.watch(TemplateColumns, "of", "prepared", lambda columns, *_: len(columns))
    assert pair.probability.tolist() == [1.0]
    assert 1 <= counts["prepared"] <= 2  # both have the same one

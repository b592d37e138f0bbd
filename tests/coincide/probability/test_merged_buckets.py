"""The cdf by one walk along the edges of both templates: right, and little work however many buckets they have."""

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coincide import CoincideError, Detections, Histogram, SatisfactionTable, Window, satisfaction_offsets, timing_join
from coincide.arrays.exact_sums import seconds_of
from coincide.offsets import bends
from coincide.probability import match_probabilities
from coincide.probability.merged_buckets import MergedBuckets
from coincide.probability.trapezoids import Trapezoids
from coincide.templates.template_columns import TemplateColumns
from tests.reference.call_counts import CallCounts
from tests.reference.difference import exact_probability
from tests.reference.templates import templates

BEFORE_ANY_S = -1e6


def columns_of(*histograms: Histogram) -> TemplateColumns:
    return TemplateColumns.of(histograms, max(len(each.mass) for each in histograms))


def without_atoms(histogram: Histogram) -> bool:
    return not columns_of(histogram).has_atoms[0]


def comb(buckets: int) -> Histogram:
    """Every other bucket is empty: the probability in a short window rises and falls as often."""
    mass = np.arange(buckets) % 2 == 0
    return Histogram(np.linspace(-10, 0, buckets + 1).round(6), mass / mass.sum())


def uneven(buckets: int, seed: int) -> Histogram:
    random = np.random.default_rng(seed)
    edges_s = np.unique(np.append(random.uniform(-10, 0, buckets), 0).round(6))
    return Histogram(edges_s, random.dirichlet(np.ones(len(edges_s) - 1)))


@given(
    templates().filter(without_atoms),
    templates(1e-6).filter(without_atoms) | templates().filter(without_atoms),
    st.integers(-100_000_000, 100_000_000) | st.integers(-100, 100).map(lambda second: second * 1_000_000),
)
def test_it_is_the_exact_probability(u: Histogram, v: Histogram, x_us: int) -> None:
    exact = exact_probability(u, v, Fraction(-x_us, 10**6), Window(lo_s=BEFORE_ANY_S, hi_s=0))
    x = seconds_of(np.array([x_us]))
    probability, density = MergedBuckets(columns_of(u), columns_of(v)).at_most_and_density(x)
    by_pairs, slope = Trapezoids.of(columns_of(u), columns_of(v)).at_most_and_density(x)
    assert abs(Fraction(float(probability[0])) - exact) < 1e-14
    assert probability == pytest.approx(by_pairs, abs=1e-14)
    assert density == pytest.approx(slope, rel=1e-8, abs=1e-12)  # 2 us beside 8 s leave the slope nine digits


def test_many_buckets_add_up_alike_for_one_pair_and_for_several_beside_some_with_atoms() -> None:
    atoms = Histogram([*np.arange(-80.0, 0.0), 0.0, 0.0], [1 / 81] * 81)
    wide = [uneven(90, 1), atoms, uneven(70, 2), comb(81)]
    pairs = [(i, j) for i in range(4) for j in range(4)]
    u_index, v_index = np.array(pairs).T
    window = Window(2.5)
    together = match_probabilities(wide, wide, u_index, v_index, np.arange(16) * 300_000, window)
    alone = [
        match_probabilities([wide[i]], [wide[j]], [0], [0], [n * 300_000], window) for n, (i, j) in enumerate(pairs)
    ]
    assert together.tolist() == np.concatenate(alone).tolist()
    offsets = [satisfaction_offsets(wide[i], wide[j], window, 0.1) for i, j in pairs]
    assert np.array_equal(SatisfactionTable.build(wide, wide, window, 0.1).intervals_us, np.concatenate(offsets))


@pytest.mark.parametrize("window", [Window(30), Window(3)], ids=str)
def test_a_thousand_buckets_a_side_are_little_work(window: Window, counts: CallCounts) -> None:
    counts.watch(Trapezoids, "of", "terms", lambda terms, *_: terms.slope.size)
    counts.watch(
        MergedBuckets, "at_most_and_density", "terms", lambda both, self, x: both[0].size * len(self.u.edges_s)
    )
    u, v = uneven(1000, 1), uneven(1000, 2)
    intervals = satisfaction_offsets(u, v, window, 0.2)
    assert 0 < counts["terms"] < 1_000_000, "fewer than one sum over all pairs of buckets"
    reached = match_probabilities([u], [v], [0] * 2, [0] * 2, intervals[0], window)
    missed = match_probabilities([u], [v], [0] * 2, [0] * 2, intervals[0] + [-1, 1], window)
    assert (reached >= 0.2 - 1e-12).all()
    assert (missed < 0.2 + 1e-12).all()


@pytest.mark.parametrize("buckets", [20, 64])
def test_events_with_histograms_of_their_own_take_a_walk_each(buckets: int, counts: CallCounts) -> None:
    counts.watch(Trapezoids, "of", "terms", lambda terms, *_: terms.slope.size)
    counts.watch(MergedBuckets, "at_most_and_density", "edges", lambda both, self, x: both[0].size * 2 * (buckets + 1))
    own = [comb(buckets) for _ in range(8)]
    index = np.arange(8)
    match_probabilities(own, own, index, index[::-1], index * 1_000_000, Window(3))
    assert counts["terms"] == 0
    assert 0 < counts["edges"] <= 8 * 2 * 2 * (buckets + 1), "the edges of both, at either end of the window"


def test_one_bucket_beside_many_needs_no_walk(counts: CallCounts) -> None:
    counts.watch(MergedBuckets, "at_most_and_density", "walks", lambda both, *_: 1)
    match_probabilities([Histogram.uniform(-1, 0)], [comb(5001)], [0], [0], [0], Window(3))
    assert counts["walks"] == 0


def test_what_would_take_too_long_is_refused_by_every_entrance(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(bends, "MOST_TERMS", 2**17)
    hard, window, threshold = comb(201), Window(0.025), 1 / 201
    says = r"templates is '\d+ and \d+ buckets': fewer: their offsets in .* take more than 131,072 terms"
    with pytest.raises(CoincideError, match=says):
        satisfaction_offsets(hard, hard, window, threshold)
    with pytest.raises(CoincideError, match=says):
        SatisfactionTable.build([hard], [hard], window, threshold)
    rows = Detections(np.arange(500) * 100_000, [hard])
    with pytest.raises(CoincideError, match=says):
        timing_join(rows, None, window, threshold, sensors="any")
    assert len(satisfaction_offsets(uneven(200, 1), uneven(200, 2), Window(3), 0.2)) == 1, "many buckets alone are fine"

"""Cdfs by their bends against the sum that does not cancel, within the bound they promise; and guessed quantiles."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.random import Generator

from coincide import Histogram, Window, match_probability
from coincide.arrays.exact_sums import ExactSum
from coincide.offsets.bends import CdfPieces, pieces_error
from coincide.offsets.long_windows import closer_quantiles
from coincide.probability.trapezoids import Trapezoids
from coincide.templates.template_columns import TemplateColumns
from tests.examples import examples


@st.composite
def without_atoms(draw: st.DrawFn) -> Histogram:
    """Buckets of 1 us to 1000 s, gaps among them, somewhere within an hour."""
    lengths_s = draw(st.lists(st.floats(-6, 3).map(lambda power: 10**power), min_size=1, max_size=12))
    masses = draw(st.lists(st.sampled_from([0.0, 0.01, 1.0, 5.0]), min_size=len(lengths_s), max_size=len(lengths_s)))
    mass = np.array(masses) if any(masses) else np.ones(len(masses))
    edges_s = draw(st.floats(-3600, 3600)) + np.concatenate(([0.0], np.cumsum(lengths_s)))
    return Histogram(edges_s, mass / mass.sum())


@settings(max_examples=examples(25))
@given(st.lists(st.tuples(without_atoms(), without_atoms()), min_size=1, max_size=3), st.data())
def test_a_cdf_is_off_by_no_more_than_its_bound(pairs: list[tuple[Histogram, Histogram]], data: st.DataObject) -> None:
    us, vs = (list(side) for side in zip(*pairs, strict=True))
    u, v = TemplateColumns.of(us, 12), TemplateColumns.of(vs, 12)
    shares = data.draw(st.lists(st.floats(-0.1, 1), min_size=1, max_size=20))
    pair = np.arange(len(pairs)).repeat(len(shares))
    first_s, last_s = v.edges_s[0] - u.edges_s[-1], v.edges_s[-1] - u.edges_s[0]
    x_s = np.minimum(first_s[pair] + np.tile(shares, len(pairs)) * (last_s - first_s)[pair], last_s[pair])
    cdf = CdfPieces.of(u, v).cdf(pair, x_s)
    exact = Trapezoids.of(u.take(pair), v.take(pair)).at_most(ExactSum(x_s, np.zeros_like(x_s)))
    assert (np.abs(cdf - exact) <= pieces_error(u, v)[pair] + 1e-14).all()


def test_at_the_bends_themselves_it_is_as_good() -> None:
    us, vs = [Histogram.normal(1.0, 64)], [Histogram.normal(0.3, 48)]
    u, v = TemplateColumns.of(us, 64), TemplateColumns.of(vs, 48)
    x_s = np.sort((v.edges_s[None] - u.edges_s[:, None]).ravel())
    error = pieces_error(u, v)[0]
    cdf = CdfPieces.of(u, v).cdf(np.zeros(len(x_s), np.int64), x_s)
    assert np.abs(cdf - match_probability(us[0], vs[0], -x_s, Window.deadline(0))).max() < error < 1e-8
    assert (cdf[0], cdf[-1]) == (0.0, pytest.approx(1.0, abs=error))


@pytest.mark.parametrize("probability", [0.01, 0.5, 0.97])
def test_guesses_settle_on_the_quantile(rng: Generator, probability: float) -> None:
    us, vs = ([Histogram(np.sort(rng.uniform(-9, 9, 7)), rng.dirichlet(np.ones(6))) for _ in range(40)] for _ in "uv")
    u, v = TemplateColumns.of(us, 6), TemplateColumns.of(vs, 6)
    guesses = zip(us, vs, closer_quantiles(u, v, np.full(40, probability), np.zeros(40)).tolist(), strict=True)
    below = [match_probability(u, v, 0.0, Window(lo_s=-99.0, hi_s=guess)) for u, v, guess in guesses]
    assert np.allclose(below, probability, rtol=0, atol=1e-4)


def test_templates_with_atoms_keep_their_guess() -> None:
    point, spread = Histogram.point(), Histogram.uniform(0, 4)
    u, v = (TemplateColumns.of([template, spread], 1) for template in (point, spread))
    guess_s = closer_quantiles(u, v, np.full(2, 0.5), np.full(2, 7.0))
    assert guess_s.tolist() == [7.0, pytest.approx(0.0, abs=1e-6)]

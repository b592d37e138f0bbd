import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram
from coincide.clocks import whole_error
from coincide.evidence import one_source_density
from coincide.sources.arrivals import Arrivals
from coincide.sources.report_density import ReportDensity, spread_by
from tests.examples import examples

KINDS = (
    Histogram.uniform(-0.02, 0.01),
    Histogram.normal(0.01),
    Histogram.from_latency([(0, 0.01, 0.6), (0.01, 0.02, 0.3), (0.02, 0.05, 0.1)]),
    Histogram([-0.03, -0.02, 0.02, 0.03], [0.5, 0, 0.5]),
    Histogram.point(),
)
SLACK_S = 0.004
members = st.lists(st.tuples(st.integers(0, 4), st.integers(-30_000, 30_000)), min_size=2, max_size=6)


def at(apart_s: list[float], within_s: float = 0.0) -> Arrivals:
    apart = np.array([apart_s])
    return Arrivals(np.zeros(1), apart, np.full(apart.shape, within_s), np.zeros(3))


@settings(max_examples=examples(40))
@given(members, st.integers(0, 99))
def test_equals_the_density_of_one_moment(given: list[tuple[int, int]], seed: int) -> None:
    templates, times_us = [KINDS[kind] for kind, _ in given], [time for _, time in given]
    density = ReportDensity.of(templates, np.array(times_us) / 1e6, SLACK_S)
    apart_us = np.random.default_rng(seed).integers(-10_000, 10_000, len(given))
    spread = [Histogram(*spread_by(template, SLACK_S)) for template in templates]
    moved = (np.array(times_us) - apart_us)[:, None]
    [expected] = one_source_density(spread, np.arange(len(given))[:, None], moved)
    [found] = np.exp(density.log_density(at((apart_us / 1e6).tolist())))
    assert found == pytest.approx(expected, rel=1e-4, abs=1e-9 * 300 ** len(given))
    if expected > 0:
        assert density.may_be(at((apart_us / 1e6).tolist()))[0]


@settings(max_examples=examples(40))
@given(members, st.floats(0, 0.02), st.integers(0, 99))
def test_no_place_within_exceeds_the_bound(given: list[tuple[int, int]], within_s: float, seed: int) -> None:
    templates = [KINDS[kind] for kind, _ in given]
    density = ReportDensity.of(templates, np.array([time for _, time in given]) / 1e6, SLACK_S)
    rng = np.random.default_rng(seed)
    middle = rng.uniform(-0.01, 0.01, len(given))
    bound = float(density.log_bound(at(middle.tolist(), within_s))[0])
    for _ in range(5):
        near = at((middle + rng.uniform(-within_s, within_s, len(given))).tolist())
        assert float(density.log_density(near)[0]) <= max(bound, -1e300) + 1e-6


@pytest.mark.parametrize("template", KINDS)
def test_slack_spreads_a_template(template: Histogram) -> None:
    edges_s, mass = spread_by(template, SLACK_S)
    whole = whole_error(template, Histogram.uniform(-SLACK_S / 2, SLACK_S / 2))
    below = np.concatenate(([0.0], np.cumsum(mass)))
    np.testing.assert_allclose(below, whole.cdf(edges_s), atol=1e-3)
    assert edges_s[0] == template.earliest_s - SLACK_S / 2
    assert edges_s[-1] == template.latest_s + SLACK_S / 2
    assert len(mass) <= 24

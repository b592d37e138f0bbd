from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import ConstraintGraph, Histogram, Window, match_probability
from coincide.errors import CoincideError, GraphError, HistogramError, OffsetError, WindowError
from coincide.evidence import one_source_density
from coincide.evidence.one_source import volume
from tests.examples import examples
from tests.reference.counted_cells import graph_probability
from tests.reference.evidence import density_of_one_moment
from tests.reference.joint_tuples import graphs
from tests.reference.templates import MICROSECOND, templates

CLOCK = Histogram.uniform(-1, 1)
SECOND = 10**6


def density(members: list[Histogram], times_us: list[int], travel: Any = None) -> float:
    index = np.arange(len(members))[:, None]
    return float(one_source_density(members, index, np.array(times_us)[:, None], travel)[0])


scales = st.sampled_from([(1.0, 40 * SECOND), (MICROSECOND, 40), (1.0, 3)])


@settings(max_examples=examples(150))
@given(st.data(), scales, st.integers(2, 4))
def test_the_density_at_one_moment_equals_fractions(data: st.DataObject, scale: tuple[float, int], count: int) -> None:
    unit_s, furthest_us = scale
    members = [data.draw(templates(unit_s)) for _ in range(count)]
    # a quarter of a microsecond cannot be reported, so edges of exact times do not meet edges of buckets by a hair
    times_us = [data.draw(st.integers(-furthest_us, furthest_us)) for _ in range(count)]
    exact = density_of_one_moment(members, times_us)
    assert density(members, times_us) == pytest.approx(float(exact), rel=1e-6, abs=1e-7)


def test_many_matches_are_the_same_as_one_by_one() -> None:
    rng = np.random.default_rng(3)
    known = [CLOCK, Histogram.normal(0.5), Histogram.point(), Histogram([-2, -1, 0, 1], [0.2, 0.5, 0.3])]
    index = rng.integers(0, 4, (3, 200))
    index[2, ::3] = -1
    index[0, 1::3] = -1
    times_us = rng.integers(-SECOND, SECOND, (3, 200))
    for travel in (None, Window(0.8)):
        found = one_source_density(known, index, times_us, travel)
        for column, own in enumerate(index.T):
            here = np.flatnonzero(own >= 0)
            alone = density([known[each] for each in own[here]], times_us[here, column].tolist(), travel)
            assert found[column] == pytest.approx(alone, rel=1e-9)
        assert np.count_nonzero(found) > 50


@pytest.mark.parametrize("travel", [None, Window(1), Window(lo_s=-1, hi_s=3)])
def test_the_density_of_all_offsets_is_one(travel: Window | None) -> None:
    u, v = Histogram([-3, -1, 0], [0.4, 0.6]), Histogram([0, 1, 4], [0.7, 0.3])
    half_seconds = np.arange(-40, 41)
    found = [density([u, v], [0, int(each) * SECOND // 2], travel) for each in half_seconds]
    weights = np.where(half_seconds % 2, 4, 2) / 3 / 2  # Simpson's, exact for quadratics between whole seconds
    assert float(np.dot(weights, found)) == pytest.approx(1, abs=1e-12)


def test_a_short_travel_is_nearly_one_moment() -> None:
    members, times_us = [Histogram.normal(0.5), Histogram.normal(0.3), CLOCK], [0, 200_000, -300_000]
    at_once = density(members, times_us)
    assert density(members, times_us, Window(1e-4)) == pytest.approx(at_once, rel=1e-3)
    assert density(members, times_us, Window(0.5)) != pytest.approx(at_once, rel=1e-2)


def test_travel_of_a_pair_is_its_probability_by_the_length_of_the_window() -> None:
    window = Window(lo_s=-0.5, hi_s=1.5)
    expected = match_probability(CLOCK, CLOCK, 0.7, window) / 2
    assert density([CLOCK, CLOCK], [0, 700_000], window) == pytest.approx(expected)
    assert density([CLOCK, CLOCK], [700_000, 0], ConstraintGraph.binary("b", "a", window.swapped())) == pytest.approx(
        expected
    )


@settings(max_examples=examples(40))
@given(st.data(), st.integers(2, 4), st.integers(0, 3))
def test_the_volume_is_that_of_all_times_counted_cell_by_cell(data: st.DataObject, members: int, extra: int) -> None:
    graph = data.draw(graphs(members, extra))
    if any(edge.window.lo_s == edge.window.hi_s for edge in graph.edges):
        return
    anywhere = [Histogram.point(), *[Histogram.uniform(-24, 24)] * (members - 1)]
    exact = graph_probability(graph, anywhere, [0] * members) * 48 ** (members - 1)
    assert volume(graph) == pytest.approx(float(exact), rel=1e-6, abs=1e-9)


def test_exact_times_are_exact_to_the_microsecond() -> None:
    point = Histogram.point()
    assert density([point, point], [5, 5]) == pytest.approx(1e6)
    assert density([point, point], [5, 6]) == pytest.approx(0, abs=1e-3)
    assert density([point, CLOCK], [5, 200_005]) == pytest.approx(0.5)
    assert density([point, point], [0, SECOND], Window(2)) == pytest.approx(0.25)


def test_exact_times_among_buckets() -> None:
    mixed = Histogram([-1, 0, 0, 1, 1], [0.25, 0.5, 0.125, 0.125])
    last = Histogram([-1, 0, 1, 1], [0.25, 0.25, 0.5])
    twice = Histogram([-1, 0, 0, 0, 0, 1], [0.2, 0.1, 0.0, 0.4, 0.3])
    for members in ([mixed, mixed], [mixed, last], [last, last], [last, twice], [twice, twice]):
        exact = density_of_one_moment([*members, CLOCK], [0, SECOND, 300_000])
        assert Fraction(density([*members, CLOCK], [0, SECOND, 300_000])) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize(
    ("arguments", "error", "field"),
    [
        (([CLOCK, 5], [[0], [1]], [[0], [0]]), HistogramError, "templates[1]"),
        (([CLOCK], [[0], [1]], [[0], [0]]), HistogramError, "template_index"),
        (([CLOCK], [[0], [-2]], [[0], [0]]), HistogramError, "template_index"),
        (([CLOCK], [0, 0], [0, 0]), HistogramError, "template_index"),
        (([CLOCK], [[0], [-1]], [[0], [0]]), HistogramError, "template_index"),
        (([CLOCK], [[0], [0]], [[0, 0]]), OffsetError, "detected_at_us"),
        (([CLOCK], [[0], [0]], [[0], [0.5]]), OffsetError, "detected_at_us"),
        (([CLOCK], [[0], [0]], [[0], [2**53]]), OffsetError, "detected_at_us"),
        (([CLOCK], [[0], [0]], [[0], [0]], 5), WindowError, "travel"),
        (([CLOCK], [[0], [0]], [[0], [0]], Window(0)), WindowError, "travel"),
        (([CLOCK], [[0], [0]], [[0], [0]], Window.deadline(3)), WindowError, "travel"),
        (([CLOCK], [[0], [0], [0]], [[0], [0], [0]], Window(lo_s=0, hi_s=1)), WindowError, "travel"),
        (([CLOCK], [[0], [0]], [[0], [0]], ConstraintGraph.clique("abc", Window(1))), GraphError, "travel"),
    ],
)
def test_what_cannot_be_used_is_refused(arguments: Any, error: type[CoincideError], field: str) -> None:
    with pytest.raises(error) as refusal:
        one_source_density(*arguments)
    assert refusal.value.field == field


def test_no_match_has_no_density() -> None:
    assert one_source_density([CLOCK], np.empty((2, 0), int), np.empty((2, 0), int)).shape == (0,)

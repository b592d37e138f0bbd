"""The promise of `attainable`: no offset gives more, and its own offset gives as much; for any templates."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import (
    ConstraintGraph,
    Histogram,
    Window,
    attainable,
    joint_probabilities,
    match_probability,
    satisfaction_offsets,
)
from coincide.errors import HistogramError, WindowError
from coincide.templates.template_columns import TemplatePairs
from coincide.thresholds import attainable_jointly
from coincide.thresholds.peaks import attainable_of_pairs
from tests.coincide.offsets.test_satisfying import HARD_TEMPLATES, HARD_WINDOWS
from tests.examples import examples
from tests.reference.corner_sums import Difference
from tests.reference.offsets import probability_at
from tests.reference.peaks import greatest_probability
from tests.reference.templates import MICROSECOND, templates, windows

IMB, BAKSAN, KAMIOKANDE = Histogram.uniform(-0.05, 0.05), Histogram.uniform(-54, 2), Histogram.uniform(-60, 60)
POINT = Histogram.point()
Case = tuple[Histogram, Histogram, Window]
cases = st.tuples(templates(), templates(), windows())
mixed_cases = st.tuples(templates(0.37), templates(1.13), windows(0.91))


@pytest.mark.parametrize(
    ("u", "v", "window", "most"),
    [
        (IMB, BAKSAN, Window(10), 20 / 56),
        (IMB, KAMIOKANDE, Window(10), 20 / 120),
        # a square of 4 s by 4 s, cut to a band 2 s wide around its diagonal: 1 - (3/4)**2
        (Histogram.uniform(0, 4), Histogram.uniform(0, 4), Window(1), 7 / 16),
        # of two peaks the higher one, though it is the further one
        (POINT, Histogram([0, 1, 90, 91], [0.4, 0.0, 0.6]), Window(0.5), 0.6),
        # a peak between break points: 0.5 of 4 s and 0.5 of 1 s beside it; all of the short one and 1 s of the long
        (POINT, Histogram([0, 4, 5], [0.5, 0.5]), Window(1), 0.625),
        (POINT, POINT, Window(0), 1.0),
        (POINT, POINT, Window.deadline(-5), 1.0),
    ],
)
def test_by_hand(u: Histogram, v: Histogram, window: Window, most: float) -> None:
    found = attainable(u, v, window)
    assert found.probability == pytest.approx(most, abs=1e-13)
    assert match_probability(u, v, found.offset_us / 1e6, window) == pytest.approx(most, abs=1e-13)


@given(st.tuples(templates(MICROSECOND), templates(MICROSECOND), windows(MICROSECOND)))
def test_no_microsecond_gives_more_and_its_own_gives_as_much(case: Case) -> None:
    found = attainable(*case)
    assert found.probability == pytest.approx(float(greatest_probability(*case)), abs=1e-12)
    assert float(probability_at(*case[:2], found.offset_us, case[2])) == pytest.approx(found.probability, abs=1e-12)


@settings(max_examples=examples(200))
@given(st.one_of(cases, mixed_cases))
def test_no_offset_at_which_the_probability_bends_or_turns_gives_more(case: Case) -> None:
    exact, found = Difference(*case), attainable(*case)
    breaks = exact.breaks()
    places = {place // exact.microsecond + by for place in [*breaks, *exact.turning_points(breaks)] for by in (0, 1)}
    assert found.probability == pytest.approx(max(float(exact.probability(place)) for place in places), abs=1e-12)
    assert float(exact.probability(found.offset_us)) == pytest.approx(found.probability, abs=1e-12)


@pytest.mark.parametrize("window", HARD_WINDOWS, ids=str)
def test_hard_inputs(window: Window) -> None:
    for u in HARD_TEMPLATES:
        for v in HARD_TEMPLATES:
            exact, found = Difference(u, v, window), attainable(u, v, window)
            breaks = exact.breaks()
            places = {place // exact.microsecond for place in [*breaks, *exact.turning_points(breaks)]}
            most = max(float(exact.probability(place + by)) for place in places for by in (-1, 0, 1))
            assert found.probability == pytest.approx(most, abs=1e-12)
            assert float(exact.probability(found.offset_us)) == pytest.approx(found.probability, abs=1e-12)


@given(cases)
def test_it_is_the_greatest_threshold_that_some_offset_satisfies(case: Case) -> None:
    most = attainable(*case).probability
    assert most == 0 or len(satisfaction_offsets(*case, most))
    assert most > 1 - 3e-12 or not len(satisfaction_offsets(*case, most + 2e-12))


@given(cases)
def test_swapping_the_streams_changes_nothing(case: Case) -> None:
    u, v, window = case
    assert attainable(v, u, window.swapped()).probability == pytest.approx(attainable(*case).probability, abs=1e-12)


@given(cases, st.integers(0, 9), st.integers(0, 9))
def test_a_longer_window_never_gives_less(case: Case, before_s: int, after_s: int) -> None:
    u, v, window = case
    longer = Window(lo_s=window.lo_s - before_s, hi_s=window.hi_s + after_s)
    assert attainable(u, v, longer).probability >= attainable(*case).probability - 1e-12


@given(cases, st.integers(-50, 50))
def test_shifting_a_template_changes_nothing(case: Case, by_s: int) -> None:
    u, v, window = case
    assert attainable(u, v.shift(by_s), window).probability == pytest.approx(attainable(*case).probability, abs=1e-12)


@pytest.mark.parametrize("buckets", [24, 64])
def test_normal_errors_give_most_where_their_middles_agree(buckets: int) -> None:
    found = attainable(Histogram.normal(1.0, buckets=buckets), Histogram.normal(1.0, buckets=buckets), Window(1.0))
    assert found.probability == pytest.approx(0.5205, abs=0.02)  # erf(1 / 2)
    assert abs(found.offset_us) < 50_000


def test_a_pair_does_not_depend_on_its_neighbours() -> None:
    rng = np.random.default_rng(5)
    many = [Histogram(np.cumsum(rng.random(9)), rng.dirichlet(np.ones(8))) for _ in range(20)]
    many += [POINT, Histogram([0, 0, 3], [0.5, 0.5])]
    u_index, v_index = np.divmod(np.arange(len(many) ** 2), len(many))
    window = Window(lo_s=-0.5, hi_s=1.0)
    probability, offset_us = attainable_of_pairs(TemplatePairs(many, many, u_index, v_index), window)
    for row in range(0, len(u_index), 37):
        alone = attainable(many[u_index[row]], many[v_index[row]], window)
        assert (alone.probability, alone.offset_us) == (probability[row], offset_us[row])


def test_no_pair_has_no_attainable() -> None:
    none = np.empty(0, np.int64)
    probability, offset_us = attainable_of_pairs(TemplatePairs([POINT], [POINT], none, none), Window(1))
    assert len(probability) == len(offset_us) == 0


def test_what_is_no_template_or_window_is_refused() -> None:
    with pytest.raises(HistogramError, match=r"^v is "):
        attainable(POINT, "late", Window(1))  # type: ignore[arg-type]
    with pytest.raises(WindowError, match=r"^window is "):
        attainable(POINT, POINT, 5.0)  # type: ignore[arg-type]


@settings(max_examples=examples(30))
@given(st.lists(templates(), min_size=3, max_size=3), windows(), st.sampled_from(["path", "clique"]))
def test_jointly_the_lower_bound_is_reached_and_the_upper_one_is_that_of_the_least_edge(
    three: list[Histogram], window: Window, form: str
) -> None:
    own = Window(max(abs(window.lo_s), abs(window.hi_s))) if form == "clique" else window
    graph = ConstraintGraph.clique("abc", own) if form == "clique" else ConstraintGraph.path("abc", own)
    found = attainable_jointly(dict(zip("abc", three, strict=True)), graph)
    times_us = np.array(found.times_us)[:, None]
    [reached] = joint_probabilities(graph, [[each] for each in three], np.zeros((3, 1), np.int64), times_us).value
    assert reached == pytest.approx(found.at_least, abs=1e-12)
    by_role = dict(zip("abc", three, strict=True))
    most = [attainable(by_role[edge.a], by_role[edge.b], edge.window).probability for edge in graph.edges]
    assert found.at_least <= found.at_most + 1e-12
    assert found.at_most == min(most)

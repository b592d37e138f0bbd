"""Densities of members that share clocks: by fractions, by hand, and by what they are where nobody shares."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram, Network, Window, evidence_of
from coincide.clocks import Clock
from coincide.evidence import one_source_density
from coincide.evidence.one_source import Travel
from coincide.evidence.step_function import MOST_STEPS, MovedByError, StepFunction
from coincide.templates.clocked import whole_of
from tests.examples import examples
from tests.reference.evidence import density_on_clocks

SECOND = 10**6
OWN = Histogram.uniform(-0.05, 0.05)
HALF_A_MINUTE = Histogram.uniform(-30, 30)
SEVEN, EIGHT = (Clock(name, HALF_A_MINUTE).template(OWN) for name in ("gw-7", "gw-8"))


def density(members: list[Histogram], times_us: list[int], travel: Travel | None = None) -> float:
    index = np.arange(len(members))[:, None]
    return float(one_source_density(members, index, np.array(times_us)[:, None], travel)[0])


@st.composite
def spread_out(draw: st.DrawFn) -> Histogram:
    """Up to three buckets of one or two seconds."""
    lengths = draw(st.lists(st.integers(1, 2), min_size=1, max_size=3))
    weights = draw(st.lists(st.integers(1, 3), min_size=len(lengths), max_size=len(lengths)))
    edges = np.cumsum([draw(st.integers(-2, 0)), *lengths])
    return Histogram(edges.astype(float), np.array(weights) / sum(weights))


@st.composite
def errors(draw: st.DrawFn) -> Histogram:
    """Up to three buckets, exact times among them."""
    lengths = draw(st.lists(st.integers(0, 2), min_size=1, max_size=3))
    weights = draw(st.lists(st.integers(1, 3), min_size=len(lengths), max_size=len(lengths)))
    edges = np.cumsum([draw(st.integers(-2, 0)), *lengths])
    return Histogram(edges.astype(float), np.array(weights) / sum(weights))


@settings(max_examples=examples(60), deadline=None)
@given(st.data(), st.sampled_from([[0, 0], [0, 0, -1], [0, 0, 0, -1], [0, -1, 0, -1], [0, 0, 1, 1], [0, 1, -1, 0, 1]]))
def test_the_density_on_clocks_equals_fractions(data: st.DataObject, clocks: list[int]) -> None:
    own = [data.draw(spread_out()) for _ in clocks]
    wrong_by = [data.draw(errors()) for _ in range(max(clocks) + 1)]
    times_us = [data.draw(st.integers(-1, 1)) * SECOND for _ in clocks]
    made = [Clock(f"clock {number}", error) for number, error in enumerate(wrong_by)]
    members = [each if clock < 0 else made[clock].template(each) for each, clock in zip(own, clocks, strict=True)]
    exact = density_on_clocks(own, times_us, clocks, wrong_by)
    assert density(members, times_us) == pytest.approx(float(exact), rel=1e-9, abs=1e-12)


def test_two_reports_of_one_gateway() -> None:
    assert density([SEVEN, SEVEN], [0, 30_000]) == pytest.approx(7.0)  # (0.1 - 0.03) / 0.1^2
    assert density([SEVEN, SEVEN], [0, 20 * SECOND]) == 0
    assert density([SEVEN, SEVEN, OWN], [0, 30_000, 12 * SECOND]) == pytest.approx(7 / 60)
    assert density([SEVEN, SEVEN, OWN], [0, 30_000, 31 * SECOND]) == 0
    apart = density([SEVEN, SEVEN, EIGHT, EIGHT], [0, 30_000, 12 * SECOND, 12 * SECOND])
    assert apart == pytest.approx(7 * 10 * 48 / 3_600, rel=1e-2)


def test_where_nobody_shares_a_clock_it_is_the_density_of_the_whole_errors_bit_for_bit() -> None:
    rng = np.random.default_rng(4)
    own = [Histogram.normal(0.5), Histogram.uniform(-1, 2), Histogram.point()]
    error = Histogram.normal(1)
    known = [Clock(f"clock {nth}", error).template(each) for nth, each in enumerate(own)]
    index = np.array([rng.permutation(3) for _ in range(100)]).T
    index[2, ::3] = -1
    times_us = rng.integers(-SECOND, SECOND, index.shape)
    for travel in (None, Window(0.8)):
        whole = one_source_density([*map(whole_of, known)], index, times_us, travel)
        assert one_source_density(known, index, times_us, travel).tolist() == whole.tolist()
        assert np.count_nonzero(whole) > 50


def test_a_clock_without_an_error_leaves_the_own_errors() -> None:
    own = [Histogram.normal(0.5), Histogram([-1, 0, 0, 2], [0.5, 0.25, 0.25]), Histogram.uniform(-1, 1)]
    right = Clock("right", Histogram.point())
    members = [right.template(own[0]), right.template(own[1]), own[2]]
    times_us = [0, 200_000, -300_000]
    assert density(members, times_us) == pytest.approx(density(own, times_us), rel=1e-6)


def test_a_clock_that_all_are_on_cancels() -> None:
    own, times_us = [Histogram.normal(0.5), Histogram.uniform(-1, 2), Histogram.point()], [0, 500_000, -400_000]
    for error in (HALF_A_MINUTE, Histogram.normal(1), Histogram([0, 0, 5, 5], [0.25, 0.5, 0.25])):
        clock = Clock("gw-7", error)
        assert density([clock.template(each) for each in own], times_us) == density(own, times_us)


def test_many_matches_are_the_same_as_one_by_one() -> None:
    rng = np.random.default_rng(3)
    known = [*(Clock(f"{nth % 2}", Histogram.normal(1)).template(Histogram.normal(0.3)) for nth in range(4)), OWN]
    index = np.array([rng.permutation(5)[:4] for _ in range(60)]).T
    index[3, ::3] = -1
    times_us = rng.integers(-SECOND, SECOND, index.shape)
    found = one_source_density(known, index, times_us)
    for column, own in enumerate(index.T):
        here = np.flatnonzero(own >= 0)[::-1]  # nor does the order of members matter
        alone = density([known[each] for each in own[here]], times_us[here, column].tolist())
        assert found[column] == pytest.approx(alone, rel=1e-9)
    assert np.count_nonzero(found) > 20


@pytest.mark.parametrize("members", [[SEVEN, SEVEN], [SEVEN, SEVEN, OWN], [SEVEN, SEVEN, EIGHT]])
def test_a_short_travel_is_nearly_one_moment(members: list[Histogram]) -> None:
    times_us = [0, 30_000, 4 * SECOND][: len(members)]
    assert density(members, times_us, Window(1e-3)) == pytest.approx(density(members, times_us), rel=1e-3)


def test_what_has_too_many_steps_is_evened_out_and_keeps_its_area() -> None:
    fine = StepFunction.of(Histogram.normal(0.5, 1000))
    coarse = fine.in_fewer(MOST_STEPS)
    assert len(coarse.height) == MOST_STEPS
    assert coarse.area_before(coarse.edges_s) == pytest.approx(fine.area_before(coarse.edges_s))
    moved = [MovedByError(each, Histogram.normal(1, 1000)) for each in (fine, StepFunction.of(Histogram.normal(0.5)))]
    assert max(len(each.bends_s) for each in moved) < 10_000
    both, few = (
        [Clock("gw", Histogram.normal(1, count)).template(Histogram.normal(0.5, count), whole=HALF_A_MINUTE)] * 2
        for count in (1000, 64)
    )
    times_us = [0, 300_000, 2 * SECOND]
    assert density([*both, OWN], times_us) == pytest.approx(density([*few, OWN], times_us), rel=5e-3)


NETWORK = Network.of_noise(["mic-1", "mic-2", "mic-3"], 1 / 3_600, 0.8, 1 / 600)


def test_a_shared_clock_is_a_term_with_its_sentence() -> None:
    found = evidence_of(NETWORK, [SEVEN, SEVEN, OWN], [0, 30_000, 12 * SECOND])
    assert [each.kind for each in found.terms] == ["events", "member", "member", "member", "times", "clock"]
    *_, times, clock = found.terms
    assert clock.sentence == "mic-1 and mic-2 share the clock gw-7, which may be off by 30 s."
    assert times.sentence.endswith("per second squared, were no clock shared.")
    whole = [*map(whole_of, [SEVEN, SEVEN, OWN])]
    alone = evidence_of(NETWORK, whole, [0, 30_000, 12 * SECOND])
    assert times.bits == pytest.approx(alone.terms[-1].bits)
    assert clock.bits == pytest.approx(np.log2(7 / 60) - times.bits)
    assert clock.bits > 8
    assert found.bits == pytest.approx(sum(each.bits for each in found.terms))
    assert found.bits == pytest.approx((alone.bits or 0) + clock.bits)


def test_reports_of_one_gateway_at_different_times_are_of_no_one_event() -> None:
    found = evidence_of(NETWORK, [SEVEN, SEVEN], [0, 20 * SECOND])
    assert (found.bits, found.posterior) == (-np.inf, 0.0)
    assert "clock" not in [each.kind for each in found.terms]


def test_each_clock_that_is_shared_is_named() -> None:
    network = Network.of_noise(list("abcde"), 1 / 3_600, 0.8, 1 / 600)
    found = evidence_of(network, [SEVEN, EIGHT, SEVEN, SEVEN, EIGHT], [0, 0, 10_000, 0, 10_000], travel=Window(0.5))
    [sentence] = [each.sentence for each in found.terms if each.kind == "clock"]
    assert sentence == (
        "a, c and d share the clock gw-7, which may be off by 30 s; "
        "b and e share the clock gw-8, which may be off by 30 s."
    )

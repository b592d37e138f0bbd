from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coincide import ConstraintGraph, Histogram, Window, joint_probabilities
from coincide.clocks import Clock
from coincide.probability import joint_at_least
from tests.examples import examples
from tests.reference import shared_clocks
from tests.reference.joint_tuples import ROUNDING, SECOND, graphs, small_templates

GATEWAY, OWN = Histogram.uniform(-30, 30), Histogram.uniform(-0.05, 0.05)


def on_clocks(own: list[Histogram], clocks: list[int], errors: list[Histogram]) -> list[Histogram]:
    """Return templates; what is -1 is on no clock."""
    made = [Clock(f"clock {number}", error) for number, error in enumerate(errors)]
    return [each if clock < 0 else made[clock].template(each) for each, clock in zip(own, clocks, strict=True)]


def joint(graph: ConstraintGraph, own: list[Histogram], at_us: Any, clocks: list[int], errors: list[Histogram]) -> Any:
    """One tuple."""
    index = np.zeros((len(own), 1), dtype=int)
    templates = [[each] for each in on_clocks(own, clocks, errors)]
    return joint_probabilities(graph, templates, index, np.array(at_us)[:, None])


@settings(max_examples=examples(40), deadline=None)
@given(st.data(), st.integers(3, 4))
def test_one_clock_of_two_members_or_more_is_exact(data: st.DataObject, members: int) -> None:
    graph = data.draw(graphs(members, 2 if members == 3 else 1))
    own = [data.draw(small_templates()) for _ in range(members)]
    at_us = [data.draw(st.integers(-1, 1)) * SECOND for _ in range(members)]
    clocks = data.draw(st.sampled_from([[0, 0], [-1, 0], [0, -1]])) + [0, -1][: members - 2]
    assume(clocks.count(0) >= 2)
    errors = [data.draw(small_templates())]
    found = joint(graph, own, at_us, clocks, errors)
    exact = shared_clocks.joint_on_clocks(graph, own, at_us, clocks, errors)
    assert found.lower[0] - ROUNDING <= exact <= found.upper[0] + ROUNDING
    assert abs(found.value[0] - exact) <= ROUNDING + (found.upper[0] - found.lower[0])


@settings(max_examples=examples(15), deadline=None)
@given(graphs(4, 1), st.lists(small_templates(), min_size=6, max_size=6))
def test_two_clocks_of_all_members_are_exact(graph: ConstraintGraph, drawn: list[Histogram]) -> None:
    *own, one, other = drawn
    found = joint(graph, own, [0] * 4, [0, 1, 1, 0], [one, other])
    exact = shared_clocks.joint_on_clocks(graph, own, [0] * 4, [0, 1, 1, 0], [one, other])
    assert abs(found.value[0] - exact) <= ROUNDING + (found.upper[0] - found.lower[0])
    assert found.upper[0] - found.lower[0] <= 1e-3


def test_the_twin_steps_over_no_bend_of_two_clocks() -> None:
    """Two clocks, each anywhere in a second, and exact reports: b after a is one half, and c between them a sixth."""
    second, point = Histogram.uniform(0, 1), Histogram.point()
    after = ConstraintGraph.binary("a", "b", Window(lo_s=0, hi_s=1))
    assert shared_clocks.joint_on_clocks(after, [point] * 2, [0, 0], [0, 1], [second] * 2) == Fraction(1, 2)
    path = ConstraintGraph.path("acb", Window(lo_s=0, hi_s=1))
    assert shared_clocks.joint_on_clocks(path, [point, second, point], [0] * 3, [0, -1, 1], [second] * 2) == Fraction(
        1, 6
    )


@pytest.mark.parametrize("window_s", [0.3, 0.8, 10.1])
def test_an_end_of_a_window_that_no_float_is(window_s: float) -> None:
    path = ConstraintGraph.path("abc", Window(window_s))
    found = joint(path, [OWN] * 3, [0, 0, 12 * SECOND], [0, 0, -1], [GATEWAY])
    assert found.value[0] == pytest.approx(2 * window_s / 60, abs=1e-12)


def test_what_all_members_share_cancels() -> None:
    graph = ConstraintGraph.binary("a", "b", Window(1))
    for apart_us, probability in ((300_000, 1.0), (20_000_000, 0.0)):
        assert joint(graph, [OWN, OWN], [0, apart_us], [0, 0], [GATEWAY]).value.tolist() == [probability]
    own = [Histogram.normal(0.3, 8)] * 3
    clique = ConstraintGraph.clique("abc", Window(1))
    on_one, plain = joint(clique, own, [0, 1, 2], [0, 0, 0], [GATEWAY]), joint(clique, own, [0, 1, 2], [-1] * 3, [])
    assert on_one.value.tobytes() == plain.value.tobytes()


def test_who_shares_no_clock_has_the_answer_of_the_whole_errors_bit_for_bit() -> None:
    rng = np.random.default_rng(5)
    graph = ConstraintGraph.clique("abc", Window(1))
    clocked = [[Clock(role, GATEWAY).template(OWN), Histogram.normal(1, 8)] for role in "abc"]
    whole = [[Histogram(each.edges_s, each.mass) for each in side] for side in clocked]
    index, at_us = rng.integers(0, 2, (3, 50)), rng.integers(-SECOND, SECOND, (3, 50))
    found, plain = (joint_probabilities(graph, side, index, at_us) for side in (clocked, whole))
    assert found.value.tobytes() == plain.value.tobytes()
    assert found.lower.tobytes() == plain.lower.tobytes()


@settings(max_examples=examples(30), deadline=None)
@given(st.data(), st.floats(0.05, 0.95))
def test_verdicts_are_those_of_the_probabilities(data: st.DataObject, threshold: float) -> None:
    graph = data.draw(graphs(3, 1))
    own = [[data.draw(small_templates()) for _ in range(2)] for _ in range(3)]
    clock = Clock("one", data.draw(small_templates()))
    templates = [[clock.template(one), other] for one, other in own]
    index = np.array(np.meshgrid(*[[0, 1]] * 3)).reshape(3, -1)
    at_us = np.zeros_like(index)
    found = joint_probabilities(graph, templates, index, at_us)
    verdicts = joint_at_least(graph, templates, index, at_us, threshold)
    clear = np.abs(found.value - threshold) > 1e-3
    assert (verdicts == (found.value >= threshold))[clear].all()


def test_intervals_of_more_clocks_hold_what_chance_does() -> None:
    rng, count = np.random.default_rng(7), 400_000
    graph = ConstraintGraph.clique("abcde", Window(2))
    own = [Histogram.uniform(-at, at) for at in (0.5, 1, 0.05, 0.5, 2)]  # more buckets take ten times as long
    errors, clocks = [Histogram.normal(1, 16), Histogram.uniform(-2, 2)], [0, 0, 1, 1, -1]
    found = joint(graph, own, [0, 300_000, 0, 500_000, 0], clocks, errors)
    offsets = [error.quantile(rng.random(count)) for error in errors]
    at_s = [0, 0.3, 0, 0.5, 0]
    times = np.array(
        [
            at + each.quantile(rng.random(count)) + (offsets[clock] if clock >= 0 else 0)
            for at, each, clock in zip(at_s, own, clocks, strict=True)
        ]
    )
    share = (np.ptp(times, axis=0) <= 2).mean()
    assert found.lower[0] < share < found.upper[0]
    assert found.value[0] == pytest.approx(share, abs=5 * (share / count) ** 0.5)

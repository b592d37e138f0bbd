from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import joint_probabilities
from coincide.probability import joint_at_least
from coincide.probability.joint.member_links import Links
from tests.reference.joint_tuples import (
    CLIQUES,
    ROUNDING,
    Tuple,
    random_templates,
    tuples,
)


@settings(max_examples=25, deadline=None)
@given(tuples(), st.sampled_from([1.0, 0.5, 0.25, 0.125, 1e-3, 1e-9]))
def test_the_verdict_is_that_of_the_probability(one: Tuple, threshold: float) -> None:
    [verdict] = joint_at_least(one.graph, *one.columns, threshold).tolist()
    exact = one.exact()
    allowed = 1e-3 if len(next(Links.of(one.graph).cycle_breakers())) > 1 else ROUNDING
    assert verdict or exact < threshold + allowed
    assert not verdict or exact >= threshold - allowed


def test_verdicts_on_many_are_those_of_their_probabilities() -> None:
    rng = np.random.default_rng(4)
    graph, n = CLIQUES[4], 40
    sides = [random_templates(rng, 5, 3) for _ in range(4)]
    index, at_us = rng.integers(5, size=(4, n)), rng.integers(-1_500_000, 1_500_000, (4, n))
    joint = joint_probabilities(graph, sides, index, at_us)
    verdict = joint_at_least(graph, sides, index, at_us, 0.3)
    assert 5 < verdict.sum() < n - 5
    assert (joint.upper[verdict] >= 0.3).all()
    assert (joint.lower[~verdict] < 0.3).all()

from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram, Network
from coincide.errors import CoincideError, DetectionsError
from coincide.evidence import Parts, SetPosteriors, evidence_of_sets, shared_out
from tests.examples import examples
from tests.reference.event_networks import Simulation, tenths
from tests.reference.evidence import shares

CLOCK = Histogram.uniform(-1, 1)
NAMES = ["a", "b", "c", "d"]
SENSOR = [0, 1, 2, 3, 0, 1, 2, 3]

# sets of detections 0 to 7, of which two belong to each sensor; row i has those of sensor i
sets_of = st.lists(
    st.tuples(*(st.sampled_from([own, own + 4, -1]) for own in range(4))).filter(
        lambda each: sum(one >= 0 for one in each) >= 2
    ),
    min_size=1,
    max_size=3,
    unique=True,
)


def members_of(sets: list[tuple[int, ...]]) -> Any:
    return np.array(sets).T


def parts_of(members: tuple[int, ...]) -> set[frozenset[int]]:
    there = [each for each in members if each >= 0]
    return {frozenset(part) for size in range(2, len(there) + 1) for part in combinations(there, size)}


def listed(parts: Parts) -> list[frozenset[int]]:
    return [frozenset(own[own >= 0].tolist()) for own in parts.members.T]


@given(sets_of)
def test_parts_are_all_choices_of_two_and_more(sets: list[tuple[int, ...]]) -> None:
    parts = Parts.of(members_of(sets))
    found = listed(parts)
    assert len(found) == len(set(found))
    assert set(found) == set().union(*map(parts_of, sets))
    for number, own in enumerate(sets):
        assert found[parts.whole[number]] == frozenset(own) - {-1}
    for row, own_row in enumerate(parts.members):
        assert set((own_row[own_row >= 0] % 4).tolist()) <= {row}


@settings(max_examples=examples(20))
@given(sets_of, st.lists(st.integers(-900_000, 900_000), min_size=8, max_size=8))
def test_who_belongs_is_the_sum_over_all_ways(sets: list[tuple[int, ...]], times_us: list[int]) -> None:
    network = Network(NAMES, 0.05, [0.5, 0.6, 0.7, 0.8], [0.1, 0.2, 0.3, 0.4])
    members = members_of(sets)
    found = evidence_of_sets(network, [CLOCK], [0] * 8, times_us, SENSOR, members)
    parts = listed(found.parts)
    if len(parts) > 11:  # there are too many ways to list
        return
    exact = shares(parts, [Fraction(2.0**each) for each in found.evidence.bits.tolist()])
    lower, upper = found.belongs()
    for (row, number), member in np.ndenumerate(members):
        own = [
            share
            for part, share in zip(parts, exact, strict=True)
            if member in part and len((part & set(sets[number])) - {-1}) >= 2
        ]
        assert lower[row, number] == pytest.approx(float(sum(own)), abs=1e-9)
        assert upper[row, number] == pytest.approx(float(sum(own)), abs=1e-9)
    for least in (2, 3, 4):
        several = [
            sum(share for part, share in zip(parts, exact, strict=True) if len(part & set(own) - {-1}) >= least)
            for own in sets
        ]
        np.testing.assert_allclose(found.one_event(least), [np.minimum(np.array(several, float), 1)] * 2, atol=1e-9)
    assert (found.bits == found.evidence.bits[found.parts.whole]).all()


def test_pairs_are_sets_without_other_parts() -> None:
    network = Network(NAMES, 0.05, 0.5, 0.1)
    members = np.array([[0, 0], [1, 5]])
    found = evidence_of_sets(network, [CLOCK], [0] * 8, [each * 100_000 for each in range(8)], SENSOR, members)
    assert (found.shared.lower == shared_out(members, found.bits).lower).all()
    assert (found.one_event()[0] == found.shared.lower).all()


def test_a_pair_and_a_stranger_are_told_from_one_event() -> None:
    found, threes, is_partner = judged_threes(0.01, 300_000)
    said = found.belongs()[0][:, threes]
    pair_and_stranger = np.flatnonzero(is_partner.sum(axis=0) == 2)
    assert len(pair_and_stranger) > 200
    partners, strangers = (said[:, pair_and_stranger][each[:, pair_and_stranger]] for each in (is_partner, ~is_partner))
    assert partners.mean() > 0.85
    assert strangers.mean() < 0.45
    whole = found.shared.lower[found.parts.whole[threes]]
    assert whole[is_partner.all(axis=0)].mean() > whole[pair_and_stranger].mean() + 0.5


@pytest.mark.parametrize("noise_hz", [0.01, 0.05])
def test_the_probability_that_a_member_belongs_is_the_share_of_those_that_do(noise_hz: float) -> None:
    found, threes, is_partner = judged_threes(noise_hz, 100_000)
    bins = tenths(found.belongs()[0][:, threes].ravel(), is_partner.ravel(), least=30)
    assert len(bins) > 3
    assert all(each.gap < 4 * np.sqrt(each.said * (1 - each.said) / each.cases) + 0.03 for each in bins)


def judged_threes(noise_hz: float, lasts_s: float) -> tuple[SetPosteriors, Any, Any]:
    """Judge three noisy sensors; return which sets have three members, and which of these are of one event."""
    simulation = Simulation("noisy", 3, 0.01, 0.7, noise_hz, lasts_s, Histogram.normal(0.3, 16))
    log = simulation.log(np.random.default_rng(7))
    found = simulation.judged(log)
    threes = np.flatnonzero((found.parts.sets >= 0).all(axis=0))
    events = log.event[found.parts.sets[:, threes]]
    is_partner = np.zeros(events.shape, bool)
    for one, other in combinations(range(3), 2):
        both = (events[one] == events[other]) & (events[one] >= 0)
        is_partner[one] |= both
        is_partner[other] |= both
    return found, threes, is_partner


POINTS: Any = ([CLOCK], [0, 0], [0, 0], [0, 1])


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((*POINTS, [[0], [2]]), "members"),
        ((*POINTS, [[0], [-1]]), "members"),
        ((*POINTS, [[0], [0]]), "members"),
        (([CLOCK], [0, 0], [0, 0], [0], [[0], [1]]), "sensor"),
        (([CLOCK], [0, 0.5], [0, 0], [0, 1], [[0], [1]]), "template_index"),
    ],
)
def test_what_cannot_be_used_is_refused(arguments: Any, field: str) -> None:
    with pytest.raises(CoincideError) as refusal:
        evidence_of_sets(Network(["a", "b"], 0.1, 0.5, 0.1), *arguments)
    assert refusal.value.field == field


def test_a_set_of_too_many_is_refused() -> None:
    with pytest.raises(DetectionsError, match="sets of 2 to 10 members"):
        Parts.of(np.arange(11)[:, None])

from fractions import Fraction
from math import log2

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide.errors import CoincideError, DetectionsError, RateError
from coincide.evidence import posterior_of, shared_out
from coincide.evidence.shares import groups_of
from tests.examples import examples
from tests.reference.evidence import shares

NOBODY = -1


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[list[int]], list[Fraction]]:
    """Up to nine matches of two to four of ten detections, often the same ones, and their weights."""
    match = st.lists(st.integers(0, 9), min_size=2, max_size=4, unique=True)
    matches = draw(st.lists(match, min_size=1, max_size=9))
    weight = st.fractions(min_value=Fraction(1, 50), max_value=50, max_denominator=50)
    return matches, [draw(weight) for _ in matches]


def in_rows(matches: list[list[int]]) -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    return np.array([[*each, *[NOBODY] * (4 - len(each))] for each in matches]).T


def bits_of(weights: list[Fraction]) -> list[float]:
    return [log2(each) for each in weights]


@settings(max_examples=examples(300))
@given(cases())
def test_it_equals_the_sum_over_all_ways(case: tuple[list[list[int]], list[Fraction]]) -> None:
    matches, weights = case
    exact = [float(each) for each in shares([frozenset(each) for each in matches], weights)]
    found = shared_out(in_rows(matches), bits_of(weights))
    np.testing.assert_allclose(found.value, exact, rtol=1e-10)
    assert found.is_exact.all()


@settings(max_examples=examples(200))
@given(cases())
def test_the_interval_of_too_much_work_has_the_exact_share(case: tuple[list[list[int]], list[Fraction]]) -> None:
    matches, weights = case
    exact = shares([frozenset(each) for each in matches], weights)
    found = shared_out(in_rows(matches), bits_of(weights), most_work=1)
    assert (found.lower <= [float(each) + 1e-12 for each in exact]).all()
    assert (found.upper >= [float(each) - 1e-12 for each in exact]).all()
    assert ((found.lower >= 0) & (found.upper <= 1)).all()


@given(cases(), st.integers(0, 99))
def test_the_order_of_matches_and_of_members_changes_no_bit(
    case: tuple[list[list[int]], list[Fraction]], seed: int
) -> None:
    matches, weights = case
    rng = np.random.default_rng(seed)
    members, bits = in_rows(matches), np.array(bits_of(weights))
    order = rng.permutation(len(bits))
    for most_work in (1, 10**6):
        before = shared_out(members, bits, most_work=most_work)
        after = shared_out(rng.permuted(members[:, order], axis=0), bits[order], most_work=most_work)
        assert (after.lower == before.lower[order]).all()
        assert (after.upper == before.upper[order]).all()


def test_a_crowd_in_which_everything_hangs_together() -> None:
    rng = np.random.default_rng(0)
    first = np.arange(0, 1_000, 2)
    members = np.concatenate([np.stack((first, np.maximum(first + step, 1))) for step in (-3, -1, 1, 3)], axis=1)
    members[1] %= 1_000
    found = shared_out(members, rng.normal(0, 3, members.shape[1]))
    assert found.group.max() == 0
    assert found.is_exact.all()
    belongs = np.bincount(members.ravel(), weights=np.tile(found.value, 2))
    assert belongs.max() <= 1 + 1e-9
    rough = shared_out(members, rng.normal(0, 3, members.shape[1]), most_work=1_000)
    assert not rough.is_exact.all()
    assert (rough.lower <= rough.upper).all()


def test_bits_that_no_float_can_hold_as_weights() -> None:
    found = shared_out([[0, 1, 2], [1, 2, 3]], [5_000.0, 5_001.0, 0.0])
    assert found.value.tolist() == pytest.approx([0.5, 0.5, 0.25])
    in_a_row = shared_out([[0, 1, 2], [1, 2, 3]], [3_000.0, 5_000.0, 3_000.0])
    assert in_a_row.value.tolist() == pytest.approx([1, 0, 1])  # two of 3,000 outweigh one of 5,000


def test_what_no_event_explains_is_no_event_and_takes_nobody_away() -> None:
    for most_work in (1, 1_000):
        found = shared_out([[0, 0], [1, 2]], [-np.inf, 2.0], most_work=most_work)
        assert found.value.tolist() == pytest.approx([0, 0.8], abs=1e-4)


def test_what_is_not_known_makes_its_group_unknown_and_no_other() -> None:
    found = shared_out([[0, 0, 5], [1, 2, 6]], [np.nan, 2.0, 0.0])
    assert np.isnan(found.value).tolist() == [True, True, False]
    assert found.value[2] == 0.5


def test_matches_that_share_nothing_have_their_own_posterior() -> None:
    bits = np.array([-3.0, 0.0, 12.0])
    found = shared_out([[0, 2, 4], [1, 3, 5]], bits)
    assert (found.value == posterior_of(bits)).all()
    assert found.group.tolist() == [0, 1, 2]
    assert len(shared_out(np.empty((2, 0), int), [])) == 0


@given(cases())
def test_groups_are_the_connected_components(case: tuple[list[list[int]], list[Fraction]]) -> None:
    matches, _ = case
    group = groups_of(in_rows(matches))
    components: list[set[int]] = []
    for each in matches:
        touched = [other for other in components if other & set(each)]
        components = [other for other in components if other not in touched] + [set(each).union(*touched)]
    expected = [min(next(each for each in components if match[0] in each)) for match in matches]
    assert group.tolist() == np.unique(expected, return_inverse=True)[1].tolist()


@pytest.mark.parametrize(
    ("members", "bits", "work", "error", "field"),
    [
        ([0, 1], [0.0], 1, DetectionsError, "members"),
        ([[0], [0.5]], [0.0], 1, DetectionsError, "members"),
        ([[0], [-2]], [0.0], 1, DetectionsError, "members"),
        ([[-1], [-1]], [0.0], 1, DetectionsError, "members"),
        ([[3], [3]], [0.0], 1, DetectionsError, "members"),
        ([[0], [1]], [0.0, 1.0], 1, RateError, "bits"),
        ([[0], [1]], [np.inf], 1, RateError, "bits"),
        ([[0], [1]], [0.0], 0, RateError, "most_work"),
    ],
)
def test_what_cannot_be_shared_out_is_refused(
    members: list[list[int]], bits: list[float], work: int, error: type[CoincideError], field: str
) -> None:
    with pytest.raises(error) as refusal:
        shared_out(members, bits, most_work=work)
    assert refusal.value.field == field

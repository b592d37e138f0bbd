from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest

from coincide import ConstraintGraph, Histogram, Window, joint_probabilities
from coincide.constraints.graph import induced
from coincide.errors import OffsetError, ThresholdError
from coincide.probability import joint_at_least, match_probabilities
from tests.reference.counted_cells import graph_probability
from tests.reference.joint_tuples import FORMS, ROUNDING, SECOND, Tuple, random_templates, simulated


def test_the_first_neutrinos_of_sn1987a() -> None:
    # IMB's clock is right to 50 ms, Baksan's and Kamiokande's to a minute. Baksan within 10 s of IMB: 20/56; given
    # that, Kamiokande within 10 s of both: on average 15 s of its 120 are left: 20/56 * 15/120 = 5/112
    clocks = [[Histogram.uniform(-0.05, 0.05)], [Histogram.uniform(-54, 2)], [Histogram.uniform(-60, 60)]]
    times_us = [[41_374_000], [71_818_000], [35_000_000]]
    graph = ConstraintGraph.clique(["imb", "baksan", "kamiokande"], Window(10))
    joint = joint_probabilities(graph, clocks, [[0], [0], [0]], times_us)
    assert joint.value[0] == pytest.approx(5 / 112, abs=1e-14)
    assert joint_at_least(graph, clocks, [[0], [0], [0]], times_us, 5 / 112).tolist() == [True]
    assert joint_at_least(graph, clocks, [[0], [0], [0]], times_us, 5 / 112 + 1e-11).tolist() == [False]
    # two of three: Baksan and Kamiokande alone, Kamiokande at home 20 s of 120
    two = induced(graph, {"baksan", "kamiokande"})
    pair = joint_probabilities(two, clocks[1:], [[0], [0]], times_us[1:])
    assert pair.value[0] == pytest.approx(20 / 120, abs=1e-14)


def test_a_path_through_an_exact_time_is_a_product() -> None:
    # b at 0; a within 1 s of it: 1/2 of [-2, 2]; c up to 3 s later: 3/5 of [0, 5]
    graph = ConstraintGraph.path("abc", [Window(1), Window(lo_s=0, hi_s=3)])
    own = [Histogram.uniform(-2, 2), Histogram.point(), Histogram.uniform(0, 5)]
    assert Tuple(graph, own, [0, 0, 0]).joint() == pytest.approx((0.3, 0.3, 0.3), abs=1e-15)


def test_a_path_of_three_by_hand() -> None:
    # all uniform on [0, 1], each within 1/2 of the middle one at t: (1/2 + t)^2 up to t = 1/2, mirrored after it:
    # 2 (1 - 1/8) / 3 = 7/12
    graph, unit = ConstraintGraph.path("abc", Window(0.5)), Histogram.uniform(0, 1)
    assert Tuple(graph, [unit] * 3, [0, 0, 0]).joint()[1] == pytest.approx(7 / 12, abs=1e-15)


def test_touching_ends_of_decimal_windows_are_inside() -> None:
    # 0.1 + 0.2 is no float: a at 0, b at 0.1 s, c at 0.3 s, windows that end right there
    point = [[Histogram.point()]]
    times_us, index = [[0], [100_000], [300_000]], np.zeros((3, 1), dtype=np.int64)
    windows = {("a", "b"): Window(0.1), ("b", "c"): Window(0.2), ("a", "c"): Window(lo_s=0.3, hi_s=0.4)}
    for graph in (ConstraintGraph.clique("abc", windows), ConstraintGraph.path("abc", Window(0.2))):
        assert joint_probabilities(graph, point * 3, index, times_us).value.tolist() == [1.0]
    windows["a", "c"] = Window(lo_s=0.300001, hi_s=0.4)
    graph = ConstraintGraph.clique("abc", windows)
    assert joint_probabilities(graph, point * 3, index, times_us).value.tolist() == [0.0]


@pytest.mark.parametrize(
    "edges",
    [
        [("ab", -1, 1), ("bc", 0, 2)],
        [("ab", -1, 1), ("bc", 0, 2), ("db", -2, 0)],
        [("ab", -1, 1), ("bc", 0, 2), ("ac", -1, 2)],
        [("ab", -1, 1), ("bc", 0, 2), ("cd", -1, 1), ("da", -2, 2), ("bd", 0, 1)],
        [("ab", -1, 1), ("bc", 0, 2), ("ac", -1, 2), ("ad", 0, 2), ("bd", -2, 2), ("cd", -1, 1)],
    ],
)
def test_microseconds_a_day_away_lose_nothing(edges: list[tuple[str, int, int]]) -> None:
    # a grid of 2^-19 s, about 1.9 us, in floats without rounding, 10^5 s from the reported times
    unit = Fraction(1, 2**19)
    windows = [(on[0], on[1], Window(lo_s=lo * float(unit), hi_s=hi * float(unit))) for on, lo, hi in edges]
    graph = ConstraintGraph.graph(windows)
    shapes = [[0, 1, 3], [1, 1, 2], [0, 2, 3], [0, 3, 3]]
    own = [
        Histogram([100_000 + at + float(n * unit) for n in shape], [0.25, 0.75])
        for at, shape in zip((0, 7, -5, 900), shapes, strict=True)
    ][: len(graph.roles)]
    times_us = [0, -7 * SECOND, 5 * SECOND, -900 * SECOND][: len(graph.roles)]
    index = np.zeros((len(own), 1), dtype=int)
    joint = joint_probabilities(graph, [[each] for each in own], index, np.array(times_us)[:, None])
    exact = graph_probability(graph, own, times_us)
    assert joint.lower[0] - ROUNDING <= exact <= joint.upper[0] + ROUNDING
    assert 0.03 < exact < 0.95


def test_microseconds_beside_hours() -> None:
    # b is somewhere in 2 us, a and c in 2 hours: as if b were exact, to the length of b over that of a
    short, long = Histogram.uniform(0.1, 0.100002), Histogram.uniform(-3600, 3600)
    graph = ConstraintGraph.graph([("a", "b", Window(60)), ("b", "c", Window(600)), ("a", "c", Window(900))])
    expected = 120 / 7200 * 1200 / 7200  # c within 600 s of b is within 900 s of whoever is within 60 s of b
    joint = joint_probabilities(graph, [[long], [short], [long]], np.zeros((3, 1), dtype=int), np.zeros((3, 1), int))
    assert joint.value[0] == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("graph", FORMS, ids=lambda graph: f"{graph.form}-{len(graph.roles)}-{len(graph.edges)}")
def test_it_is_the_share_of_simulated_tuples(graph: ConstraintGraph) -> None:
    k = len(graph.roles)
    own = random_templates(np.random.default_rng(k), k, 4)
    at_us = np.random.default_rng(5).integers(-400_000, 400_000, (k, 1))
    joint = joint_probabilities(graph, [[each] for each in own], np.zeros((k, 1), dtype=int), at_us)
    share, error = simulated(graph, own, (at_us[:, 0] / 1e6).tolist(), 400_000)
    assert joint.lower[0] - 4 * error <= share <= joint.upper[0] + 4 * error
    assert 0.004 < share < 0.9


def test_four_in_order_are_one_order_of_24() -> None:
    unit, after = Histogram.uniform(0, 1), Window(lo_s=0, hi_s=1e9)
    pairs = list(combinations("abcd", 2))
    graph = ConstraintGraph.clique("abcd", dict.fromkeys(pairs, after))
    assert Tuple(graph, [unit] * 4, [0] * 4).joint() == pytest.approx((1 / 24,) * 3, abs=1e-15)
    # windows that end besides: d is at most 1/2 after a, so all within it: 24 orders of 4 / 2^4 - 3 / 2^4
    within = {**dict.fromkeys(pairs, after), ("a", "d"): Window(lo_s=0, hi_s=0.5)}
    within_half = Tuple(ConstraintGraph.clique("abcd", within), [unit] * 4, [0] * 4).joint()
    assert within_half == pytest.approx(((4 / 8 - 3 / 16) / 24,) * 3, abs=1e-15)


def test_windows_without_end_are_an_order() -> None:
    # three alike are in one order of six; c no more than 1/2 after a: half the range of three is below 1/2
    unit = Histogram.uniform(0, 1)
    edges = [("a", "b", Window.delay(0)), ("b", "c", Window.delay(0)), ("a", "c", Window.deadline(0.5))]
    assert Tuple(ConstraintGraph.graph(edges[:2]), [unit] * 3, [0] * 3).joint()[1] == pytest.approx(1 / 6, abs=1e-14)
    assert Tuple(ConstraintGraph.graph(edges), [unit] * 3, [0] * 3).joint()[1] == pytest.approx(1 / 12, abs=1e-14)


def test_two_members_are_a_pair() -> None:
    us = random_templates(np.random.default_rng(6), 6, 5)
    index, at_us = np.arange(6)[None] * [[1], [5]] % 6, np.arange(12).reshape(2, 6) * [[150_000], [-90_000]]
    window = Window(lo_s=-1.5, hi_s=0.75)
    joint = joint_probabilities(ConstraintGraph.binary("a", "b", window), [us, us], index, at_us)
    pairs = match_probabilities(us, us, index[0], index[1], at_us[1] - at_us[0], window)
    assert joint.value == pytest.approx(pairs, abs=1e-14)


def test_no_tuples_have_no_probabilities() -> None:
    for graph in FORMS:
        k = len(graph.roles)
        nothing = np.empty((k, 0), dtype=np.int64)
        assert len(joint_probabilities(graph, [[Histogram.point()]] * k, nothing, nothing)) == 0
        assert len(joint_at_least(graph, [[]] * k, nothing, nothing, 0.5)) == 0


def test_what_names_no_tuples_is_refused() -> None:
    graph, point = ConstraintGraph.path("abc", Window(1)), [[Histogram.point()]] * 3
    zeros = np.zeros((3, 1), dtype=np.int64)
    for templates, index, at_us, message in [
        (point[:2], zeros, zeros, "one for each of 3 streams"),
        (point, zeros[:2], zeros, r"of shape \(3, n\)"),
        (point, zeros, zeros[:, 0], r"of shape \(3, n\)"),
        (point, zeros, np.zeros((3, 2), dtype=np.int64), "of the shape of template_index"),
        (point, zeros + 0.5, zeros, "whole numbers"),
        (point, zeros, zeros + 0.5, "whole numbers"),
        (point, np.array([[0], [-1], [0]]), zeros, "template_index is 'b'"),
        (point, zeros, np.array([[0], [0], [2**53]]), "less than 2"),
    ]:
        with pytest.raises(OffsetError, match=message):
            joint_probabilities(graph, templates, index, at_us)
    with pytest.raises(ThresholdError):
        joint_at_least(graph, point, zeros, zeros, 0.0)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import Histogram, OffsetError, ThresholdError, Window, match_probabilities, match_probability
from coincide.histogram import FloatArray
from coincide.window_join import ConstraintGraph
from coincide.window_join.induced import induced
from coincide.window_join.joint_cells import Cells
from coincide.window_join.joint_checks import checked_tuples
from coincide.window_join.joint_condition import Condition
from coincide.window_join.joint_estimate import Estimate
from coincide.window_join.joint_links import Links
from coincide.window_join.joint_plan import plan
from coincide.window_join.joint_probability import joint_at_least, joint_probabilities
from tests.reference import joint_probability as reference

ROUNDING = 1e-12
STREAMS = "abcdef"
SECOND = 10**6


@dataclass(frozen=True)
class Tuple:
    """One tuple, its times in seconds."""

    graph: ConstraintGraph
    templates: list[Histogram]
    at_s: list[int]

    @property
    def columns(self) -> tuple[list[list[Histogram]], Any, Any]:
        index = np.zeros((len(self.templates), 1), dtype=np.int64)
        return [[each] for each in self.templates], index, np.array(self.at_s)[:, None] * SECOND

    def joint(self) -> tuple[float, float, float]:
        found = joint_probabilities(self.graph, *self.columns)
        return float(found.lower[0]), float(found.value[0]), float(found.upper[0])

    def exact(self) -> Fraction:
        times_us = [at * SECOND for at in self.at_s]
        return reference.joint_probability(self.graph, self.templates, times_us, Fraction(1))

    def edge_probabilities(self) -> list[float]:
        place = self.graph.streams.index
        return [
            match_probability(
                self.templates[place(edge.a)],
                self.templates[place(edge.b)],
                self.at_s[place(edge.b)] - self.at_s[place(edge.a)],
                edge.window,
            )
            for edge in self.graph.edges
        ]


@st.composite
def small_templates(draw: st.DrawFn) -> Histogram:
    """At most three buckets on whole seconds, exact times and gaps among them, three seconds long at most."""
    lengths = draw(st.lists(st.integers(0, 2), min_size=1, max_size=3).filter(lambda each: sum(each) <= 3))
    weights = draw(st.lists(st.integers(0, 3), min_size=len(lengths), max_size=len(lengths)).filter(any))
    edges = np.cumsum([draw(st.integers(-2, 2)), *lengths])
    return Histogram(edges.astype(float), [w / sum(weights) for w in weights])


@st.composite
def graphs(draw: st.DrawFn, members: int, extra: int) -> ConstraintGraph:
    """A random tree and so many more edges, either way round; some times satisfy all windows."""
    pairs = [(draw(st.integers(0, i - 1)), i) for i in range(1, members)]
    others = [pair for pair in combinations(range(members), 2) if pair not in pairs]
    pairs += draw(st.permutations(others))[:extra]
    at_s = [draw(st.integers(0, 2)) for _ in range(members)]
    edges = []
    for pair in pairs:
        a, b = pair[:: draw(st.sampled_from([1, -1]))]
        early_s, late_s = draw(st.integers(0, 3)), draw(st.integers(0, 3))
        window = Window(lo_s=at_s[b] - at_s[a] - early_s, hi_s=at_s[b] - at_s[a] + late_s)
        edges.append((STREAMS[a], STREAMS[b], window))
    return ConstraintGraph.graph(edges, STREAMS[:members])


@st.composite
def tuples(draw: st.DrawFn, members: tuple[int, int] = (2, 4), extra: int = 3) -> Tuple:
    k = draw(st.integers(*members))
    graph = draw(graphs(k, draw(st.integers(0, extra))))
    own = [draw(small_templates()) for _ in range(k)]
    return Tuple(graph, own, [draw(st.integers(-1, 1)) for _ in range(k)])


def planned(one: Tuple, radius: float) -> tuple[object, Estimate]:
    """Estimate one tuple by the general plan, whatever its graph."""
    [block] = checked_tuples(one.graph, *one.columns).blocks()
    found = plan(Links.of(one.graph), block.shape, radius)
    return found, found.estimate(block.members())


def random_templates(rng: np.random.Generator, count: int, buckets: int) -> list[Histogram]:
    """About 4 s long; every third has a gap or an exact time."""
    found = []
    for number in range(count):
        edges = np.concatenate(([0.0], np.cumsum(rng.uniform(0.5, 1.5, buckets)))) * 4 / buckets - 2
        mass = rng.dirichlet(np.ones(buckets))
        if number % 3 == 2:
            edges[1] = edges[number % 2]
            mass[-2] *= number % 2
        found.append(Histogram(edges, mass / mass.sum()))
    return found


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
    found = joint_probabilities(two, clocks[1:], [[0], [0]], times_us[1:])
    assert found.value[0] == pytest.approx(20 / 120, abs=1e-14)


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


@settings(max_examples=80, deadline=None)
@given(tuples())
def test_it_equals_counting(one: Tuple) -> None:
    lower, value, upper = one.joint()
    exact = one.exact()
    assert lower - ROUNDING <= exact <= upper + ROUNDING
    assert 0.0 <= lower <= value <= upper <= 1.0
    assert upper - lower <= 1e-3 + ROUNDING
    if len(next(Links.of(one.graph).cycle_breakers())) < 2:
        assert abs(value - exact) < ROUNDING


@settings(max_examples=15, deadline=None)
@given(graphs(5, 1), st.lists(small_templates(), min_size=5, max_size=5))
def test_five_members_on_one_cycle_equal_counting(graph: ConstraintGraph, own: list[Histogram]) -> None:
    one = Tuple(graph, own, [0] * 5)
    assert abs(one.joint()[1] - one.exact()) < ROUNDING


@settings(max_examples=40, deadline=None)
@given(graphs(4, 3), st.lists(small_templates(), min_size=4, max_size=4), st.sampled_from([0.2, 1e-2, 1e-4]))
def test_cells_enclose_what_counting_finds(graph: ConstraintGraph, own: list[Histogram], radius: float) -> None:
    one = Tuple(graph, own, [0] * 4)
    chosen, found = planned(one, radius)
    assert isinstance(chosen, Cells | Condition)
    assert abs(found.value[0] - one.exact()) <= found.radius[0] + ROUNDING
    assert found.radius[0] <= radius


@settings(max_examples=40, deadline=None)
@given(st.lists(small_templates(), min_size=2, max_size=4), st.integers(0, 4), st.lists(st.integers(-2, 2), min_size=4))
def test_a_uniform_clique_by_the_general_way(own: list[Histogram], d: int, at_s: list[int]) -> None:
    one = Tuple(ConstraintGraph.clique(STREAMS[: len(own)], Window(d)), own, at_s[: len(own)])
    _, found = planned(one, 1e-3)
    _, exact, _ = one.joint()
    assert abs(found.value[0] - exact) <= found.radius[0] + ROUNDING
    if len(own) < 4:
        assert found.radius[0] == 0


@settings(max_examples=25, deadline=None)
@given(tuples(), st.randoms(use_true_random=False))
def test_the_order_of_streams_and_edges_does_not_matter(one: Tuple, random: Any) -> None:
    order = random.sample(range(len(one.templates)), len(one.templates))
    streams = [one.graph.streams[i] for i in order]
    edges = [(edge.b, edge.a, edge.window.swapped()) for edge in one.graph.edges]
    graph = ConstraintGraph.graph(random.sample(edges, len(edges)), streams)
    other = Tuple(graph, [one.templates[i] for i in order], [one.at_s[i] for i in order])
    here, there = one.joint(), other.joint()
    if here[0] == here[2]:
        assert there == pytest.approx(here, abs=ROUNDING)
    assert there[0] <= here[2] + ROUNDING  # two intervals around one number meet
    assert here[0] <= there[2] + ROUNDING


@settings(max_examples=25, deadline=None)
@given(tuples(), st.integers(-(2**50), 2**50))
def test_what_is_later_by_as_much_is_as_probable(one: Tuple, by_us: int) -> None:
    templates, index, times_us = one.columns
    assert joint_probabilities(one.graph, templates, index, times_us + by_us).value[0] == one.joint()[1]


@settings(max_examples=25, deadline=None)
@given(tuples())
def test_no_edge_is_less_probable_than_all(one: Tuple) -> None:
    assert one.joint()[2] <= min(one.edge_probabilities()) + ROUNDING


@settings(max_examples=25, deadline=None)
@given(tuples(extra=1), st.integers(0, 5), st.integers(0, 2), st.integers(0, 2))
def test_wider_windows_are_more_probable(one: Tuple, which: int, earlier: int, later: int) -> None:
    edges = [(edge.a, edge.b, edge.window) for edge in one.graph.edges]
    a, b, window = edges[which % len(edges)]
    edges[which % len(edges)] = (a, b, Window(lo_s=window.lo_s - earlier, hi_s=window.hi_s + later))
    wider = Tuple(ConstraintGraph.graph(edges, one.graph.streams), one.templates, one.at_s)
    assert one.joint()[1] <= wider.joint()[1] + ROUNDING


@settings(max_examples=25, deadline=None)
@given(tuples(), st.sampled_from([1.0, 0.5, 0.25, 0.125, 1e-3, 1e-9]))
def test_the_verdict_is_that_of_the_probability(one: Tuple, threshold: float) -> None:
    [verdict] = joint_at_least(one.graph, *one.columns, threshold).tolist()
    exact = one.exact()
    allowed = 1e-3 if len(next(Links.of(one.graph).cycle_breakers())) > 1 else ROUNDING
    assert verdict or exact < threshold + allowed
    assert not verdict or exact >= threshold - allowed


@settings(max_examples=20, deadline=None)
@given(graphs(5, 10), st.lists(st.integers(-3, 3), min_size=5, max_size=5))
def test_exact_times_are_judged_in_whole_microseconds(graph: ConstraintGraph, at_s: list[int]) -> None:
    apart = dict(zip(graph.streams, at_s, strict=True))
    holds = all(edge.window.lo_s <= apart[edge.b] - apart[edge.a] <= edge.window.hi_s for edge in graph.edges)
    assert Tuple(graph, [Histogram.point()] * 5, at_s).joint() == (holds, holds, holds)


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
        [("a", "b", -1, 1), ("b", "c", 0, 2)],
        [("a", "b", -1, 1), ("b", "c", 0, 2), ("d", "b", -2, 0)],
        [("a", "b", -1, 1), ("b", "c", 0, 2), ("a", "c", -1, 2)],
        [("a", "b", -1, 1), ("b", "c", 0, 2), ("c", "d", -1, 1), ("d", "a", -2, 2), ("b", "d", 0, 1)],
        [
            ("a", "b", -1, 1),
            ("b", "c", 0, 2),
            ("a", "c", -1, 2),
            ("a", "d", 0, 2),
            ("b", "d", -2, 2),
            ("c", "d", -1, 1),
        ],
    ],
)
def test_microseconds_a_day_away_lose_nothing(edges: list[tuple[str, str, int, int]]) -> None:
    # a grid of 2^-19 s, about 1.9 us, in floats without rounding, 10^5 s from the reported times
    unit = Fraction(1, 2**19)
    windows = [(a, b, Window(lo_s=lo * float(unit), hi_s=hi * float(unit))) for a, b, lo, hi in edges]
    graph = ConstraintGraph.graph(windows)
    shapes = [[0, 1, 3], [1, 1, 2], [0, 2, 3], [0, 3, 3]]
    own = [
        Histogram([100_000 + at + float(n * unit) for n in shape], [0.25, 0.75])
        for at, shape in zip((0, 7, -5, 900), shapes, strict=True)
    ][: len(graph.streams)]
    times_us = [0, -7 * SECOND, 5 * SECOND, -900 * SECOND][: len(graph.streams)]
    joint = joint_probabilities(
        graph, [[each] for each in own], np.zeros((len(own), 1), dtype=int), np.array(times_us)[:, None]
    )
    exact = reference.joint_probability(graph, own, times_us, unit)
    assert joint.lower[0] - ROUNDING <= exact <= joint.upper[0] + ROUNDING
    assert 0.03 < exact < 0.95


def test_microseconds_beside_hours() -> None:
    # b is somewhere in 2 us, a and c in 2 hours: as if b were exact, to the length of b over that of a
    short, long = Histogram.uniform(0.1, 0.100002), Histogram.uniform(-3600, 3600)
    graph = ConstraintGraph.graph([("a", "b", Window(60)), ("b", "c", Window(600)), ("a", "c", Window(900))])
    expected = 120 / 7200 * 1200 / 7200  # c within 600 s of b is within 900 s of whoever is within 60 s of b
    joint = joint_probabilities(graph, [[long], [short], [long]], np.zeros((3, 1), dtype=int), np.zeros((3, 1), int))
    assert joint.value[0] == pytest.approx(expected, abs=1e-15)


def simulated(
    graph: ConstraintGraph, own: Sequence[Histogram], at_s: Sequence[float], draws: int
) -> tuple[float, float]:
    """Share of draws in which all windows hold, and its standard error."""
    rng = np.random.default_rng(1987)
    times: dict[str, FloatArray] = {
        name: template.quantile(rng.uniform(size=draws)) + at
        for name, template, at in zip(graph.streams, own, at_s, strict=True)
    }
    hold = np.ones(draws, dtype=bool)
    for edge in graph.edges:
        apart = times[edge.b] - times[edge.a]
        hold &= (apart >= edge.window.lo_s) & (apart <= edge.window.hi_s)
    return float(hold.mean()), float(hold.std() / np.sqrt(draws))


CLIQUES = {
    k: ConstraintGraph.clique(
        STREAMS[:k],
        {(a, b): Window(lo_s=-1.7 - n / 7, hi_s=2.3 + n / 9) for n, (a, b) in enumerate(combinations(STREAMS[:k], 2))},
    )
    for k in (3, 4, 5)
}
FORMS = [
    ConstraintGraph.clique("abcd", Window(1.9)),
    ConstraintGraph.path("abcde", Window(lo_s=-0.7, hi_s=1.6)),
    ConstraintGraph.graph([("a", b, Window(lo_s=-1.1, hi_s=n + 1)) for n, b in enumerate("bcde")]),
    ConstraintGraph.graph([(a, b, Window(lo_s=-1.3, hi_s=1.9)) for a, b in ("ab", "bc", "cd", "de", "ea")]),
    *CLIQUES.values(),
]


@pytest.mark.parametrize("graph", FORMS, ids=lambda graph: f"{graph.form}-{len(graph.streams)}-{len(graph.edges)}")
def test_it_is_the_share_of_simulated_tuples(graph: ConstraintGraph) -> None:
    k = len(graph.streams)
    own = random_templates(np.random.default_rng(k), k, 4)
    at_us = np.random.default_rng(5).integers(-400_000, 400_000, (k, 1))
    joint = joint_probabilities(graph, [[each] for each in own], np.zeros((k, 1), dtype=int), at_us)
    share, error = simulated(graph, own, (at_us[:, 0] / 1e6).tolist(), 400_000)
    assert joint.lower[0] - 4 * error <= share <= joint.upper[0] + 4 * error
    assert 0.004 < share < 0.9


@pytest.mark.parametrize("graph", FORMS[:-1], ids=lambda graph: f"{graph.form}-{len(graph.streams)}-{len(graph.edges)}")
def test_many_at_once_equal_each_alone_bit_for_bit(graph: ConstraintGraph) -> None:
    k, n = len(graph.streams), 20
    rng = np.random.default_rng(3)
    sides = [[*random_templates(rng, 3, 4), *random_templates(rng, 3, 7), Histogram.point()] for _ in range(k)]
    index, at_us = rng.integers(7, size=(k, n)), rng.integers(-900_000, 900_000, (k, n))
    together = joint_probabilities(graph, sides, index, at_us)
    for column in range(0, n, 9):
        alone = joint_probabilities(graph, sides, index[:, [column]], at_us[:, [column]])
        for name in vars(alone):
            assert getattr(alone, name)[0] == getattr(together, name)[column]


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


def test_where_cells_would_be_too_many_it_is_exact() -> None:
    # densities of 3e5 per second beside those of 1/2: the cells would have to be microseconds long
    own = [
        Histogram([0, 1e-6, 1], [0.3, 0.7]),
        Histogram([0, 1e-6, 2], [0.3, 0.7]),
        Histogram([-1, -1e-6, 2], [0.3, 0.7]),
        Histogram([-1, 1, 1.000002], [0.3, 0.7]),
    ]
    windows = {pair: Window(1 + n / 10) for n, pair in enumerate(combinations("abcd", 2))}
    graph = ConstraintGraph.clique("abcd", windows)
    lower, value, upper = Tuple(graph, own, [0] * 4).joint()
    assert lower == value == upper
    share, error = simulated(graph, own, [0] * 4, 400_000)
    assert abs(value - share) <= 4 * error


def test_an_exact_time_parts_what_it_joins() -> None:
    # a triangle and a clique of four with an exact time between them: given that, they are independent
    rng = np.random.default_rng(9)
    own = [Histogram.point(), *random_templates(rng, 7, 3)]
    tie = [("p", "a", Window(lo_s=-1, hi_s=2)), ("p", "d", Window(lo_s=-2, hi_s=1))]
    left, right = (
        [(a, b, Window(lo_s=-2 - n / 7, hi_s=2)) for n, (a, b) in enumerate(combinations(names, 2))]
        for names in ("abc", "defg")
    )
    whole = Tuple(ConstraintGraph.graph([*tie, *left, *right], "pabcdefg"), own, [0] * 8).joint()
    first = Tuple(ConstraintGraph.graph([tie[0], *left], "pabc"), own[:4], [0] * 4).joint()
    second = Tuple(ConstraintGraph.graph([tie[1], *right], "pdefg"), [own[0], *own[4:]], [0] * 5).joint()
    assert whole[1] == pytest.approx(first[1] * second[1], abs=1e-3)
    assert whole[0] <= first[2] * second[2]
    assert first[0] * second[0] <= whole[2]
    assert whole[2] - whole[0] <= 1e-3
    assert first[1] * second[1] > 0.05


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
        k = len(graph.streams)
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

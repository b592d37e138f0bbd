"""Retention of window joins: no event that may still be needed goes, and none is kept a microsecond longer."""

from itertools import combinations, permutations, product

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from coincide import ConstraintGraph, Histogram, Stream, Window
from coincide.arrays.kinds import Int64Array
from coincide.errors import GraphError
from coincide.joins.retention import ROUNDING_US, latest_apart_us, reaches_us, set_reaches_us
from coincide.papers.ptjoin.partition_bounds import InstalledCondition
from tests.examples import examples
from tests.reference.window_join_cases import EXACT, UNCERTAIN

SECOND_US = 1_000_000
NAMES = "abcd"
windows = st.tuples(st.integers(-3, 3), st.integers(0, 3)).map(lambda lo: Window(lo_s=lo[0], hi_s=lo[0] + lo[1]))


@st.composite
def graphs(draw: st.DrawFn, *, clique: bool = False) -> ConstraintGraph:
    names = NAMES[: draw(st.integers(2, 3 if clique else 4))]
    tree = [(names[draw(st.integers(0, at - 1))], names[at]) for at in range(1, len(names))]
    rest = [pair for pair in combinations(names, 2) if pair not in tree and (clique or draw(st.booleans()))]
    try:
        return ConstraintGraph.graph([(a, b, draw(windows), 0.5) for a, b in [*tree, *rest]], names)
    except GraphError:  # the windows contradict each other
        assume(False)
        raise


@st.composite
def declared(draw: st.DrawFn) -> dict[str, Stream]:
    return {name: Stream(name, draw(st.integers(0, 9)), draw(st.integers(0, 3))) for name in NAMES}


def farthest_s(graph: ConstraintGraph, streams: dict[str, Stream]) -> Int64Array:
    """Greatest latest_j - latest_i of all tuples of whole seconds, as long as they may be, whose edges may hold.

    Role 0's latest time is 0; longer templates only allow more.
    """
    far = 4 * 6
    length_s = [round(streams[name].longest_template_s) for name in graph.roles]
    latest_s = np.array(list(product([0], *[range(-far, far + 1)] * (len(length_s) - 1))))
    earliest_s = latest_s - length_s
    for edge in graph.edges:
        a, b = graph.roles.index(edge.a), graph.roles.index(edge.b)
        holds = earliest_s[:, b] - latest_s[:, a] <= edge.window.hi_s
        holds &= latest_s[:, b] - earliest_s[:, a] >= edge.window.lo_s
        latest_s, earliest_s = latest_s[holds], earliest_s[holds]
    apart: Int64Array = (latest_s[:, None, :] - latest_s[:, :, None]).max(axis=0)
    return apart


def assert_reaches(found: Int64Array, apart_s: Int64Array, graph: ConstraintGraph, streams: dict[str, Stream]) -> None:
    """Each edge on a chain may round by ROUNDING_US, and nothing else is kept."""
    delays = np.array([round(streams[name].max_delay_s) for name in graph.roles])
    exact = np.minimum(-delays, -(apart_s + delays).max(axis=1)) * SECOND_US
    assert (found <= exact).all()
    assert (found >= exact - ROUNDING_US * len(graph.edges) * 2).all()


@settings(max_examples=examples(25), deadline=None)
@given(graphs(), declared())
def test_it_is_as_far_as_any_tuple_reaches(graph: ConstraintGraph, streams: dict[str, Stream]) -> None:
    assert_reaches(reaches_us(graph, streams), farthest_s(graph, streams), graph, streams)


@settings(max_examples=examples(40), deadline=None)
@given(graphs(clique=True), declared())
def test_sets_reach_over_one_member_to_the_next(graph: ConstraintGraph, streams: dict[str, Stream]) -> None:
    roles = range(len(graph.roles))
    edge_s = np.zeros((len(roles), len(roles)), np.int64)
    for i, j in permutations(roles, 2):
        pair = {graph.roles[i], graph.roles[j]}
        alone = ConstraintGraph.graph([edge for edge in graph.edges if edge.pair == pair])
        apart = farthest_s(alone, streams)
        at = [alone.roles.index(graph.roles[role]) for role in (i, j)]
        edge_s[i, j] = apart[at[0], at[1]]
    two_s = np.zeros_like(edge_s)
    for i, j in np.ndindex(two_s.shape):
        over_one = [edge_s[i, m] + edge_s[m, j] for m in roles if m not in (i, j)]
        two_s[i, j] = max(over_one + [edge_s[i, j]] * (i != j), default=0)
    assert_reaches(set_reaches_us(graph, streams), two_s, graph, streams)


@settings(max_examples=examples(100), deadline=None)
@given(windows, declared(), st.booleans())
def test_of_two_roles_it_follows_from_the_window_and_the_partner(
    window: Window, streams: dict[str, Stream], swapped: bool
) -> None:
    names = "ba" if swapped else "ab"
    a, b = (streams[name] for name in names)
    reach = dict(
        zip("ab", reaches_us(ConstraintGraph.graph([(*names, window, 0.5)], ["a", "b"]), streams), strict=True)
    )
    of_a = -b.max_delay_us - window.hi_us - b.longest_template_us - ROUNDING_US
    of_b = -a.max_delay_us + window.lo_us - a.longest_template_us - ROUNDING_US
    assert (reach[a.name], reach[b.name]) == (min(-a.max_delay_us, of_a), min(-b.max_delay_us, of_b))


some_templates = st.lists(st.sampled_from([*EXACT, *UNCERTAIN]), min_size=1, max_size=4, unique=True)


@settings(max_examples=examples(60), deadline=None)
@given(windows, some_templates, some_templates, st.sampled_from([0.05, 0.5, 1.0]))
def test_declared_templates_bound_pairs_as_theorem_4_does(
    window: Window, us: list[Histogram], vs: list[Histogram], threshold: float
) -> None:
    a, b = Stream("a", templates=us), Stream("b", templates=vs)
    condition = InstalledCondition.install(us, vs, window, threshold)
    matches = condition.earliest_us <= condition.latest_us
    by_window = latest_apart_us(a, b, window)
    if not matches.any():
        assert latest_apart_us(a, b, window, threshold) == by_window
        return
    lo_us, hi_us = int(condition.earliest_us[matches].min()), int(condition.latest_us[matches].max())
    assert latest_apart_us(a, b, window, threshold) == (lo_us, hi_us)
    assert by_window[0] <= lo_us
    assert hi_us <= by_window[1]


def test_templates_that_take_too_long_to_compare_keep_to_the_window() -> None:
    many = [Histogram.normal(1 + nth * 1e-3, 64) for nth in range(60)]
    a, b = Stream("a", templates=many), Stream("b", templates=many)
    assert latest_apart_us(a, b, Window(5), 0.5) == latest_apart_us(a, b, Window(5))

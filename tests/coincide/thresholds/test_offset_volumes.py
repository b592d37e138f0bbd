"""Volumes of offsets: against the slow twin, against chance itself, and the work that they are counted as."""

from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from coincide import ConstraintGraph, Detections, Histogram, Window, window_join
from coincide.clocks import Clock
from coincide.constraints.graph import Edge
from coincide.places import DistanceWindow
from coincide.templates.clocked import own_of
from coincide.thresholds.offset_volumes import GraphRows, offset_volumes, volumes_work
from tests.reference.offset_volumes import offset_volume

TEMPLATES = [
    Histogram.point(),
    Histogram.uniform(-1, 0.5),
    Histogram([-2, -1.5, 0.5, 1], [0.4, 0.2, 0.4]),
    Histogram([-2, -1, 1, 2], [0.5, 0, 0.5]),
]
OWN = {pair: Window(lo_s=-1 - 0.2 * nth, hi_s=2 + 0.1 * nth) for nth, pair in enumerate(combinations("abcd", 2))}
GRAPHS = {
    "pair": ConstraintGraph.binary("a", "b", Window(1), 0.3),
    "path of 3": ConstraintGraph.path("abc", Window(lo_s=-1, hi_s=3)),
    "clique of 3": ConstraintGraph.clique("abc", Window(1.5)),
    "own of 3": ConstraintGraph.clique("abc", {pair: OWN[pair] for pair in combinations("abc", 2)}),
    "clique of 4": ConstraintGraph.clique("abcd", Window(2)),
    "ring": ConstraintGraph.graph([(*pair, Window(2)) for pair in ("ab", "bc", "cd", "da")]),
}


def rows_of(graph: ConstraintGraph, index: Any, levels: Any, *, has_joint: bool) -> GraphRows:
    levels = np.array(levels)
    thresholds = np.tile(levels, (len(graph.edges), 1))
    templates = [TEMPLATES] * len(graph.roles)
    return GraphRows(graph, templates, np.array(index).T, thresholds, levels if has_joint else None)


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(sorted(GRAPHS)), st.booleans(), st.data())
def test_all_at_once_are_as_one_by_one(form: str, has_joint: bool, data: st.DataObject) -> None:
    graph = GRAPHS[form]
    role = st.integers(0, len(TEMPLATES) - 1)
    row = st.tuples(st.tuples(*[role] * len(graph.roles)), st.sampled_from([0.1, 0.25, 0.4, 0.7, 1.0]))
    index, levels = zip(*data.draw(st.lists(row, min_size=1, max_size=3)), strict=True)
    rows = rows_of(graph, index, levels, has_joint=has_joint)
    volumes, most = offset_volumes(rows), rows.joint_points()
    for nth, (templates, level) in enumerate(zip(index, levels, strict=True)):
        chosen = [TEMPLATES[each] for each in templates]
        joint = level if has_joint and len(graph.edges) > 1 else None
        expected = offset_volume(graph, chosen, [level] * len(graph.edges), joint, int(most[nth]))
        assert (volumes.value[nth], volumes.error[nth]) == pytest.approx(expected, rel=1e-9)


def test_no_row_depends_on_the_others() -> None:
    rng, graph = np.random.default_rng(4), GRAPHS["clique of 3"]
    rows = rows_of(graph, rng.integers(4, size=(300, 3)), rng.choice([0.2, 0.4, 1.0], 300), has_joint=True)
    at_once = offset_volumes(rows)
    for nth in range(0, 300, 37):
        alone = offset_volumes(rows.take(np.array([nth])))
        assert (alone.value[0], alone.error[0]) == (at_once.value[nth], at_once.error[nth])


SOUND = DistanceWindow(343, up_to_m=20_000)
BY_DISTANCE = {
    "pair": (("a", "b"),),
    "path of 3": (("a", "b"), ("b", "c")),
    "clique of 3": (("a", "b"), ("a", "c"), ("b", "c")),
}


@settings(max_examples=12, deadline=None)
@given(st.sampled_from(sorted(BY_DISTANCE)), st.integers(0, 2**32 - 1))
def test_a_row_in_windows_of_its_own_is_as_in_fixed_ones(form: str, seed: int) -> None:
    rng, count = np.random.default_rng(seed), 6
    pairs = BY_DISTANCE[form]
    edges = [Edge(a, b, SOUND.widest, 0.1, SOUND) for a, b in pairs]
    if form == "path of 3":
        edges[1] = Edge("b", "c", Window(lo_s=-1, hi_s=3), 0.1)  # among them one with a fixed window
    graph = ConstraintGraph(("a", "b") if form == "pair" else ("a", "b", "c"), tuple(edges))
    widths_ms = rng.choice([0, 40, 900, 3_000, 20_000], (len(edges), count))
    levels = rng.choice([0.1, 0.4, 0.7, 1.0], count)
    index = rng.integers(len(TEMPLATES), size=(count, len(graph.roles)))
    rows = replace(rows_of(graph, index, levels, has_joint=False), half_width_ms=widths_ms)
    volumes, work = offset_volumes(rows), volumes_work(rows)
    for nth in range(count):
        own = graph.at_widths(widths_ms[:, nth].tolist())
        fixed = replace(rows.take(np.array([nth])), graph=own, half_width_ms=None)
        alone = offset_volumes(fixed)
        assert (volumes.value[nth], volumes.error[nth]) == (alone.value[0], alone.error[0])
        assert work[nth] == volumes_work(fixed)[0]


def chance_events(rng: np.random.Generator, template: Histogram, rate_hz: float, seconds: int) -> Detections:
    times = np.sort(rng.integers(0, seconds * 10**6, rng.poisson(rate_hz * seconds)))
    return Detections(times, [template], np.zeros(len(times), np.int64))


@pytest.mark.parametrize("joint", [None, 0.3])
@pytest.mark.parametrize("form", ["path of 3", "clique of 3", "own of 3", "clique of 4"])
def test_chance_matches_come_as_often_as_it_says(form: str, joint: float | None) -> None:
    """Independent streams of Poisson detections, 40 times 1,000 s: the counts' own spread gives their error."""
    plain, seconds, times = GRAPHS[form], 1_000, 40
    graph = ConstraintGraph.graph([(edge.a, edge.b, edge.window, joint or 0.4) for edge in plain.edges])
    rng, rate_hz = np.random.default_rng(len(form)), 0.3 if len(plain.roles) == 4 else 0.15
    index = [[2, 1, 2, 1][: len(plain.roles)]]
    volumes = offset_volumes(rows_of(graph, index, [joint or 0.4], has_joint=joint is not None))
    counts = []
    for _ in range(times):
        batches = {
            role: chance_events(rng, TEMPLATES[each], rate_hz, seconds)
            for role, each in zip(graph.roles, index[0], strict=True)
        }
        counts.append(len(window_join(batches, graph, threshold=joint)))
    in_all = rate_hz ** len(graph.roles) * seconds
    expected, error = in_all * volumes.value[0], in_all * volumes.error[0]
    assert np.mean(counts) > 5
    assert error < 0.3 * expected
    assert np.mean(counts) == pytest.approx(expected, abs=3 * np.hypot(error, np.std(counts) / np.sqrt(times)))


GATEWAYS = [
    Clock(name, Histogram.uniform(-4, 3)).template(Histogram.uniform(-1, 0.5), Histogram.uniform(-5, 3.5))
    for name in ("gw-1", "gw-2")
]


def on_gateways(graph: ConstraintGraph, index: list[int], level: float, *, has_joint: bool) -> GraphRows:
    thresholds = np.full((len(graph.edges), 1), level)
    joint = np.array([level]) if has_joint else None
    return GraphRows(graph, [GATEWAYS] * len(index), np.array(index)[:, None], thresholds, joint)


@pytest.mark.parametrize(
    ("form", "index", "level", "has_joint"),
    [
        ("path of 3", [0, 0, 1], 0.2, False),
        ("clique of 3", [0, 1, 0], 0.2, False),
        ("clique of 3", [0, 0, 0], 0.4, True),
    ],
)
def test_on_shared_clocks_it_is_what_the_twin_says(form: str, index: list[int], level: float, has_joint: bool) -> None:
    rows = on_gateways(GRAPHS[form], index, level, has_joint=has_joint)
    volumes, most = offset_volumes(rows), int(rows.joint_points()[0])
    templates, edges = [GATEWAYS[each] for each in index], [level] * len(GRAPHS[form].edges)
    expected = offset_volume(GRAPHS[form], templates, edges, level if has_joint else None, most)
    assert (volumes.value[0], volumes.error[0]) == pytest.approx(expected, rel=1e-9)
    assert np.isfinite(volumes_work(rows)[0])
    own = [[own_of(GATEWAYS[0])]] * len(index)
    within = GraphRows(rows.graph, own, np.zeros_like(rows.index), rows.thresholds, rows.joint)
    assert (volumes.value[0] == offset_volumes(within).value[0]) == (len(set(index)) == 1)  # a clock of all cancels


def test_chance_on_shared_clocks_comes_as_often_as_it_says() -> None:
    plain, seconds, times, rate_hz = GRAPHS["clique of 3"], 1_000, 40, 0.15
    graph = ConstraintGraph.graph([(edge.a, edge.b, edge.window, 0.15) for edge in plain.edges])
    rng, index = np.random.default_rng(5), [0, 0, 1]
    volumes = offset_volumes(on_gateways(graph, index, 0.15, has_joint=False))
    counts = []
    for _ in range(times):
        batches = {
            role: chance_events(rng, GATEWAYS[each], rate_hz, seconds)
            for role, each in zip(graph.roles, index, strict=True)
        }
        counts.append(len(window_join(batches, graph)))
    in_all = rate_hz**3 * seconds
    error = np.hypot(in_all * volumes.error[0], np.std(counts) / np.sqrt(times))
    assert np.mean(counts) == pytest.approx(in_all * volumes.value[0], abs=3 * error)
    assert np.mean(counts) > 5


def test_a_joint_threshold_where_clocks_are_shared_in_part_takes_too_much() -> None:
    rows = on_gateways(GRAPHS["clique of 3"], [0, 0, 1], 0.2, has_joint=True)
    assert volumes_work(rows).tolist() == [np.inf]


def test_common_graphs_take_less_work_than_one_detection_may_ask_for() -> None:
    eight, one = [[Histogram.normal(1, 8)]], [[Histogram.uniform(-1, 1)]]
    for form in ("path of 3", "clique of 3", "own of 3", "clique of 4", "ring"):
        graph = GRAPHS[form]
        size = len(graph.roles)
        index, thresholds = np.zeros((size, 1), np.int64), np.full((len(graph.edges), 1), 0.4)
        assert volumes_work(GraphRows(graph, eight * size, index, thresholds))[0] < 20_000
        is_uniform = graph.is_tree or graph.uniform_window is not None
        some = (eight if is_uniform else one) * size
        work = volumes_work(GraphRows(graph, some, index, thresholds, np.full(1, 0.4)))[0]
        assert work < (60_000 if form == "ring" else 50_000)


def test_what_is_certain_takes_no_more_than_its_points() -> None:
    rows = rows_of(GRAPHS["path of 3"], [[0, 1, 2]], [1.0], has_joint=True)
    assert volumes_work(rows).tolist() == [0]
    assert volumes_work(rows_of(GRAPHS["clique of 3"], [[0, 1, 2]], [1.0], has_joint=True)).tolist() == [2 * 3 * 512]

"""Tuples of events with a constraint graph: Hypothesis strategies, random ones, and their simulation."""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
from hypothesis import strategies as st

from coincide import ConstraintGraph, Histogram, Window, joint_probabilities, match_probability
from tests.reference.counted_cells import graph_probability

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
        joint = joint_probabilities(self.graph, *self.columns)
        return float(joint.lower[0]), float(joint.value[0]), float(joint.upper[0])

    def exact(self) -> Fraction:
        return graph_probability(self.graph, self.templates, [at * SECOND for at in self.at_s])

    def edge_probabilities(self) -> list[float]:
        u = dict(zip(self.graph.roles, self.templates, strict=True))
        at_s = dict(zip(self.graph.roles, self.at_s, strict=True))
        return [match_probability(u[e.a], u[e.b], at_s[e.b] - at_s[e.a], e.window) for e in self.graph.edges]


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


def random_templates(rng: np.random.Generator, count: int, buckets: int) -> list[Histogram]:
    """About 4 s long; every third has a gap or an exact time."""
    templates = []
    for number in range(count):
        edges = np.concatenate(([0.0], np.cumsum(rng.uniform(0.5, 1.5, buckets)))) * 4 / buckets - 2
        mass = rng.dirichlet(np.ones(buckets))
        if number % 3 == 2:
            edges[1] = edges[number % 2]
            mass[-2] *= number % 2
        templates.append(Histogram(edges, mass / mass.sum()))
    return templates


def _clique(k: int) -> ConstraintGraph:
    pairs = enumerate(combinations(STREAMS[:k], 2))
    return ConstraintGraph.clique(STREAMS[:k], {p: Window(lo_s=-1.7 - n / 7, hi_s=2.3 + n / 9) for n, p in pairs})


CLIQUES = {k: _clique(k) for k in (3, 4, 5)}
FORMS = [
    ConstraintGraph.clique("abcd", Window(1.9)),
    ConstraintGraph.path("abcde", Window(lo_s=-0.7, hi_s=1.6)),
    ConstraintGraph.graph([("a", b, Window(lo_s=-1.1, hi_s=n + 1)) for n, b in enumerate("bcde")]),
    ConstraintGraph.graph([(a, b, Window(lo_s=-1.3, hi_s=1.9)) for a, b in ("ab", "bc", "cd", "de", "ea")]),
    *CLIQUES.values(),
]


def simulated(graph: ConstraintGraph, own: Sequence[Histogram], at_s: list[float], draws: int) -> tuple[float, float]:
    """Share of draws in which all windows hold, and its standard error."""
    rng = np.random.default_rng(1987)
    placed = zip(graph.roles, own, at_s, strict=True)
    times = {name: np.asarray(each.quantile(rng.uniform(size=draws))) + at for name, each, at in placed}
    hold = np.ones(draws, dtype=bool)
    for edge in graph.edges:
        apart = times[edge.b] - times[edge.a]
        hold &= (apart >= edge.window.lo_s) & (apart <= edge.window.hi_s)
    return float(hold.mean()), float(hold.std() / np.sqrt(draws))

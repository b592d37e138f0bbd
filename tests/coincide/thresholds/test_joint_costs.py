"""What a joint probability is said to cost, against the work that is done: counted, not timed."""

from collections.abc import Mapping
from itertools import combinations, pairwise
from typing import Any

import numpy as np
import pytest

from coincide import ConstraintGraph, Edge, Histogram, Window, joint_probabilities
from coincide.probability.joint.four_clique import FourClique
from coincide.probability.joint.member_links import break_points
from coincide.probability.joint.messages import Forest
from coincide.probability.joint.placed_members import Estimate, PlacedMember
from coincide.thresholds import joint_costs
from coincide.thresholds.joint_costs import joint_cost

FACTOR = 4.0
ROLES = "abcdef"
FORMS = {
    "path": lambda roles: list(pairwise(roles)),
    "star": lambda roles: [(roles[0], other) for other in roles[1:]],
    "ring": lambda roles: [*pairwise(roles), (roles[-1], roles[0])],
    "clique": lambda roles: list(combinations(roles, 2)),
}
RNG = np.random.default_rng(20160824)


def template(buckets: int) -> Histogram:
    edges_s = np.linspace(-2, 2, buckets + 1) + RNG.uniform(-0.3, 0.3, buckets + 1) / buckets
    return Histogram(edges_s.tolist(), RNG.dirichlet(np.ones(buckets)).tolist())


def graph_of(form: str, roles: int, *, has_own_windows: bool) -> ConstraintGraph:
    pairs = FORMS[form](ROLES[:roles])
    windows = [Window(1.0 + 0.1 * nth * has_own_windows) for nth in range(len(pairs))]
    edges = [Edge(*pair, window, 0.1) for pair, window in zip(pairs, windows, strict=True)]
    return ConstraintGraph(tuple(ROLES[:roles]), tuple(edges))


@pytest.fixture
def work_done(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Note, in bucket pairs, what trees and cliques of four have cost: all that a joint probability is made of."""
    done: list[float] = []
    tree, clique = Forest._meeting, FourClique.estimate

    def meeting(self: Forest, members: Mapping[int, PlacedMember], at: int, parent: int | None) -> Any:
        points = break_points(self.links, self.edges, at, parent)
        done.append(joint_costs.OF_BREAK_POINT * points * len(members[at]))
        return tree(self, members, at, parent)

    def estimate(self: FourClique, members: Mapping[int, PlacedMember]) -> Estimate:
        buckets = sum(len(each.edges.high) - 1 for each in members.values())
        done.append(
            (joint_costs.FOUR_CLIQUE + joint_costs.OF_FOUR_BUCKETS * buckets) * len(next(iter(members.values())))
        )
        return clique(self, members)

    monkeypatch.setattr(Forest, "_meeting", meeting)
    monkeypatch.setattr(FourClique, "estimate", estimate)
    return done


@pytest.mark.parametrize("buckets", [1, 4, 16])
@pytest.mark.parametrize("roles", [3, 4, 5, 6])
@pytest.mark.parametrize("has_own_windows", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_the_work_is_known_before_within_a_factor_of_four(
    form: str, has_own_windows: bool, roles: int, buckets: int, work_done: list[float]
) -> None:
    graph = graph_of(form, roles, has_own_windows=has_own_windows)
    if graph.uniform_window is not None:
        pytest.skip("the mass of one posterior: no tree, and no cycle")
    count = 2 if joint_cost(graph, (buckets,) * roles) > 1e6 else 20
    templates = [[template(buckets) for _ in range(4)] for _ in range(roles)]
    times_us = (RNG.uniform(-0.7, 0.7, (roles, count)) * 1e6).astype(np.int64)
    joint_probabilities(graph, templates, RNG.integers(0, 4, (roles, count)), times_us)
    ratio = count * joint_cost(graph, (buckets,) * roles) / sum(work_done)
    assert 1 / FACTOR < ratio < FACTOR


def test_a_clique_of_one_window_costs_as_much_as_its_buckets() -> None:
    few, many = (joint_cost(ConstraintGraph.clique("abcdef", Window(1)), (buckets,) * 6) for buckets in (4, 16))
    assert few < many < 4 * few


def test_what_many_roles_cost_is_told_at_once() -> None:
    roles = "abcdefghijkl"
    windows = {pair: Window(1 + 0.01 * nth) for nth, pair in enumerate(combinations(roles, 2))}
    assert joint_cost(ConstraintGraph.clique(roles, windows), (4,) * 12) > 1e9

"""Expected chance: how many matches a query gives although nothing belongs together, and at which threshold few."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray
from coincide.constraints.graph import ConstraintGraph, induced
from coincide.constraints.interchange import Interchange
from coincide.offsets.long_windows import least_probability
from coincide.probability.joint.probability import joint_probabilities
from coincide.queries.explaining.chance_points import ChancePoints
from coincide.queries.explaining.edge_reach import EdgeReach
from coincide.queries.explaining.known_sensors import Players
from coincide.queries.explaining.template_cells import TemplateCells
from coincide.queries.joins.join_query import Query
from coincide.thresholds.edge_offsets import ROTATIONS, spanning_tree
from coincide.thresholds.offset_cells import cells_work
from coincide.thresholds.offset_volumes import GraphRows

MOST_GRAPHS = 16  # of the smallest sets of a query with `at_least`, one for each kind
FEWEST_POINTS, MOST_POINTS = 3 * ROTATIONS, 512 * ROTATIONS
WORK_AT_ONE, WORK_AT_ALL = 2.0**22, 2.0**24  # bucket pairs: for one threshold 0.1 s, for all of them 0.3 s
UNALIKE = 2.0  # times the work of a joint probability among hundreds alike
LEVELS = 64  # of thresholds at which points are chosen, to know the rate at all of them
STEPS = 1_000  # a threshold that is chosen is a whole number of thousandths


@dataclass(frozen=True)
class ChanceRate:
    """Chance matches a second in all areas, the estimate's standard error, and whether they are rather fewer.

    They are where the joint threshold took too much work, and is left out (`lacks_joint`), or where no point was one.
    """

    rate_hz: float
    error_hz: float = 0.0
    is_upper_bound: bool = False
    lacks_joint: bool = False


@dataclass(frozen=True, eq=False)
class _Sampled:
    """Weights of points in matches a second, and up to which threshold each is a match; rotations follow each other.

    `chosen_to` is the least probable edge of those by which a point was chosen: it may reach thresholds up to that.
    """

    weight_hz: FloatArray
    score: FloatArray
    chosen_to: FloatArray
    lacks_joint: bool

    @classmethod
    def of_all(cls, samples: Sequence[_Sampled]) -> _Sampled:
        """Put samples together, rotation by rotation."""
        none = np.zeros((3, ROTATIONS, 0))
        columns = [np.stack((each.weight_hz, each.score, each.chosen_to)).reshape(3, ROTATIONS, -1) for each in samples]
        weight_hz, score, chosen_to = np.concatenate([none, *columns], axis=2).reshape(3, -1)
        return cls(weight_hz, score, chosen_to, any(each.lacks_joint for each in samples))

    def rate(self, threshold: float) -> ChanceRate:
        """Return the rate at a threshold.

        If no point reaches it, though some may be that probable, the rate is 3 of these at most: with 95 %, none of n
        is no more than 3 of n.
        """
        least = least_probability(threshold)
        reached_hz = np.where(self.score >= least, self.weight_hz, 0.0).reshape(ROTATIONS, -1).sum(axis=1)
        if not reached_hz.any():
            most_hz = 3 * float(self.weight_hz.max(where=self.chosen_to >= least, initial=0.0))
            return ChanceRate(most_hz, 0.0, most_hz > 0, self.lacks_joint)
        error_hz = ROTATIONS * float(reached_hz.std(ddof=1)) / ROTATIONS**0.5
        return ChanceRate(float(reached_hz.sum()), error_hz, self.lacks_joint, self.lacks_joint)


class ExpectedChance:
    """The chance matches of a query whose windows are closed; `reach` has what each of its edges attains."""

    def __init__(
        self, query: Query, played: Mapping[str, Players], known: TemplateCells, reach: Sequence[EdgeReach]
    ) -> None:
        self._query, self._played, self._known, self._reach = query, played, known, reach

    def rate(self) -> ChanceRate | None:
        """Return the rate at the query's thresholds; None where it would take too long."""
        if len(self._reach) == 1:
            return ChanceRate(self._pair_hz(self._query.graph.edges[0].threshold or 1.0))
        sampled = self._sampled(lambda graph: _own(graph)[None], WORK_AT_ONE)
        return None if sampled is None else sampled.rate(self._query.joint_threshold or 0.0)

    def rates(self, thresholds: Sequence[float]) -> list[ChanceRate] | None:
        """Return the rate at each of these thresholds, the query's own and higher ones; None where it takes too long.

        Each is that of `joint_threshold` where the query has one, else of every edge without a higher one of its own.
        """
        if len(self._reach) == 1:
            edges = [self._query.with_threshold(each).graph.edges[0] for each in thresholds]
            rates_hz = self._reach[0].chances_hz([edge.threshold or 1.0 for edge in edges])
            return [ChanceRate(rate_hz / self._orders) for rate_hz in rates_hz.tolist()]
        sampled = self._sampled_at_all()
        return None if sampled is None else [sampled.rate(each) for each in thresholds]

    def least_threshold(self, most_hz: float) -> float | None:
        """Return the least threshold, in thousandths, at which chance gives at most so many matches a second.

        It is that of `joint_threshold` where the query has one, else of all edges.
        """
        lenient = ExpectedChance(self._query.with_threshold(1 / STEPS), self._played, self._known, self._reach)
        rate_hz = self._pair_hz if len(self._reach) == 1 else lenient._curve()
        low, high = 0, STEPS  # at `high` it gives few enough
        if rate_hz is None or rate_hz(1.0) > most_hz:
            return None
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if rate_hz(middle / STEPS) <= most_hz else (middle, high)
        return high / STEPS

    def _pair_hz(self, threshold: float) -> float:
        return self._reach[0].chance_hz(threshold) / self._orders

    @property
    def _orders(self) -> int:
        """How often each pair of detections is counted."""
        return 2 if self._query.interchange.swaps else 1

    def _curve(self) -> Callable[[float], float] | None:
        """Return the rate by threshold."""
        sampled = self._sampled_at_all()
        if sampled is None:
            return None
        order = np.argsort(sampled.score)
        score, weight_hz = sampled.score[order], sampled.weight_hz[order]
        beyond_hz = np.append(np.cumsum(weight_hz[::-1])[::-1], 0.0)
        return lambda threshold: float(beyond_hz[np.searchsorted(score, least_probability(threshold))])

    def _sampled_at_all(self) -> _Sampled | None:
        """Choose points at all thresholds that some sensors attain."""
        top = min(reach.extent()[1] if len(reach.pair) else 1.0 for reach in self._reach)
        of_all = top * np.linspace(0.0, 1.0, LEVELS)[:, None]
        return self._sampled(lambda graph: np.maximum(of_all, _own(graph)), WORK_AT_ALL)

    def _sampled(self, levels: Callable[[ConstraintGraph], FloatArray], most_work: float) -> _Sampled | None:
        """Choose points of all graphs at these levels, and find up to which threshold each is a match."""
        graphs = _smallest_graphs(self._query)
        if len(graphs) > MOST_GRAPHS:
            return None
        samples = []
        for graph in graphs:
            if not all(len(self._played[role]) for role in graph.roles):
                continue  # nobody plays it
            count = self._affordable_points(graph, most_work / len(graphs))
            if count < FEWEST_POINTS:
                return None
            played = {role: self._played[role] for role in graph.roles}
            shape = (graph, played, self._query.sensors, self._known)
            points = ChancePoints.chosen(*shape, levels(graph), count // ROTATIONS)
            points.weight_hz[:] *= self._holds(graph, points) / self._ways(graph)
            samples.append(self._scored(graph, points, most_work / len(graphs)))
        return _Sampled.of_all(samples)

    def _scored(self, graph: ConstraintGraph, points: ChancePoints, most_work: float) -> _Sampled:
        """Return the greatest threshold at which each point is a match, of all edges or joint as the query has it.

        As joint probabilities are much work, evenly spaced ones of the points that are possible stand for all.
        """
        chosen_to = points.probability[[nth for _, nth in spanning_tree(graph)]].min(axis=0)
        of_edges = points.probability.min(axis=0)
        if self._query.joint_threshold is None or len(graph.edges) == 1:
            return _Sampled(points.weight_hz, of_edges, chosen_to, lacks_joint=False)
        most = int(most_work / (UNALIKE * self._joint_work(graph)))
        if most < FEWEST_POINTS:
            return _Sampled(points.weight_hz, of_edges, chosen_to, lacks_joint=True)
        possible = np.flatnonzero(points.weight_hz)
        every = max(1, -(-len(possible) // most))
        some = possible[every // 2 :: every]
        weight_hz, score = np.zeros(len(points.weight_hz)), np.zeros(len(points.weight_hz))
        weight_hz[some] = points.weight_hz[some] * every
        templates = [self._known.templates] * len(graph.roles)
        of_some = joint_probabilities(graph, templates, points.template[:, some], points.times_us[:, some])
        score[some] = of_some.value
        return _Sampled(weight_hz, score, chosen_to, lacks_joint=False)

    def _holds(self, graph: ConstraintGraph, points: ChancePoints) -> BoolArray:
        """Whether each point reaches the thresholds of all edges."""
        least = np.array([least_probability(threshold) for threshold in _own(graph)])
        holds: BoolArray = np.all(points.probability >= least[:, None], axis=0)
        return holds

    def _affordable_points(self, graph: ConstraintGraph, most_work: float) -> int:
        """How many points may be chosen: template pairs that no edge has met yet are work."""
        if not any(reach.is_sample for reach in self._reach):
            return MOST_POINTS
        of_pairs = (float(cells_work(pair, self._known.cells)[0]) for pair in self._largest(graph).pairs())
        return int(min(MOST_POINTS, most_work / sum(of_pairs)))

    def _joint_work(self, graph: ConstraintGraph) -> float:
        return float(self._largest(graph).joint_work()[0])

    def _largest(self, graph: ConstraintGraph) -> GraphRows:
        """Return the graph with the largest template of each role."""
        templates = self._known.templates
        used = [np.unique(self._played[role].template).tolist() for role in graph.roles]
        of_role = [[max((templates[at] for at in each), key=lambda each: len(each.mass))] for each in used]
        return GraphRows(graph, of_role, np.zeros((len(of_role), 1), np.int64), np.ones((len(graph.edges), 1)))

    def _ways(self, graph: ConstraintGraph) -> int:
        """In how many ways the same detections can take the roles."""
        source = dict(zip(self._query.graph.roles, self._query.sources, strict=True))
        kinds = [source[role] for role in graph.roles]
        return Interchange.of(graph, _own(graph).tolist(), kinds).ways(range(len(kinds)))


def _own(graph: ConstraintGraph) -> FloatArray:
    """Return the threshold of each edge, shape (edges,): 0 without one."""
    return np.array([edge.threshold or 0.0 for edge in graph.edges])


def _smallest_graphs(query: Query) -> list[ConstraintGraph]:
    """Return the graph of the query; with `at_least` those of the smallest sets of roles, of alike sets one."""
    if query.at_least is None:
        return [query.graph]
    roles, required, optional = query.graph.roles, query.required, query.at_least.optional(query.graph.roles)
    kind = {roles[at]: nth for nth, group in enumerate(query.interchange.groups) for at in group}
    graphs: dict[tuple[int, ...], ConstraintGraph] = {}
    for chosen in combinations(optional, max(query.at_least.count, 2 - len(required))):
        alike = tuple(sorted(kind[role] for role in chosen))
        if alike not in graphs:
            graphs[alike] = induced(query.graph, {*required, *chosen})
    return list(graphs.values())

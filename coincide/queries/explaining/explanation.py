"""Explaining a query: what its thresholds can reach with the sensors there are, and what chance and work to expect."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from coincide.constraints.graph import ConstraintGraph, Edge
from coincide.offsets.joint_peaks import STARTS, JointlyAttainable, attainable_jointly, joint_work
from coincide.offsets.long_windows import least_probability
from coincide.offsets.pair_work import offsets_work
from coincide.probability.difference import match_probability
from coincide.queries.expected_work import ExpectedWork, expected_work
from coincide.queries.explaining.chance import chance_by_area, chance_figures, with_threshold
from coincide.queries.explaining.edge_reach import EdgeReach
from coincide.queries.explaining.figures import ChanceFigures, EdgeFigures, Explanation, JointFigures, RoleFigures
from coincide.queries.explaining.sensor_pairs import KnownSensor, players
from coincide.queries.join_query import Query
from coincide.stream import Stream
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import TemplatePairs

MOST_WORK = 2.0**24  # bucket pairs, of all edges and as much of joint probabilities: about a second each
STEPS = 1_000  # a threshold that is chosen is a whole number of thousandths
HOURS_A_DAY = 24
MOST_AREAS = 16  # in which a joint probability is looked for


@dataclass(frozen=True)
class SeenRates:
    """What is known of rates.

    Parameters
    ----------
    busiest_hz : mapping of str to float, optional
        Detections a second of each stream in its busiest area. None: each sensor's own `rate_hz` counts. Given, it is
        spread evenly over the stream's sensors of each area, and chance is said of the area where it is most.
    streams : mapping of str to Stream, optional
        The declared streams, from which the expected work follows; by default they are as long as the templates.
    """

    busiest_hz: Mapping[str, float] | None = None
    streams: Mapping[str, Stream] | None = None


OWN_RATES = SeenRates()


def explain(query: Query, sensors: Sequence[KnownSensor], seen: SeenRates = OWN_RATES) -> Explanation:
    """Return what a query can find with these sensors, and what it costs.

    Work is bounded: sensors share templates, each pair of templates is worked out once, and of too many some stand for
    all. Conditions on attributes are not known, so figures are those of all detections of a stream.

    Parameters
    ----------
    query : Query
    sensors : sequence of KnownSensor
        Those of streams that the query does not name are left out.
    seen : SeenRates, optional

    Examples
    --------
    >>> query = Query.from_json({"id": "sn1987a", "from": {"i": "imb", "b": "baksan"},
    ...     "within": [{"between": ["i", "b"], "window_s": 10, "threshold": 0.4}]})
    >>> clocks = {"imb": Histogram.uniform(-0.05, 0.05), "baksan": Histogram.uniform(-54, 2)}
    >>> explanation = explain(query, [KnownSensor(name, "earth", name, clock) for name, clock in clocks.items()])
    >>> [edge] = explanation.edges
    >>> round(edge.greatest, 3), edge.share, explanation.is_reachable
    (0.357, 0.0, False)
    """
    return _Explained(query, _with_rates(sensors, seen.busiest_hz), seen).explanation()


def least_threshold(
    query: Query, sensors: Sequence[KnownSensor], per_day: float, seen: SeenRates = OWN_RATES
) -> float | None:
    """Return the least threshold, in thousandths, at which chance gives at most so many matches a day.

    It is that of `joint_threshold` where the query has one, else of all edges. None where no threshold up to 1 gives so
    few, or the rate of chance is not known. It may be out of reach: `explain` the query with it.

    Examples
    --------
    Two sensors that report every 100 s, each up to 1 s early or late:

    >>> query = Query.from_json({"id": "q", "from": {"a": "p", "b": "s"},
    ...     "within": [{"between": ["a", "b"], "window_s": 1, "threshold": 0.5}]})
    >>> sensors = [KnownSensor(name, "bay", name, Histogram.uniform(-1, 1), 0.01) for name in "ps"]
    >>> least_threshold(query, sensors, per_day=10)
    0.667
    """
    explained = _Explained(query, _with_rates(sensors, seen.busiest_hz), seen)
    low, high = 0, STEPS  # of chance at `high` it is known that it is few enough, once that is asked
    if not explained.knows_chance or not explained.is_chance_at_most(per_day, 1.0):
        return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if explained.is_chance_at_most(per_day, middle / STEPS) else (middle, high)
    return high / STEPS


def _with_rates(sensors: Sequence[KnownSensor], busiest_hz: Mapping[str, float] | None) -> list[KnownSensor]:
    """Return the sensors, the rates of the busiest area spread evenly over those of each area."""
    if busiest_hz is None:
        return list(sensors)
    count: dict[tuple[str, str], int] = {}
    for each in sensors:
        count[each.area, each.stream] = count.get((each.area, each.stream), 0) + 1
    return [
        KnownSensor(
            each.sensor,
            each.area,
            each.stream,
            each.template,
            busiest_hz.get(each.stream, 0.0) / count[each.area, each.stream],
        )
        for each in sensors
    ]


class _Explained:
    """A query and the sensors that may play its roles; what edges attain is worked out once for all alike."""

    def __init__(self, query: Query, sensors: Sequence[KnownSensor], seen: SeenRates) -> None:
        self._query, self._seen, self._sensors = query, seen, sensors
        of_source = {source: players(source, sensors) for source in dict.fromkeys(query.sources)}
        self._played = {role: of_source[each] for role, each in zip(query.graph.roles, query.sources, strict=True)}
        self._source = dict(zip(query.graph.roles, query.sources, strict=True))
        kinds = {self._kind(edge) for edge in query.graph.edges}
        self._reach: dict[Hashable, EdgeReach] = {}
        self._most_work = MOST_WORK / len(kinds)

    def explanation(self) -> Explanation:
        """Return all figures."""
        query = self._query
        found: dict[Hashable, EdgeFigures] = {}
        for edge in query.graph.edges:
            key = self._kind(edge), edge.threshold
            if key not in found:
                found[key] = self._edge(edge)
        edges = tuple(_between(found[self._kind(edge), edge.threshold], edge) for edge in query.graph.edges)
        reached = self._reached()
        joint = self._joint(edges, [found for _, found in reached])
        reachable, work = self._is_reachable(edges, reached), self._work()
        return Explanation(query.id, self._roles(), edges, joint, reachable, self._chance(), work)

    @property
    def knows_chance(self) -> bool:
        """Whether sensors have rates, and no window is open, so that chance has a rate."""
        has_rates = any(each.rate_hz > 0 for each in self._sensors)
        return has_rates and not any(edge.window.is_open for edge in self._query.graph.edges)

    def is_chance_at_most(self, per_day: float, threshold: float) -> bool:
        """Whether chance gives so few matches at this threshold."""
        changed = with_threshold(self._query, threshold)
        by_area = chance_by_area(changed, self._played, self._only_reach(), is_coarse=True)
        if by_area is None:
            return False
        per_hour = chance_figures(changed, by_area, is_of_one_area=self._seen.busiest_hz is not None).per_hour
        return HOURS_A_DAY * per_hour <= per_day

    def _kind(self, edge: Edge) -> Hashable:
        return self._source[edge.a], self._source[edge.b], edge.window

    def _of(self, edge: Edge) -> EdgeReach:
        kind = self._kind(edge)
        if kind not in self._reach:
            sides = self._played[edge.a], self._played[edge.b]
            self._reach[kind] = EdgeReach.of(*sides, edge.window, self._query.sensors, self._most_work)
        return self._reach[kind]

    def _only_reach(self) -> EdgeReach | None:
        """Return what the one edge attains, if there is but one."""
        edges = self._query.graph.edges
        return self._of(edges[0]) if len(edges) == 1 else None

    def _roles(self) -> tuple[RoleFigures, ...]:
        return tuple(
            RoleFigures(
                role,
                self._source[role].stream,
                len({each.sensor for each in sensors if each.sensor is not None})
                + sum(each.sensor is None for each in sensors),
                len({each.area for each in sensors}),
                bool(self._source[role].filter.where),
            )
            for role, sensors in self._played.items()
        )

    def _edge(self, edge: Edge) -> EdgeFigures:
        reach, threshold = self._of(edge), edge.threshold or 0.0
        ends = ((edge.a, edge.b), edge.window.lo_s, edge.window.hi_s, threshold)
        count = reach.cells.count
        if len(count) == 0:
            return EdgeFigures(*ends, 0, 0, None, None, None, None, reach.is_sample)
        reaching = int(count[reach.reach(threshold)].sum()) if threshold else int(count.sum())
        most, _ = reach.attainable
        best = reach.best_pair(self._played[edge.a], self._played[edge.b], self._query.sensors)
        in_all = int(count.sum())
        extent = (reaching / in_all, float(most.min()), float(most.max()))
        return EdgeFigures(*ends, in_all, reaching, *extent, best, reach.is_sample)

    def _joint(self, edges: Sequence[EdgeFigures], reached: Sequence[JointlyAttainable]) -> JointFigures | None:
        greatest = [edge.greatest for edge in edges if edge.greatest is not None]
        if len(edges) < 2 or len(greatest) < len(edges):
            return None
        at_least = max((each.at_least for each in reached), default=None)
        return JointFigures(self._query.joint_threshold, min(greatest), at_least)

    def _reached(self) -> list[tuple[dict[str, Histogram], JointlyAttainable]]:
        """Return what some sensors of some areas reach jointly: the most exact one for each role."""
        if len(self._query.graph.edges) == 1:
            return []
        areas = set.intersection(*({each.area for each in sensors} for sensors in self._played.values()))
        chosen = [each for each in map(self._most_exact, sorted(areas)[:MOST_AREAS]) if each is not None]
        work = max((_least_joint_work(self._query.graph, each) for each in chosen), default=0.0)
        few = chosen[: int(min(MOST_AREAS, MOST_WORK / max(work, 1.0)))]
        graph = self._query.graph
        return [(each, attainable_jointly(each, graph, most_work=MOST_WORK / len(few))) for each in few]

    def _most_exact(self, area: str) -> dict[str, Histogram] | None:
        """Return the template of a sensor for each role, all different unless the rule says otherwise."""
        used: set[str] = set()
        chosen: dict[str, Histogram] = {}
        for role, sensors in self._played.items():
            here = [each for each in sensors if each.area == area and self._may_join(each.sensor, used)]
            if not here:
                return None
            best = min(here, key=lambda each: each.template.std_s)
            chosen[role] = best.template
            used |= {best.sensor} if best.sensor is not None else set()
        return chosen

    def _may_join(self, sensor: str | None, used: set[str]) -> bool:
        if self._query.sensors == "different":
            return sensor is None or sensor not in used
        return self._query.sensors == "any" or not used or sensor in used

    def _is_reachable(
        self, edges: Sequence[EdgeFigures], reached: Sequence[tuple[dict[str, Histogram], JointlyAttainable]]
    ) -> bool | None:
        """Whether all thresholds of some roles that make a match can be reached at once; None where that is open."""
        sets = self._smallest_sets()
        out_of_reach = [{*edge.between} for edge in edges if edge.is_out_of_reach]
        if not any(all(not ends <= roles for ends in out_of_reach) for roles in sets):
            return False
        reaching = [{*edge.between} for edge in edges if edge.reaching]
        of_two = any(roles in reaching for roles in sets if len(roles) == 2)
        return True if of_two or any(self._reaches_all(*each) for each in reached) else None

    def _smallest_sets(self) -> list[set[str]]:
        """Return the smallest sets of roles that make a match."""
        query, roles = self._query, self._query.graph.roles
        if query.at_least is None:
            return [{*roles}]
        count = max(query.at_least.count, 2 - len(query.required))
        return [{*query.required, *chosen} for chosen in combinations(query.at_least.optional(roles), count)]

    def _reaches_all(self, templates: Mapping[str, Histogram], found: JointlyAttainable) -> bool:
        """Whether every edge and all of them at once reach their thresholds at the times found."""
        at_s = {role: time_us / 1e6 for role, time_us in zip(self._query.graph.roles, found.times_us, strict=True)}
        probabilities = [
            match_probability(templates[edge.a], templates[edge.b], at_s[edge.b] - at_s[edge.a], edge.window)
            for edge in self._query.graph.edges
        ]
        least = [least_probability(edge.threshold) if edge.threshold else 0.0 for edge in self._query.graph.edges]
        joint = self._query.joint_threshold or 0.0
        return found.at_least >= joint and all(p >= q for p, q in zip(probabilities, least, strict=True))

    def _chance(self) -> ChanceFigures | None:
        if not self.knows_chance:
            return None
        by_area = chance_by_area(self._query, self._played, self._only_reach())
        if by_area is None:
            return None
        return chance_figures(self._query, by_area, is_of_one_area=self._seen.busiest_hz is not None)

    def _work(self) -> ExpectedWork | None:
        """Return what to expect at the rates of the busiest area; None where none are known."""
        busiest_hz = _busiest_hz(self._sensors) if self._seen.busiest_hz is None else self._seen.busiest_hz
        streams = _streams_of(self._sensors) if self._seen.streams is None else self._seen.streams
        if not any(busiest_hz.values()) or not {*self._query.streams} <= {*streams}:
            return None
        return expected_work(self._query, busiest_hz, streams)


def _least_joint_work(graph: ConstraintGraph, templates: Mapping[str, Histogram]) -> float:
    """Work of `attainable_jointly` at least."""
    first = np.zeros(1, np.int64)
    of_edges = (
        (TemplatePairs([templates[edge.a]], [templates[edge.b]], first, first), edge.window) for edge in graph.edges
    )
    edges_work = sum(float(offsets_work(*each)[0]) for each in of_edges)
    return edges_work + STARTS * joint_work(graph, [templates[role] for role in graph.roles])


def _busiest_hz(sensors: Sequence[KnownSensor]) -> dict[str, float]:
    of_area: dict[tuple[str, str], float] = {}
    for each in sensors:
        of_area[each.stream, each.area] = of_area.get((each.stream, each.area), 0.0) + each.rate_hz
    busiest: dict[str, float] = {}
    for (stream, _), rate_hz in of_area.items():
        busiest[stream] = max(rate_hz, busiest.get(stream, 0.0))
    return busiest


def _streams_of(sensors: Sequence[KnownSensor]) -> dict[str, Stream]:
    """Return the streams, each as long as the longest of its templates."""
    longest_s: dict[str, float] = {}
    for each in sensors:
        longest_s[each.stream] = max(each.template.length_s, longest_s.get(each.stream, 0.0))
    return {name: Stream(name, longest_template_s=length_s) for name, length_s in longest_s.items()}


def _between(figures: EdgeFigures, edge: Edge) -> EdgeFigures:
    """Return the figures of an alike edge, with the roles of this one."""
    return replace(figures, between=(edge.a, edge.b))

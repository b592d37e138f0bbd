"""Explaining a query: what its thresholds can reach with the sensors there are, and what chance and work to expect."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from types import MappingProxyType

from coincide.constraints.graph import Edge
from coincide.constraints.window import Window
from coincide.queries.explaining.edge_reach import EdgeReach
from coincide.queries.explaining.expected_chance import ChanceRate, ExpectedChance
from coincide.queries.explaining.expected_work import ExpectedWork, expected_work
from coincide.queries.explaining.explanation import ChanceFigures, EdgeFigures, Explanation, JointFigures, RoleFigures
from coincide.queries.explaining.joint_reach import joint_reach, reaches_all
from coincide.queries.explaining.known_sensors import KnownSensor, Players, SeenRates, SensorNumbers, players_of
from coincide.queries.explaining.known_windows import at_known_windows
from coincide.queries.explaining.template_cells import TemplateCells
from coincide.queries.joins.join_query import Query
from coincide.queries.joins.role_filter import Source
from coincide.stream import Stream
from coincide.templates.histogram import Histogram  # noqa: F401 - in examples

MOST_WORK = 2.0**23  # bucket pairs, of all edges: 0.2 s
MOST_JOINT_WORK = 2.0**22
DAY_S, HOUR_S = 86_400, 3_600
NOTHING_KNOWN: Mapping[Source, Sequence[KnownSensor]] = MappingProxyType({})


def explain(
    query: Query,
    sensors: Sequence[KnownSensor],
    seen: SeenRates | None = None,
    streams: Mapping[str, Stream] | None = None,
) -> Explanation:
    """Return what a query can find with these sensors, and what it costs.

    Work is bounded: sensors share templates, each pair of templates is worked out once, and of too many some stand for
    all. Conditions on attributes are not known, so figures are those of all detections of a stream.

    Parameters
    ----------
    query : Query
    sensors : sequence of KnownSensor
        Those of streams that the query does not name are left out.
    seen : SeenRates, optional
        Rates by area, in place of each sensor's own `rate_hz`.
    streams : mapping of str to Stream, optional
        The declared streams, from which the expected work follows; by default they are as long as the templates.

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
    return ExplainedQuery(query, sensors, seen, streams).explanation()


def least_threshold(
    query: Query, sensors: Sequence[KnownSensor], per_day: float, seen: SeenRates | None = None
) -> float | None:
    """Return the least threshold, in thousandths, at which chance gives at most so many matches a day in all areas.

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
    return ExplainedQuery(query, sensors, seen).least_threshold(per_day)


class ExplainedQuery:
    """A query and the sensors that may play its roles; what edges attain is worked out once for all that is asked.

    `explain` says what the arguments are. Where it is known how often detections pass the conditions of a source on
    attributes, `passing` has the sensors with such detections, and their rates of these.
    """

    def __init__(
        self,
        query: Query,
        sensors: Sequence[KnownSensor],
        seen: SeenRates | None = None,
        streams: Mapping[str, Stream] | None = None,
        passing: Mapping[Source, Sequence[KnownSensor]] = NOTHING_KNOWN,
    ) -> None:
        query, self._distance = at_known_windows(query, sensors)
        self._query, self._streams, self._passing = query, streams, passing
        self._sensors = list(sensors) if seen is None else seen.shared(sensors)
        self._busiest_hz = _busiest_hz(self._sensors) if seen is None else seen.busiest_hz()
        self._source = dict(zip(query.graph.roles, query.sources, strict=True))
        self._known = {
            source: players_of(source, passing.get(source, self._sensors)) for source in dict.fromkeys(query.sources)
        }
        numbers = SensorNumbers()
        self._players = {source: Players.of(known, numbers) for source, known in self._known.items()}
        self._cells = TemplateCells([*numbers.templates])

    def explanation(self) -> Explanation:
        """Return all figures."""
        query = self._query
        alike: dict[Hashable, EdgeFigures] = {}
        for edge in query.graph.edges:
            if (key := (self._kind(edge), edge.threshold)) not in alike:
                alike[key] = self._edge(edge)
        edges = tuple(
            replace(alike[self._kind(edge), edge.threshold], between=(edge.a, edge.b)) for edge in query.graph.edges
        )
        played = {role: self._known[source] for role, source in self._source.items()}
        found = joint_reach(query, played, MOST_JOINT_WORK) if len(edges) > 1 else []
        joint = self._joint(edges, [each.at_least for _, each in found])
        reaches = any(reaches_all(query, *each) for each in found)
        is_reachable = self._is_reachable(edges, reaches_all=reaches)
        figures = joint, is_reachable, self._chance(), self._work(), self._distance
        return Explanation(query.id, self._roles(), edges, *figures)

    def least_threshold(self, per_day: float) -> float | None:
        """Return the least threshold at which chance gives so few matches; None if none does, or that is not known."""
        return self._expected_chance.least_threshold(per_day / DAY_S) if self._knows_chance else None

    def chance_at(self, thresholds: Sequence[float]) -> list[ChanceFigures] | None:
        """Return what chance gives at each of these thresholds, none below the query's own; None if not known."""
        rates = self._expected_chance.rates(thresholds) if self._knows_chance else None
        return None if rates is None else [self._chance_figures(each) for each in rates]

    @property
    def _knows_chance(self) -> bool:
        """Whether sensors have rates, and no window is open, so that chance has a rate."""
        has_rates = any(each.rate_hz > 0 for each in self._sensors)
        return has_rates and not any(edge.window.is_open for edge in self._query.graph.edges)

    @cached_property
    def _expected_chance(self) -> ExpectedChance:
        played = {role: self._players[source] for role, source in self._source.items()}
        reach = [self._reach[self._kind(edge)] for edge in self._query.graph.edges]
        return ExpectedChance(self._query, played, self._cells, reach)

    def _kind(self, edge: Edge) -> tuple[Source, Source, Window]:
        return self._source[edge.a], self._source[edge.b], edge.window

    @cached_property
    def _reach(self) -> dict[tuple[Source, Source, Window], EdgeReach]:
        """What edges attain; those of the same streams, filters and windows attain the same."""
        edges = self._query.graph.edges
        thresholds: dict[tuple[Source, Source, Window], list[float]] = {self._kind(edge): [] for edge in edges}
        for edge in edges:
            thresholds[self._kind(edge)] += [edge.threshold] if edge.threshold else []
        most_work = MOST_WORK / len(thresholds)
        return {
            (a, b, window): EdgeReach.of(
                (self._players[a], self._players[b]), window, self._query.sensors, self._cells, asked, most_work
            )
            for (a, b, window), asked in thresholds.items()
        }

    def _roles(self) -> tuple[RoleFigures, ...]:
        return tuple(
            RoleFigures(
                role,
                source.stream,
                _how_many([each for each in self._sensors if each.stream == source.stream]),
                _how_many(self._known[source]),
                len({each.area for each in self._known[source]}),
                tuple(name for name, _ in source.filter.where),
                self._share_passing(source),
            )
            for role, source in self._source.items()
        )

    def _share_passing(self, source: Source) -> float | None:
        """Return the share of detections that pass the conditions on attributes; None where that is not known."""
        if not source.filter.where:
            return 1.0
        in_all_hz = sum(each.rate_hz for each in players_of(source, self._sensors))
        is_known = source in self._passing and in_all_hz > 0
        return sum(each.rate_hz for each in self._known[source]) / in_all_hz if is_known else None

    def _edge(self, edge: Edge) -> EdgeFigures:
        reach, threshold = self._reach[self._kind(edge)], edge.threshold or 0.0
        ends = ((edge.a, edge.b), edge.window.lo_s, edge.window.hi_s, threshold)
        count = reach.sensors.count
        if len(count) == 0:
            return EdgeFigures(*ends, 0, 0, None, None, None, None, reach.is_sample)
        in_all = int(count.sum())
        reaching = int(count[reach.reach(threshold)].sum()) if threshold else in_all
        sides = self._known[self._source[edge.a]], self._known[self._source[edge.b]]
        best = reach.best_pair(*sides, self._query.sensors)
        return EdgeFigures(*ends, in_all, reaching, reaching / in_all, *reach.extent(), best, reach.is_sample)

    def _joint(self, edges: Sequence[EdgeFigures], reached: Sequence[float]) -> JointFigures | None:
        greatest = [edge.greatest for edge in edges if edge.greatest is not None]
        if len(edges) < 2 or len(greatest) < len(edges):
            return None
        return JointFigures(self._query.joint_threshold, min(greatest), max(reached, default=None))

    def _is_reachable(self, edges: Sequence[EdgeFigures], *, reaches_all: bool) -> bool | None:
        """Whether all thresholds of some roles that make a match can be reached at once; None where that is open."""
        sets = self._smallest_sets()
        out_of_reach = [{*edge.between} for edge in edges if edge.is_out_of_reach]
        if not any(all(not ends <= roles for ends in out_of_reach) for roles in sets):
            return False
        reaching = [{*edge.between} for edge in edges if edge.reaching]
        of_two = any(roles in reaching for roles in sets if len(roles) == 2)
        return True if of_two or reaches_all else None

    def _smallest_sets(self) -> list[set[str]]:
        """Return the smallest sets of roles that make a match."""
        query, roles = self._query, self._query.graph.roles
        if query.at_least is None:
            return [{*roles}]
        count = max(query.at_least.count, 2 - len(query.required))
        return [{*query.required, *chosen} for chosen in combinations(query.at_least.optional(roles), count)]

    def _chance(self) -> ChanceFigures | None:
        chance = self._expected_chance.rate() if self._knows_chance else None
        return None if chance is None else self._chance_figures(chance)

    def _chance_figures(self, chance: ChanceRate) -> ChanceFigures:
        unknown = [source for source in self._known if self._share_passing(source) is None]
        left_out = (
            *dict.fromkeys(f"the condition on {name}" for source in unknown for name, _ in source.filter.where),
            *((f"that {self._query.equal} is equal",) if self._query.equal is not None else ()),
            *(("the joint threshold",) if chance.lacks_joint else ()),
        )
        is_upper_bound = chance.is_upper_bound or bool(left_out)
        return ChanceFigures(HOUR_S * chance.rate_hz, HOUR_S * chance.error_hz, is_upper_bound, left_out)

    def _work(self) -> ExpectedWork | None:
        """Return what to expect at the rates of the busiest area; None where none are known."""
        streams = _streams_of(self._sensors) if self._streams is None else self._streams
        if not any(self._busiest_hz.values()) or not {*self._query.streams} <= {*streams}:
            return None
        return expected_work(self._query, self._busiest_hz, streams)


def _how_many(sensors: Sequence[KnownSensor]) -> int:
    """Return how many sensors there are: of one with several templates there are several; one without a name is one."""
    nameless = sum(each.sensor is None for each in sensors)
    return len({each.sensor for each in sensors if each.sensor is not None}) + nameless


def _busiest_hz(sensors: Sequence[KnownSensor]) -> dict[str, float]:
    by_area: dict[str, dict[str, float]] = {}
    for each in sensors:
        of_area = by_area.setdefault(each.area, {})
        of_area[each.stream] = of_area.get(each.stream, 0.0) + each.rate_hz
    return SeenRates(by_area).busiest_hz()


def _streams_of(sensors: Sequence[KnownSensor]) -> dict[str, Stream]:
    """Return the streams, each as long as the longest of its templates."""
    longest_s: dict[str, float] = {}
    for each in sensors:
        longest_s[each.stream] = max(each.template.length_s, longest_s.get(each.stream, 0.0))
    return {name: Stream(name, longest_template_s=length_s) for name, length_s in longest_s.items()}

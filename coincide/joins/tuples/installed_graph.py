"""InstalledGraph: a graph at work on streams, and the tuples that new events complete."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import combinations

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, PositionArray
from coincide.arrays.numbers import is_whole
from coincide.constraints.conditions import JoinCondition, MemberRules, SensorRule
from coincide.constraints.graph import ConstraintGraph
from coincide.constraints.interchange import Interchange
from coincide.constraints.window import checked_threshold
from coincide.errors import GraphError
from coincide.joins.answers import Tuples
from coincide.joins.events import Events, sorted_events
from coincide.joins.pairs.installed_join import InstalledJoin
from coincide.joins.pairs.matching import Probe, matching_pairs
from coincide.joins.row_labels import RowLabels
from coincide.joins.stream_buffers import StreamBuffers
from coincide.joins.tuples.candidates import RoleBounds, RoleEvents
from coincide.joins.tuples.enumeration import Enumeration, PartialTuples
from coincide.joins.tuples.members import MemberColumns
from coincide.joins.tuples.set_order import are_told, in_group_order
from coincide.offsets.cache import LookUps
from coincide.offsets.pair_work import PairLimits
from coincide.templates.codes import TemplateRegistry


class InstalledGraph:
    """The edges of a graph, each with what is known of its template pairs.

    `streams` names the stream of each role, in the order of the roles.
    """

    def __init__(
        self, graph: ConstraintGraph, stream_of: Mapping[str, str], thresholds: Sequence[float], limits: PairLimits
    ) -> None:
        self.graph = graph
        self._stream_of = dict(stream_of)
        self.streams = [stream_of[role] for role in graph.roles]
        self.interchange = Interchange.of(graph, thresholds, self.streams)
        conditions = [
            JoinCondition(edge.a, edge.b, edge.window, threshold, "any")
            for edge, threshold in zip(graph.edges, thresholds, strict=True)
        ]
        self.edges = [InstalledJoin.install(condition, limits) for condition in conditions]
        self._bounds = self._bounds_of_edges()
        self._sizes: list[int] = []  # how many templates of each role are judged

    def bounds(self, templates: Mapping[str, TemplateRegistry]) -> RoleBounds:
        """Return how far members may lie from each other, by every template that is registered now."""
        sizes = [len(templates[name]) for name in self.streams]
        if sizes == self._sizes:
            return self._bounds
        self._sizes = sizes
        known = [edge.knowing(*self._registries(edge, templates)) for edge in self.edges]
        if any(new is not old for new, old in zip(known, self.edges, strict=True)):
            self.edges = known
            self._bounds = self._bounds_of_edges()
        return self._bounds

    def recode(self, templates: Mapping[str, TemplateRegistry], new_codes: Mapping[str, CodeArray]) -> None:
        """Follow a change of template codes: the new ones by old code, of each stream where they changed."""
        if not new_codes:
            return
        self._sizes = []
        renewed = []
        for edge in self.edges:
            codes = [new_codes.get(self._stream_of[role]) for role in (edge.condition.a, edge.condition.b)]
            changed = any(each is not None for each in codes)
            renewed.append(edge.renewed(*self._registries(edge, templates), *codes) if changed else edge)
        self.edges = renewed
        self._bounds = self._bounds_of_edges()

    @property
    def look_ups(self) -> LookUps:
        """What the caches of template pairs have done so far, all edges together; nothing while tables will do."""
        return reduce(LookUps.plus, (edge.look_ups for edge in self.edges))

    def _registries(
        self, edge: InstalledJoin, templates: Mapping[str, TemplateRegistry]
    ) -> tuple[TemplateRegistry, TemplateRegistry]:
        return templates[self._stream_of[edge.condition.a]], templates[self._stream_of[edge.condition.b]]

    def _bounds_of_edges(self) -> RoleBounds:
        return RoleBounds.of(self.graph, [(edge.as_a, edge.as_b) for edge in self.edges])


def with_thresholds(graph: ConstraintGraph, joint: float | None, exact: Mapping[str, bool]) -> list[float]:
    """Return the threshold of each edge: its own, and at least the joint one, which no edge's probability is below.

    `exact` tells of each role whether all its times are. An edge needs a threshold where they are not.
    """
    least = 0.0 if joint is None else checked_threshold(joint)
    thresholds = [max(edge.threshold or 0.0, least) for edge in graph.edges]
    for edge, threshold in zip(graph.edges, thresholds, strict=True):
        if threshold == 0.0 and not (exact[edge.a] and exact[edge.b]):
            between = f"edge {edge.a!r} - {edge.b!r}"
            raise GraphError("threshold", None, f"one for {between} or for all of them, since its times are not exact")
    return [threshold or 1.0 for threshold in thresholds]


def checked_at_least(at_least: int, installed: InstalledGraph) -> int:
    """Return a least number of members that the graph can have, else raise GraphError."""
    graph = installed.graph
    if not graph.is_clique:
        raise GraphError(
            "at_least", at_least, f"None for a {graph.form}: only a clique's members are all tied together"
        )
    if not is_whole(at_least) or not 2 <= at_least <= len(graph.roles):
        raise GraphError("at_least", at_least, f"a whole number from 2 to {len(graph.roles)}")
    if len(set(installed.streams)) < len(installed.streams):
        raise GraphError("at_least", at_least, "None where one stream has several roles")
    return at_least


@dataclass(frozen=True, eq=False)
class RefTuples:
    """Members of tuples; all arrays of shape (k, n). `template` is a code in the member's stream."""

    ref: Int64Array
    template: CodeArray
    detected_at_us: Int64Array

    @classmethod
    def all_of(cls, parts: Sequence[RefTuples], roles: int) -> RefTuples:
        """Return the tuples of all parts."""
        if len(parts) == 1:
            return parts[0]
        none = [np.empty((roles, 0), kind) for kind in (np.int64, np.int32, np.int64)]
        columns = zip(none, *((part.ref, part.template, part.detected_at_us) for part in parts), strict=True)
        return cls(*(np.concatenate(column, axis=1) for column in columns))

    def take(self, keep: BoolArray) -> RefTuples:
        """Return the tuples to keep."""
        return RefTuples(self.ref[:, keep], self.template[:, keep], self.detected_at_us[:, keep])


class CompleteTuples:
    """Finds tuples of events from `since_ref` on when their last member arrives.

    `threshold` is the least joint probability.
    """

    def __init__(
        self,
        installed: InstalledGraph,
        threshold: float | None,
        sensors: SensorRule,
        labels: RowLabels,
        since_ref: int = 0,
    ) -> None:
        self._installed, self._threshold, self._labels = installed, threshold, labels
        numbered = list(enumerate(installed.streams))
        self._twins = tuple((i, j) for (i, one), (j, other) in combinations(numbered, 2) if one == other)
        self._rules = MemberRules(
            sensors,
            since_ref,
            twins=self._twins,
            in_order=installed.interchange.pairs,
            root_arrived_last=bool(self._twins),
        )

    @property
    def meets_itself(self) -> bool:
        """Whether a stream has several roles: new rows meet each other too, once they are in the buffer."""
        return bool(self._twins)

    def changes(self, stream: str, batch: Events, buffers: StreamBuffers) -> tuple[Tuples, Tuples]:
        """Return the tuples whose last member is in a sorted batch, and none that it retracts."""
        if self._twins:
            parts = self._by_twins(stream, batch, buffers)
        else:
            two_streams = len(self._installed.streams) == 2
            parts = self._pairs(stream, batch, buffers) if two_streams else self._by_one_role(stream, batch, buffers)
        tuples = RefTuples.all_of(parts, len(self._installed.streams))
        if self._installed.interchange.swaps:
            tuples = self._told(tuples)
        for i, j in combinations(range(len(tuples.ref)), 2) if self._labels.is_keyed else ():
            tuples = tuples.take(self._labels.have_equal_keys(tuples.ref[i], tuples.ref[j]))
        graph, columns = self._installed.graph, self._columns(tuples, buffers)
        if self._threshold is not None:
            tuples = tuples.take(columns.at_least(graph, self._threshold))
            columns = self._columns(tuples, buffers)
        insert = Tuples(
            self._labels.names(tuples.ref.T),
            partial(columns.joint, graph, self._threshold),
            partial(columns.edge_probabilities, graph),
            threshold=self._threshold,
        )
        return insert, Tuples.none(len(graph.roles), len(graph.edges))

    def _pairs(self, stream: str, batch: Events, buffers: StreamBuffers) -> list[RefTuples]:
        """Find the tuples of two streams, which are the pairs of a timing join."""
        self._installed.bounds(buffers.templates)  # has all templates judged
        [edge] = self._installed.edges
        streams = self._installed.streams
        root = streams.index(stream)
        bounds = edge.as_a if self._installed.graph.roles[root] == edge.condition.a else edge.as_b
        probe = Probe.into(buffers.buffer(streams[1 - root]), batch, bounds, self._rules.sensors, self._rules.since_ref)
        roles = [RoleEvents(probe.stored)] * 2
        roles[root] = RoleEvents(sorted_events(batch))
        return [_event_tuples(roles, {root: rows, 1 - root: at}) for rows, at in matching_pairs(probe)]

    def _by_one_role(self, stream: str, batch: Events, buffers: StreamBuffers) -> list[RefTuples]:
        """Find tuples where every role has a stream of its own: the batch meets the buffers of the others."""
        root = self._installed.streams.index(stream)
        bounds = self._installed.bounds(buffers.templates)
        near = {
            name: RoleEvents(buffers.buffer(name).near(batch, *bounds.reach_us([root], [role])))
            for role, name in enumerate(self._installed.streams)
            if role != root
        }
        near[stream] = RoleEvents(sorted_events(batch))
        roles = [near[name] for name in self._installed.streams]
        enumeration = Enumeration(roles, bounds, self._rules)
        return [_event_tuples(roles, part) for part in enumeration.tuples(root)]

    def _by_twins(self, stream: str, batch: Events, buffers: StreamBuffers) -> list[RefTuples]:
        """Find tuples where a stream has several roles: the batch is in its buffer."""
        streams, bounds = self._installed.streams, self._installed.bounds(buffers.templates)
        roots = _roles_of(streams, stream)
        near = {
            name: RoleEvents(buffers.buffer(name).near(batch, *bounds.reach_us(roots, _roles_of(streams, name))))
            for name in streams
        }
        roles = [near[name] for name in streams]
        new = _rows_of(near[stream], batch)
        enumeration = Enumeration(roles, bounds, self._rules)
        return [_event_tuples(roles, part) for root in roots for part in enumeration.tuples(root, new)]

    def _told(self, tuples: RefTuples) -> RefTuples:
        """Give members the roles that they are told in; of tuples that differ by swaps of roles only one stays."""
        ref, time_us = tuples.ref.ravel(), tuples.detected_at_us.ravel()

        def goes_before(one: PositionArray, other: PositionArray) -> BoolArray:
            before: BoolArray = time_us[one] < time_us[other]
            ties = np.flatnonzero(time_us[one] == time_us[other])
            before[ties] = self._labels.goes_first(ref[one[ties]], ref[other[ties]])
            return before

        at = np.arange(ref.size).reshape(tuples.ref.shape)
        at = in_group_order(at, self._installed.interchange, goes_before)
        at = at[:, are_told(at, self._installed.interchange, goes_before)]
        return RefTuples(ref[at], tuples.template.ravel()[at], time_us[at])

    def _columns(self, tuples: RefTuples, buffers: StreamBuffers) -> MemberColumns:
        templates = [buffers.templates[name].templates for name in self._installed.streams]
        return MemberColumns(templates, tuples.template, tuples.detected_at_us)


def _roles_of(streams: Sequence[str], stream: str) -> list[int]:
    return [role for role, name in enumerate(streams) if name == stream]


def _rows_of(events: RoleEvents, batch: Events) -> RoleEvents:
    """Return the rows of a batch that has been inserted among the events of its stream."""
    if len(batch) == 0:
        return events.rows(0, 0)
    ends, area = batch.detected_at_us[[0, -1]], batch.area[[0, -1]]
    start, stop = events.within(area, ends, ends)
    stretch = events.rows(int(start[0]), int(stop[1]))
    return stretch.take(np.flatnonzero(stretch.stored.ref >= batch.ref.min()))


def _event_tuples(roles: list[RoleEvents], part: PartialTuples) -> RefTuples:
    members = [(events.stored, part[role]) for role, events in enumerate(roles)]
    columns = [(stored.ref[at], stored.template[at], stored.codec.time_us(stored.keys[at])) for stored, at in members]
    return RefTuples(*(np.array(column) for column in zip(*columns, strict=True)))

"""What is said of the tuples of a query of more than two roles, all together and edge by edge."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, PositionArray
from coincide.fusion.matching.advisory_work import AdvisoryBudget
from coincide.fusion.matching.chance_rates import ChanceJudge
from coincide.fusion.matching.match_verdicts import (
    DECIMALS,
    AlikeTuples,
    Verdicts,
    alike_tuples,
    as_recorded,
    hold_for_certain,
    hold_for_certain_within,
)
from coincide.fusion.matching.told_clocks import tell_clocks
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import EventColumns, VerifiedTemplates
from coincide.joins.search.search import judged_at_once
from coincide.joins.search.work import blocks
from coincide.places.place_registry import PlaceRegistry
from coincide.probability import JointProbability, occurrence_columns
from coincide.queries import Query
from coincide.wire.results.match_record import (
    GRAPH,
    TOO_MUCH_WORK,
    EdgeRecord,
    JointRecord,
    OccurrenceRecord,
    unknown_because,
)

NOTHING = JointRecord(0.0, 0.0, 0.0, certain=True)


@dataclass(frozen=True)
class TupleJudge:
    """Judges the tuples that a query of more than two roles found in a batch."""

    query: Query
    rows: EventColumns
    templates: VerifiedTemplates
    places: PlaceRegistry
    accepted: AcceptedBatch
    budget: AdvisoryBudget
    chance: ChanceJudge
    check: Callable[[], None]  # called between blocks of at most about a second; what it raises ends the judgement

    def verdicts(self, members: PositionArray) -> Verdicts:
        """Return what is said of each tuple, (n, roles), in the order of the newest members, whatever the batches."""
        probability, is_certain = np.zeros(len(members)), np.ones(len(members), np.bool_)
        occurred: list[OccurrenceRecord | None] = [None] * len(members)
        edges: list[list[EdgeRecord]] = [[]] * len(members)
        joint = [NOTHING] * len(members)
        tell, too_much = tell_clocks(members, self.rows, self.templates, self.accepted, self.budget)
        at_once = judged_at_once(self.query.graph, on_clocks=self.templates.has_clocks)
        for block in blocks(len(members), at_once, self.check):
            parts = self.rows, self.templates, self.places
            for alike in alike_tuples(self.query, members[block], *parts, part_by_width=self.query.has_joint):
                probabilities = alike.edge_probabilities().round(DECIMALS)
                of_edges = self._edges(alike, probabilities)
                if self.query.has_joint:
                    of_all, when = _of_all(alike, self.query.joint_threshold, tell[block][alike.at])
                else:
                    of_all, when = _bounds(probabilities), [None] * len(alike.at)
                for nth, at in enumerate((block.start + alike.at).tolist()):
                    joint[at], occurred[at], edges[at] = of_all[nth], when[nth], of_edges[nth]
                    probability[at] = self._thresholded(joint[at], edges[at])
                is_certain[block.start + alike.at] = self._hold_for_certain(alike, alike.positions(members[block]))
        chance = self.chance.rates(members, probability, is_certain)
        unknown = [
            unknown_because(None if when else GRAPH, why, TOO_MUCH_WORK if when and of_clocks else None)
            for when, why, of_clocks in zip(occurred, chance.unknown, too_much.tolist(), strict=True)
        ]
        return Verdicts(probability.tolist(), occurred, chance.rate_hz, chance.error_hz, edges, unknown, joint)

    def _hold_for_certain(self, alike: AlikeTuples, positions: PositionArray) -> BoolArray:
        """Whether all windows of each tuple hold at every possible time of its members."""
        certain = np.ones(len(alike.at), np.bool_)
        for nth, edge in enumerate(alike.graph.edges):
            ends = positions[[alike.graph.roles.index(edge.a), alike.graph.roles.index(edge.b)]]
            if alike.half_width_ms is None or edge.by_distance is None:
                certain &= hold_for_certain(edge.window, ends, self.rows, self.templates)
            else:
                certain &= hold_for_certain_within(alike.half_width_ms[nth], ends, self.rows, self.templates)
        return certain

    def _thresholded(self, joint: JointRecord, edges: Sequence[EdgeRecord]) -> float:
        """Return the probability that the query has a threshold for."""
        return joint.probability if self.query.joint_threshold is not None else min(each.probability for each in edges)

    def _edges(self, alike: AlikeTuples, probabilities: FloatArray) -> list[list[EdgeRecord]]:
        """Return each tuple's edges in the order of the query's, named as it names them."""
        names = [role for role, _ in self.query.roles]
        between = {edge.pair: (nth, (edge.a, edge.b)) for nth, edge in enumerate(self.query.graph.edges)}
        ends = [[alike.graph.roles.index(name) for name in (edge.a, edge.b)] for edge in alike.graph.edges]
        records = []
        for roles, of_edges in zip(alike.roles.tolist(), probabilities.tolist(), strict=True):
            pairs = (frozenset(names[roles[end]] for end in each) for each in ends)
            in_order = sorted((*between[pair], each) for pair, each in zip(pairs, of_edges, strict=True))
            records.append([EdgeRecord(named, each) for _, named, each in in_order])
        return records


def _of_all(
    alike: AlikeTuples, threshold: float | None, tell: BoolArray
) -> tuple[list[JointRecord], Sequence[OccurrenceRecord | None]]:
    """Return the joint probability, and the onset that only a clique of one symmetric window has: its mass is it."""
    graph, columns = alike.graph, alike.columns
    window = graph.uniform_window
    if window is None:
        return _joint_records(columns.joint(graph, threshold), threshold), [None] * len(alike.at)
    when = occurrence_columns(columns.templates, columns.template_index, columns.detected_at_us, window, tell)
    return _joint_records(JointProbability.exactly(when.probability), threshold), as_recorded(when)


def _bounds(of_edges: FloatArray) -> list[JointRecord]:
    """Return between what the joint probabilities are, given those of the edges, (n, edges), and the edges' product.

    All windows hold at most as often as the rarest does, and fail at most as often as each of them together (Boole).
    The product is never less than that.
    """
    greatest = of_edges.min(axis=1)
    least = np.maximum(1.0 - (1.0 - of_edges).sum(axis=1), 0.0)
    guess = np.clip(of_edges.prod(axis=1), least, greatest)
    columns = (each.round(DECIMALS).tolist() for each in (guess, least, greatest))
    return [JointRecord(*fields) for fields in zip(*columns, [True] * len(guess), strict=True)]


def _joint_records(joint: JointProbability, threshold: float | None) -> list[JointRecord]:
    certain = [True] * len(joint) if threshold is None else joint.is_certain(threshold).tolist()
    columns = (each.round(DECIMALS).tolist() for each in (joint.value, joint.lower, joint.upper))
    return [JointRecord(*fields) for fields in zip(*columns, certain, strict=True)]

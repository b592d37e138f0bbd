"""Figures: what a run says about thresholds: the histogram of P, and matches and episodes against the threshold."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.queries import EpisodeRule, Query
from spark_jobs.episodes.episode_records import part_of
from spark_jobs.episodes.query_episodes import labels_of
from spark_jobs.records.match_records import FusedMatch

BINS = 20
STEP = 0.01  # between the thresholds of a curve


def own_threshold(query: Query) -> float:
    """Return the threshold that a curve varies: the joint one, else the least of the edges."""
    return query.joint_threshold or min(edge.threshold or 0.0 for edge in query.graph.edges)


def has_one_threshold(query: Query) -> bool:
    """Whether one number says how sure the query is: there is a joint threshold, or the edges' are equal."""
    return query.joint_threshold is not None or len({edge.threshold for edge in query.graph.edges}) == 1


def with_threshold(query: Query, threshold: float) -> Query:
    """Return the query with another value of its one threshold."""
    if query.joint_threshold is not None:
        within = tuple(
            edge if edge.threshold is None else replace(edge, threshold=min(edge.threshold, threshold))
            for edge in query.within
        )
        return replace(query, joint_threshold=threshold, within=within)
    return replace(query, within=tuple(replace(edge, threshold=threshold) for edge in query.within))


@dataclass
class MatchFigures:
    """What curves need of the matches of a run, in columns."""

    rule: EpisodeRule | None
    _probability: list[float] = field(default_factory=list)
    _spans_us: list[tuple[int, int]] = field(default_factory=list)
    _group: list[int] = field(default_factory=list)
    _groups: dict[tuple[str, bytes], int] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._probability)

    def add(self, match: FusedMatch) -> None:
        """Take one match."""
        self._probability.append(match.probability)
        if self.rule is not None:
            part = part_of(match, self.rule.interval, 0)
            group = (match.area, labels_of(self.rule.by, match.members))
            self._spans_us.append((part.start_us, part.end_us))
            self._group.append(self._groups.setdefault(group, len(self._groups)))

    def histogram(self) -> dict[str, list[float]]:
        """Return how many matches there are in each of 20 equal ranges of P."""
        counts, edges = np.histogram(self._probability, BINS, (0.0, 1.0))
        return {"edges": [round(edge, 9) for edge in edges.tolist()], "counts": counts.tolist()}

    def curve(self, thresholds: Iterable[float]) -> list[dict[str, Any]]:
        """Return how many matches reach each threshold, and how many episodes they make."""
        probability = np.array(self._probability)
        runs = self._runs()
        points = []
        for threshold in thresholds:
            reached = probability >= threshold
            point: dict[str, Any] = {"threshold": threshold, "matches": int(reached.sum())}
            points.append(point if runs is None else {**point, "episodes": runs.count(reached)})
        return points

    def _runs(self) -> "SpanRuns | None":
        if self.rule is None:
            return None
        return SpanRuns.of(np.array(self._spans_us, np.int64).reshape(-1, 2), np.array(self._group), self.rule.gap_us)


@dataclass(frozen=True, eq=False)
class SpanRuns:
    """Spans by group and start, of which those at most a gap apart make one episode."""

    order: IndexArray
    spans_us: Int64Array
    group: IndexArray
    gap_us: int

    @classmethod
    def of(cls, spans_us: Int64Array, group: IndexArray, gap_us: int) -> "SpanRuns":
        """Return spans, (n, 2), of the groups (n,)."""
        order = np.lexsort((spans_us[:, 0], group))
        return cls(order, spans_us[order], group[order], gap_us)

    def count(self, chosen: BoolArray) -> int:
        """Return how many episodes the chosen spans make, bool (n,) in the order given at first."""
        at = np.flatnonzero(chosen[self.order])
        if len(at) == 0:
            return 0
        (start_us, end_us), group = self.spans_us[at].T, self.group[at]
        is_first = np.ones(len(at), np.bool_)
        is_first[1:] = group[1:] != group[:-1]
        reach_us = _greatest_so_far(end_us, is_first)
        is_first[1:] |= start_us[1:] - self.gap_us > reach_us[:-1]
        return int(is_first.sum())


def _greatest_so_far(values: Int64Array, is_first: BoolArray) -> Int64Array:
    """Return the greatest value up to and including each one since the last first."""
    starts = [*np.flatnonzero(is_first).tolist(), len(values)]
    greatest = np.empty_like(values)
    for start, stop in pairwise(starts):
        greatest[start:stop] = np.maximum.accumulate(values[start:stop])
    return greatest


def thresholds_from(least: float, own: float) -> FloatArray:
    """Return the thresholds of a curve: whole percents from the least one on, and the query's own.

    Examples
    --------
    >>> thresholds_from(0.975, 0.985).tolist()
    [0.975, 0.98, 0.985, 0.99, 1.0]
    """
    whole = np.round(np.arange(np.ceil(round(least / STEP, 6)), 1 / STEP + 0.5) * STEP, 9)
    thresholds: FloatArray = np.unique([min(least, own), own, *whole])
    return thresholds

"""Figures: what a run says about thresholds: the histogram of P, and matches and episodes against the threshold."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.fusion.episodes.episode_records import part_of
from coincide.fusion.episodes.query_episodes import labels_of
from coincide.queries import EpisodeRule, Query
from coincide.wire.results.match_record import MatchRecord
from services.history.replaying.complete_answer import FoundTuples
from services.history.rows.played_rows import PlayedRows

BINS = 20
STEP = 0.01  # between the thresholds of a curve


def has_one_threshold(query: Query) -> bool:
    """Whether one number says how sure the query is: there is a joint threshold, or the edges' are equal."""
    return query.joint_threshold is not None or len({edge.threshold for edge in query.graph.edges}) == 1


def at_threshold(query: Query, threshold: float) -> Query:
    """Return the query whose matches the point of a curve counts: all that the query asks, and so probable at least."""
    if has_one_threshold(query):
        return query.with_threshold(threshold)
    within = (replace(edge, threshold=max(edge.threshold or 0.0, threshold)) for edge in query.within)
    return replace(query, within=tuple(within))


class MatchColumns(NamedTuple):
    """What a curve needs of n matches: what each reaches; and if they coalesce, their spans, (n, 2), and groups, (n,).

    `groups` are those that `group` counts: an area and the query's labels, as a JSON list.
    """

    reached: FloatArray
    spans_us: Int64Array
    group: IndexArray
    groups: Sequence[tuple[str, bytes]]

    @classmethod
    def of_records(cls, matches: Sequence[MatchRecord], rule: EpisodeRule | None) -> "MatchColumns":
        """Take them from match records."""
        probability = np.array([match.probability for match in matches], np.float64)
        if rule is None:
            return cls(probability, *NO_SPANS)
        parts = [part_of(match, rule.interval, 0) for match in matches]
        named = [(match.area, labels_of(rule.by, match.members)) for match in matches]
        groups = {name: nth for nth, name in enumerate(dict.fromkeys(named))}
        spans_us = np.array([(part.start_us, part.end_us) for part in parts], np.int64).reshape(-1, 2)
        return cls(probability, spans_us, np.array([groups[name] for name in named], np.intp), [*groups])

    @classmethod
    def of_tuples(cls, played: PlayedRows, tuples: FoundTuples, rule: EpisodeRule | None) -> "MatchColumns":
        """Take them from tuples, without a record of each."""
        if rule is None:
            return cls(tuples.reached, *NO_SPANS)
        group, groups = played.groups(tuples.rows, rule.by)
        spans_us = played.hulls_us(tuples.rows) if rule.interval == "hull" else played.onsets_us(tuples.rows)
        return cls(tuples.reached, spans_us, group, groups)


NO_SPANS = np.empty((0, 2), np.int64), np.empty(0, np.intp), ()


@dataclass
class MatchFigures:
    """What curves need of the matches of a run, as they come."""

    rule: EpisodeRule | None
    _parts: list[MatchColumns] = field(default_factory=list)
    _groups: dict[tuple[str, bytes], int] = field(default_factory=dict)
    _count: int = 0

    def __len__(self) -> int:
        return self._count

    def extend(self, matches: MatchColumns) -> None:
        """Take some matches."""
        codes = np.array([self._groups.setdefault(name, len(self._groups)) for name in matches.groups], np.intp)
        self._parts.append(matches._replace(group=codes[matches.group] if len(codes) else matches.group, groups=()))
        self._count += len(matches.reached)

    def histogram(self) -> dict[str, list[float]]:
        """Return how many matches there are in each of 20 equal ranges of P."""
        edges = np.linspace(0.0, 1.0, BINS + 1).round(9)
        counts, _ = np.histogram(self._reached, edges)
        return {"edges": edges.tolist(), "counts": counts.tolist()}

    def curve(self, thresholds: Iterable[float]) -> list[dict[str, Any]]:
        """Return how many matches reach each threshold, and how many episodes they make."""
        runs = self._runs()
        points = []
        for threshold in thresholds:
            reached = self._reached >= threshold
            point: dict[str, Any] = {"threshold": threshold, "matches": int(reached.sum())}
            points.append(point if runs is None else {**point, "episodes": runs.count(reached)})
        return points

    @property
    def _reached(self) -> FloatArray:
        return self._whole.reached

    @property
    def _whole(self) -> MatchColumns:
        """All parts as one, which they are from then on."""
        nothing = MatchColumns(np.empty(0), *NO_SPANS)
        probability, spans_us, group, _ = zip(nothing, *self._parts, strict=True)
        whole = MatchColumns(np.concatenate(probability), np.concatenate(spans_us), np.concatenate(group), ())
        self._parts = [whole]
        return whole

    def _runs(self) -> "SpanRuns | None":
        if self.rule is None:
            return None
        return SpanRuns.of(self._whole.spans_us, self._whole.group, self.rule.gap_us)


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
    above = whole[whole > least]  # rounding may take the first one below it, even to 0
    thresholds: FloatArray = np.unique([min(least, own), own, *above])
    return thresholds


def some_of(thresholds: Sequence[float], most: int, own: float) -> list[float]:
    """Return at most so many of the thresholds of a curve, from the first to the last, the query's own among them.

    Examples
    --------
    >>> some_of([0.1, 0.2, 0.3, 0.4, 0.5], 3, own=0.2)
    [0.1, 0.2, 0.5]
    """
    if most < 1:
        return []
    at = np.linspace(0, len(thresholds) - 1, most - 1).round().astype(int)
    return sorted({own, *(thresholds[each] for each in at.tolist())})


def rounded(value: float) -> float:
    """Return a number with six digits."""
    return float(f"{value:.6g}")

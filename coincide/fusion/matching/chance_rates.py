"""Chance rates of matches: how often chance alone gives one of the same query, area and templates that is as good."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import isnan

import numpy as np
from msgspec import UNSET, UnsetType

from coincide import ConstraintGraph
from coincide.arrays.kinds import BoolArray, FloatArray, PositionArray
from coincide.fusion.matching.advisory_work import AdvisoryBudget, first_of_each
from coincide.fusion.matching.match_verdicts import alike_tuples, half_widths_ms
from coincide.fusion.rows.batch_rows import AcceptedBatch
from coincide.fusion.rows.event_table import FEW_ROWS, EventColumns, VerifiedTemplates
from coincide.fusion.rows.rates import Background
from coincide.joins.search.work import blocks
from coincide.joins.tuples.set_order import ABSENT
from coincide.offsets.distance_offsets import least_long_ms
from coincide.places.place_registry import PlaceRegistry
from coincide.queries import Query
from coincide.thresholds.offset_volumes import SECONDS_OF_HALF_MS, GraphRows, offset_volumes, volumes_work
from coincide.wire.results.match_record import HAS_EQUAL, IS_FILTERED, NOT_WATCHED_YET, TOO_MUCH_WORK, UnknownReason

LEVELS = 100  # probabilities are rounded down to a whole percent, so that few volumes are ever worked out
AS_PROBABLE = 1e-12  # probabilities closer than this are equal
CERTAIN = 1.0
MOST_KNOWN = 65_536
VOLUMES_AT_ONCE = 256
SIGNIFICANT_DIGITS = 6
DIGITS_OF_ERROR = 2

Volume = tuple[float, float]
"""In seconds to the power of one less than the members, and its standard error."""
NOTHING: Volume = (float("nan"), float("nan"))


def levels(probability: FloatArray, threshold: float, is_certain: BoolArray) -> FloatArray:
    """How probable the chance matches of each match are at least, (n,): a whole percent, or the query's threshold.

    What is less probable than that is no match. Only where every possible time of every member lies in the windows it
    is `CERTAIN`. The offsets for that follow from the ends of the templates alone, and so take no work; for almost
    certain they take five times as much as for any other level.
    """
    whole = np.minimum(np.floor((probability + AS_PROBABLE) * LEVELS), LEVELS - 1) / LEVELS
    return np.where(is_certain, CERTAIN, np.maximum(whole, threshold))


def rival_rows(
    query: Query,
    members: PositionArray,
    level: FloatArray,
    rows: EventColumns,
    templates: VerifiedTemplates,
    places: PlaceRegistry,
) -> Iterator[tuple[PositionArray, GraphRows]]:
    """Part tuples by their constraint graph: which they are, and what their chance matches must reach."""
    has_joint = query.joint_threshold is not None
    for alike in alike_tuples(query, members, rows, templates, places, part_by_width=has_joint):
        at_least = level[alike.at]
        own = np.array([[edge.threshold or 0.0] for edge in alike.graph.edges])
        joint = _reached(at_least) if has_joint else None
        known, index = alike.columns.templates, np.asarray(alike.columns.template_index, np.int64)
        least = _reached(np.maximum(own, at_least))
        yield alike.at, GraphRows(alike.graph, known, index, least, joint, alike.half_width_ms)


def _reached(level: FloatArray) -> FloatArray:
    return np.where(level == CERTAIN, CERTAIN, np.maximum(level - AS_PROBABLE, level / 2))


class RivalVolumes:
    """Volumes of offsets by graph, templates and level; what is remembered changes no answer."""

    def __init__(self) -> None:
        self._known: dict[tuple[ConstraintGraph, bool], dict[tuple[object, ...], Volume]] = {}
        self.of_one: dict[tuple[object, ...], Volume] = {}  # what the only match of a frame was told

    def volumes(self, rows: GraphRows, level: FloatArray) -> list[Volume]:
        """Return the volume of each row.

        That of two members in a long window of their own follows from that in the shortest long one.
        """
        if rows.half_width_ms is not None and len(rows.graph.edges) == 1:
            [pairs], [widths_ms] = rows.pairs(), rows.half_width_ms
            long_ms = np.minimum(widths_ms, least_long_ms(pairs))
            further_s = (widths_ms - long_ms) * SECONDS_OF_HALF_MS
            of_long = self._volumes(replace(rows, half_width_ms=long_ms[None]), level)
            return [(value + more, error) for (value, error), more in zip(of_long, further_s.tolist(), strict=True)]
        return self._volumes(rows, level)

    def _volumes(self, rows: GraphRows, level: FloatArray) -> list[Volume]:
        if sum(map(len, self._known.values())) + len(self.of_one) > MOST_KNOWN:
            self._known.clear()
            self.of_one.clear()
        known = self._known.setdefault((rows.graph, rows.joint is not None), {})
        ids = [[template.id for template in side] for side in rows.templates]
        widths_ms = np.empty((0, len(rows)), np.int64) if rows.half_width_ms is None else rows.half_width_ms
        named = zip(zip(level.tolist(), *widths_ms.tolist(), strict=True), *rows.index.tolist(), strict=True)
        keys = [(*of_row, *(side[nth] for side, nth in zip(ids, index, strict=True))) for of_row, *index in named]
        new = {key: nth for nth, key in enumerate(keys) if key not in known}
        if new:
            volumes = offset_volumes(rows.take(np.array([*new.values()], np.int64)))
            known.update(zip(new, zip(volumes.value.tolist(), volumes.error.tolist(), strict=True), strict=True))
        return [known[key] for key in keys]


@dataclass(frozen=True)
class ChanceRates:
    """One entry for each match: the rate, its standard error where one is told, and why there is no rate."""

    rate_hz: list[float | None]
    error_hz: list[float | UnsetType]
    unknown: list[UnknownReason | None]

    @classmethod
    def unknown_for(cls, reason: UnknownReason, count: int) -> ChanceRates:
        """Return no rates, so many times."""
        return cls([None] * count, [UNSET] * count, [reason] * count)


@dataclass(frozen=True)
class ChanceJudge:
    """Tells the chance rates of the matches that one query found in a batch."""

    query: Query
    streams: tuple[int, ...]
    rows: EventColumns
    templates: VerifiedTemplates
    places: PlaceRegistry
    accepted: AcceptedBatch
    rivals: RivalVolumes
    budget: AdvisoryBudget
    check: Callable[[], None]  # called between blocks of at most about a second; what it raises ends the judgement

    def rates(self, members: PositionArray, probability: FloatArray, is_certain: BoolArray) -> ChanceRates:
        """Rate of chance matches in the area of each match, (n, roles), in the order of the newest members."""
        if self.query.equal is not None or self.query.is_filtered:
            return ChanceRates.unknown_for(IS_FILTERED if self.query.equal is None else HAS_EQUAL, len(members))
        told = ChanceRates.unknown_for(NOT_WATCHED_YET, len(members))
        watched = self._rate_products(members)
        at = np.array([*watched], np.int64)
        level = levels(probability, self._least_threshold(), is_certain)[at]
        for (nth, product), (volume, error) in zip(watched.items(), self._volumes(members[at], level), strict=True):
            is_unknown = isnan(volume) or isnan(product)
            told.unknown[nth] = TOO_MUCH_WORK if is_unknown else None
            if not is_unknown:
                told.rate_hz[nth] = _rounded(product * volume, SIGNIFICANT_DIGITS)
                if len(self.streams) > 2:
                    told.error_hz[nth] = _rounded(product * error, DIGITS_OF_ERROR)
        return told

    def _rate_products(self, members: PositionArray) -> dict[int, float]:
        """Product of the members' rates where the area has been watched; NaN where that would take too much.

        Members that can take their roles in several ways count once.
        """
        newest, present = members.max(axis=1), (members != ABSENT) @ (1 << np.arange(members.shape[1]))
        places = zip(self.rows.area[newest].tolist(), self.rows.seq[newest].tolist(), strict=True)
        known = [self.accepted.backgrounds.at(area, seq) for area, seq in places]
        kinds = list(zip(known, present.tolist(), strict=True))
        products = {
            (background, roles): self._rate_product(background, roles)
            for background, roles in set(kinds)
            if background is not None
        }
        return {nth: products[kind] for nth, kind in enumerate(kinds) if kind in products}

    def _rate_product(self, background: Background, present: int) -> float:
        roles = [role for role in range(len(self.streams)) if present >> role & 1]
        product = background.rate_product([self.streams[role] for role in roles], self.query.sensors)
        return product / self.query.interchange.ways(roles)

    def _least_threshold(self) -> float:
        thresholds = [edge.threshold or 0.0 for edge in self.query.graph.edges]
        return self.query.joint_threshold or min(thresholds)

    def _volumes(self, members: PositionArray, level: FloatArray) -> list[Volume]:
        """Return how much room chance matches have; NaN where that would take too much.

        A detection and a frame pay for the same templates and level once, whether they are remembered or not.
        """
        if len(members) == 0:
            return []
        newest = self.rows.seq[members.max(axis=1)]
        frames = self.accepted.frames_of(newest)
        is_short = len(members) <= FEW_ROWS and not self.query.graph.is_by_distance
        if is_short and len(set(frames.tolist())) == len(members):
            return [self._volume_of_one(members[nth : nth + 1], level[nth : nth + 1]) for nth in range(len(members))]
        codes = np.where(members == ABSENT, ABSENT, self.rows.template[members])
        widths_ms = np.empty((0, len(members)), np.int64)
        if self.query.graph.is_by_distance:
            widths_ms = half_widths_ms(self.query.graph, members, self.rows, self.places).T
        first, kind = first_of_each(level, *codes.T.astype(np.int64), *widths_ms)
        work = np.empty(len(first))
        for at, rows in rival_rows(self.query, members[first], level[first], self.rows, self.templates, self.places):
            work[at] = volumes_work(rows)
        affordable = self.budget.affords(work[kind], kind, newest, frames)
        wanted = np.unique(kind[affordable])
        of_kind = dict[int, Volume]()
        for block in blocks(len(wanted), VOLUMES_AT_ONCE, self.check):
            kinds, some = wanted[block], first[wanted[block]]
            for at, rows in rival_rows(self.query, members[some], level[some], self.rows, self.templates, self.places):
                of_kind |= zip(kinds[at].tolist(), self.rivals.volumes(rows, level[some][at]), strict=True)
        return [of_kind[nth] if yes else NOTHING for nth, yes in zip(kind.tolist(), affordable.tolist(), strict=True)]

    def _volume_of_one(self, members: PositionArray, level: FloatArray) -> Volume:
        """Return how much room chance matches have, as `_volumes` does for the only match of a frame."""
        codes = [None if at == ABSENT else int(self.rows.template[at]) for at in members[0].tolist()]
        ids = [None if code is None else self.templates.histogram(code).id for code in codes]
        key = self.query.graph, self.query.joint_threshold is not None, float(level[0]), *ids
        known = self.rivals.of_one.get(key)
        if known is None:
            [(_, rows)] = rival_rows(self.query, members, level, self.rows, self.templates, self.places)
            self.check()
            known = NOTHING
            if self.budget.affords_one(float(volumes_work(rows)[0])):
                [known] = self.rivals.volumes(rows, level)
            self.rivals.of_one[key] = known
        return known


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")

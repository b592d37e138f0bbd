"""SourceTest: whether one source explains each of many sets of reports, which a search for matches asks often.

P of consistency with the place from which the times fit best settles most sets that one source explains: that place is
found for all sets at once. The others are searched one by one, and P is taken at the places that the reports make most
probable. So it is never said that a source explains a set that none does; at a P just above the threshold the search
may miss it. What is said of a set depends on the set alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import BoolArray, FloatArray, IndexArray, Int64Array
from coincide.constraints.graph import ConstraintGraph
from coincide.constraints.window import Window, checked_threshold
from coincide.errors import PlaceError
from coincide.places.local_frame import LocalFrame
from coincide.places.place import Place
from coincide.places.place_columns import Places
from coincide.probability.joint.probability import joint_probabilities
from coincide.sources.nearest_places import nearest_places
from coincide.sources.place_search import Cells, found_cells
from coincide.sources.report_density import ReportDensity
from coincide.sources.source_rule import SourceRule
from coincide.sources.window_bounds import window_bounds
from coincide.templates.histogram import Histogram

SETS_AT_ONCE = 512
MOST_PLACES = 48  # of a search, at which P is taken
MOST_PARTS = 32  # of a large set, whose places are looked at
SPREADS = 2.0  # standard deviations by which a time may be off that fits


def _goes_on() -> None:
    """Let it go on."""


@dataclass(frozen=True, eq=False)
class ReportSets:
    """n sets of k reports each, all from places of one kind.

    Attributes
    ----------
    places : Places
        Places that the sets name.
    at_place : ndarray of int, shape (n, k)
    templates : sequence of Histogram
        Templates that the sets name.
    template : ndarray of int, shape (n, k)
    detected_at_us : ndarray of int64, shape (n, k)
    """

    places: Places
    at_place: IndexArray
    templates: Sequence[Histogram]
    template: IndexArray
    detected_at_us: Int64Array

    def __len__(self) -> int:
        return len(self.at_place)

    def take(self, rows: slice | IndexArray) -> ReportSets:
        """Return some of the sets."""
        columns = self.at_place[rows], self.templates, self.template[rows], self.detected_at_us[rows]
        return ReportSets(self.places, *columns)

    @property
    def reported_s(self) -> FloatArray:
        """Reported times from the first of each set, (n, k)."""
        return (self.detected_at_us - self.detected_at_us[:, :1]) / 1e6

    def members(self, row: int) -> tuple[Histogram, ...]:
        """Return the template of each member of a set."""
        return tuple(self.templates[each] for each in self.template[row].tolist())


@dataclass(frozen=True)
class ExplainedBy:
    """How probable it is that a set is consistent with one place, at least, and the place."""

    probability: float
    place: Place


@dataclass(frozen=True)
class SourceTest:
    """One source explains a set if P of consistency with some place reaches the threshold.

    Parameters
    ----------
    rule : SourceRule
    threshold : float
        Above 0, to 1.

    Raises
    ------
    ThresholdError

    Examples
    --------
    >>> from coincide.places import FramePlace
    >>> square = Places.of([FramePlace(0, 0), FramePlace(100, 0), FramePlace(0, 100), FramePlace(100, 100)])
    >>> clock, four = Histogram.uniform(-0.001, 0.001), np.arange(4)[None]
    >>> heard_us = np.array([[145_773, 235_057, 195_574, 269_008]])
    >>> test = SourceTest(SourceRule(343, slack_s=0.004), 0.5)
    >>> test.explains(ReportSets(square, four, [clock], np.zeros((1, 4), int), heard_us)).tolist()
    [True]
    """

    rule: SourceRule
    threshold: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "threshold", checked_threshold(self.threshold))

    def explains(self, sets: ReportSets, check: Callable[[], None] = _goes_on) -> BoolArray:
        """Whether one source explains each set, bool (n,). Members that are more than 600 km apart are not explained.

        Parameters
        ----------
        sets : ReportSets
            Of as many members as determine a place, or more.
        check : callable, optional
            Called between blocks of work that take a second at most; what it raises ends the work.
        """
        explained = np.empty(len(sets), np.bool_)
        for first in range(0, len(sets), SETS_AT_ONCE):
            check()
            part = slice(first, min(first + SETS_AT_ONCE, len(sets)))
            explained[part] = self._explained(sets.take(part), check)
        return explained

    def likely(self, sets: ReportSets, pool: ReportSets) -> BoolArray:
        """Return which members of one large set one source may explain, bool (k,), as its small parts say it.

        Of the places from which the parts fit best it is the one from which the times of most members fit. That is a
        guess, to be tested.
        """
        near, of_pool = _Sets(self.rule, sets.take(_spread_over(len(sets)))), _Sets(self.rule, pool)
        frame = of_pool.surroundings[0].frame
        found = zip(near.surroundings, near.nearest_m.tolist(), strict=True)
        places_m = frame.metres(Places.of([each.frame.place(*place_m) for each, place_m in found]))
        means_s, stds_s = (np.array([getattr(each, of) for each in pool.members(0)]) for of in ("mean_s", "std_s"))
        came_s = of_pool.corrected_s(np.zeros(len(places_m), np.intp), places_m) + means_s
        late_s = np.abs(came_s - np.median(came_s, axis=1, keepdims=True))
        fits: BoolArray = late_s <= self.rule.slack_s / 2 + SPREADS * stds_s
        return np.asarray(fits[int(np.argmax(fits.sum(axis=1)))])

    def explained_by(self, sets: ReportSets, row: int, also: Sequence[Place] = ()) -> ExplainedBy | None:
        """Return the place with the greatest P that was found for one set; None if none was possible.

        It reaches the threshold if `explains` says so. Places in `also` are tried, too.
        """
        near = _Sets(self.rule, sets.take(np.array([row])))
        around = near.surroundings[0]
        if around.box_m is None:
            return None
        places_m = np.concatenate((near.nearest_m, *(around.frame.metres(Places.of([each])) for each in also)))
        probability = near.probability(np.zeros(len(places_m), np.intp), places_m)
        if probability.max() < self.threshold and (searched_m := self._searched(near, 0)) is not None:
            places_m = np.concatenate((places_m, searched_m))
            probability = near.probability(np.zeros(len(places_m), np.intp), places_m)
        best = int(np.argmax(probability))
        if probability[best] == 0.0:
            return None
        return ExplainedBy(float(probability[best]), around.frame.place(*places_m[best].tolist()))

    def _explained(self, every: ReportSets, check: Callable[[], None]) -> BoolArray:
        in_reach = np.array([each.box_m is not None for each in _Sets(self.rule, every).surroundings])
        explained_of_all = np.zeros(len(every), np.bool_)
        if in_reach.any():
            explained_of_all[in_reach] = self._explained_in_reach(every.take(np.flatnonzero(in_reach)), check)
        return explained_of_all

    def _explained_in_reach(self, sets: ReportSets, check: Callable[[], None]) -> BoolArray:
        near = _Sets(self.rule, sets)
        explained = self._reaches(near, np.arange(len(sets)), near.nearest_m)
        for row in np.flatnonzero(~explained).tolist():
            check()
            places_m = self._searched(near, row)
            if places_m is not None:
                explained[row] = self._reaches(near, np.full(len(places_m), row), places_m).any()
        return explained

    def _reaches(self, near: _Sets, rows: IndexArray, places_m: FloatArray) -> BoolArray:
        """Whether P at each place, of the set in that row, reaches the threshold."""
        least, most = window_bounds(
            near.sets.templates, near.sets.template[rows], near.corrected_s(rows, places_m), self.rule.slack_s
        )
        reaches: BoolArray = least >= self.threshold
        open_ = np.flatnonzero(~reaches & (most >= self.threshold))
        if len(open_):
            reaches[open_] = near.probability(rows[open_], places_m[open_]) >= self.threshold
        return reaches

    def _searched(self, near: _Sets, row: int) -> FloatArray | None:
        """Return the places that the reports of one set make most probable; None if no place explains them."""
        members_m, reported_s = near.members_m[row], near.sets.reported_s[row]
        density = ReportDensity.of(near.sets.members(row), reported_s, self.rule.slack_s)
        centre_m, half_m = near.surroundings[row].room_m
        found = found_cells(density, self.rule.travel, members_m, Cells(centre_m[None], half_m))
        if found is None:
            return None
        order = np.argsort(-found.log_density, kind="stable")[:MOST_PLACES]
        return found.cells.centres_m[order]


def _spread_over(count: int) -> IndexArray:
    return np.unique(np.linspace(0, count - 1, MOST_PARTS).astype(np.intp))


@dataclass(frozen=True, eq=False)
class _Surroundings:
    """The frame of some places, where they are in it, and where sources may be."""

    frame: LocalFrame
    members_m: FloatArray
    box_m: tuple[FloatArray, FloatArray] | None

    @property
    def room_m(self) -> tuple[FloatArray, FloatArray]:
        """The box, of members that have one."""
        assert self.box_m is not None  # noqa: S101 - others are not asked for a place
        return self.box_m

    @classmethod
    def of(cls, rule: SourceRule, places: Places) -> _Surroundings:
        try:
            frame = LocalFrame.around(places)
        except PlaceError:  # so far apart that the Earth is no plane
            return cls(LocalFrame(places.kind), np.zeros((len(places), 3)), None)
        members_m = frame.metres(places)
        return cls(frame, members_m, rule.box_m(members_m))


@dataclass(frozen=True, eq=False)
class _Sets:
    """Sets beside what their places make of them."""

    rule: SourceRule
    sets: ReportSets

    @cached_property
    def surroundings(self) -> list[_Surroundings]:
        """Those of each set; sets of the same sensors share them."""
        known: dict[tuple[int, ...], _Surroundings] = {}
        for key in map(tuple, self.sets.at_place.tolist()):
            if key not in known:
                places = self.sets.places
                known[key] = _Surroundings.of(self.rule, Places(places.kind, places.coordinates[list(key)]))
        return [known[key] for key in map(tuple, self.sets.at_place.tolist())]

    @cached_property
    def members_m(self) -> FloatArray:
        """Where the members are, (n, k, 3)."""
        return np.stack([each.members_m for each in self.surroundings])

    @cached_property
    def nearest_m(self) -> FloatArray:
        """The place from which the times of each set fit best, (n, 3)."""
        means_s = np.array([template.mean_s for template in self.sets.templates])
        centre_m, half_m = (np.stack([each.room_m[end] for each in self.surroundings]) for end in (0, 1))
        came_s = self.sets.reported_s + means_s[self.sets.template]
        return nearest_places(self.rule.travel, self.members_m, came_s, centre_m - half_m, centre_m + half_m)

    def corrected_s(self, rows: IndexArray, places_m: FloatArray) -> FloatArray:
        """Return reported times of sets less the travel times from a place each, but for a time that all share."""
        away_m = self.members_m[rows] - places_m[:, None]
        travel_s = self.rule.travel.time_s(np.sqrt((away_m * away_m).sum(axis=2)))
        corrected_s: FloatArray = self.sets.reported_s[rows] - (travel_s - travel_s.mean(axis=1, keepdims=True))
        return corrected_s

    def probability(self, rows: IndexArray, places_m: FloatArray) -> FloatArray:
        """P of consistency of sets with a place each, (n,)."""
        members = self.sets.template.shape[1]
        graph = ConstraintGraph.clique([str(nth) for nth in range(members)], Window(self.rule.slack_s))
        corrected_us = np.rint(self.corrected_s(rows, places_m) * 1e6).astype(np.int64).T
        index = self.sets.template[rows].T
        joint = joint_probabilities(graph, [list(self.sets.templates)] * members, index, corrected_us)
        probability: FloatArray = joint.value
        return probability

"""time_slides: the join of batches whose sensors are shifted against each other, again and again, and its counts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.chunks.reach import graph_reach_us
from coincide.constraints.at_least import AtLeast
from coincide.constraints.conditions import SensorRule, checked_sensor_rule
from coincide.constraints.graph import ConstraintGraph, checked_graph
from coincide.constraints.window import MICROSECONDS_PER_SECOND
from coincide.errors import SlidesError, WindowError
from coincide.joins.detections import Detections
from coincide.joins.labels import Keys
from coincide.joins.progress import Progress, checked_progress
from coincide.joins.tuples.maximal_sets import MOST_CANDIDATES
from coincide.joins.tuples.tuple_blocks import Where
from coincide.joins.tuples.tuple_join import window_join, window_join_blocks
from coincide.slides.area_times import area_times
from coincide.slides.count_interval import count_interval
from coincide.slides.shifts import longest_step_us, shifts_us, step_growth_us
from coincide.templates.histogram import Histogram
from coincide.thresholds.recorded_times import RecordedTime

USUAL_SLIDES = 100
MOST_SLIDES = 10_000
MOST_MATCHES = 20_000_000
COVERAGE = 0.9
USUAL_REACHES = 10


@dataclass(frozen=True, eq=False)
class TimeSlides:
    """What was counted in n slides and a areas, and what that says of chance.

    Areas with one sensor are not among these: nothing matches there.

    Attributes
    ----------
    counts : Int64Array, shape (n, a)
        Matches.
    unshifted : int
        Matches of the batches as they are, in these areas.
    recorded : sequence of RecordedTime
        Of each area.
    sensors : sequence of int
        How many were shifted against each other in each area.
    left_out : int
        How many areas were recorded for too short a time for their sensors, and so left out.
    least_step_us : int
        By how much at least any two of them were shifted.
    overlaps : bool
        Whether slides shift two sensors almost alike, so that their counts are not independent of each other.
    """

    counts: Int64Array
    unshifted: int
    recorded: Sequence[RecordedTime]
    sensors: Sequence[int]
    left_out: int
    least_step_us: int
    overlaps: bool

    @classmethod
    def together(cls, found: Sequence[TimeSlides]) -> TimeSlides:
        """Return what was counted in areas of several parts, which were slid as often; one part or more."""
        return cls(
            np.concatenate([each.counts for each in found], axis=1),
            sum(each.unshifted for each in found),
            [area for each in found for area in each.recorded],
            [sensors for each in found for sensors in each.sensors],
            sum(each.left_out for each in found),
            min(each.least_step_us for each in found if each.recorded),
            any(each.overlaps for each in found),
        )

    @property
    def expected(self) -> float:
        """How many matches chance gives in the recorded time: the mean over slides."""
        return float(self.counts.sum()) / len(self.counts)

    @property
    def rate_hz(self) -> float:
        """Matches by chance a second, all areas together."""
        return float(self._of_areas @ self._weights_hz)

    @property
    def interval_hz(self) -> tuple[float, float]:
        """Interval of `rate_hz`, 90 %: by the gamma distribution, exact for matches that come one by one.

        It is wider by `clumping`. It takes slides as independent of each other, which those that `overlaps` speaks of
        are not; then it is rather too narrow. It is about chance with the reports as they are: how much another day
        would differ is not in it.
        """
        return count_interval(self._of_areas, self._weights_hz, self.clumping, COVERAGE)

    @cached_property
    def clumping(self) -> float:
        """Variance over mean of the slides' counts, at least 1: matches that share members come in clumps."""
        of_slides = self.counts.sum(axis=1)
        mean = float(of_slides.mean())
        return max(1.0, float(of_slides.var(ddof=1)) / mean) if mean > 0 and len(of_slides) > 1 else 1.0

    @property
    def _of_areas(self) -> FloatArray:
        of_areas: FloatArray = self.counts.sum(axis=0).astype(np.float64)
        return of_areas

    @property
    def _weights_hz(self) -> FloatArray:
        """What one match of each area adds to the rate."""
        seconds = np.array([area.moments for area in self.recorded], np.float64) / MICROSECONDS_PER_SECOND
        return 1 / (len(self.counts) * seconds)


def time_slides(  # noqa: PLR0913 - the question of a window join, and how much work it may be
    batches: Mapping[str, Detections],
    graph: ConstraintGraph,
    key: Keys | None = None,
    threshold: float | None = None,
    where: Where | None = None,
    sensors: SensorRule = "different",
    *,
    at_least: int | AtLeast | None = None,
    max_candidates: int = MOST_CANDIDATES,
    slides: int = USUAL_SLIDES,
    least_step_s: float | None = None,
    most_matches: int = MOST_MATCHES,
    progress: Progress | None = None,
) -> TimeSlides:
    """Count the matches of a window join whose sensors are shifted against each other: what is left is chance.

    In every area all sensors are shifted against each other by more than a match can reach, within the recorded time:
    what would pass its end goes on at its beginning, and pauses are passed over (`RecordedTime.turned`). So no report
    is lost and none comes to stand in a pause. Shifts are a function of the number of the slide, of how many sensors
    the area has and of the recorded time; see `coincide.slides.shifts`.

    Unlike `chance_rate` this supposes nothing of how reports come. What sensors share for longer than they are shifted
    stays: rates that rise and fall together. What one sensor does alone stays, too, such as bursts and echoes.

    Parameters
    ----------
    batches, graph, key, threshold, where, sensors, at_least, max_candidates
        As in `window_join`. A sensor is shifted with all that it reports; where `sensors` lets its reports match, with
        all of one batch. Rows without a sensor are shifted as those of one.
    slides : int
        How many, 1 to 10,000. Each is as much work as the join, which is done once more.
    least_step_s : float, optional
        By how much sensors are shifted at least beyond the reach of a match: as long as one event goes on, so that its
        own reports do not meet. By default nine times the reach, or less where the recorded time is short for so many.
    most_matches : int
        How many matches may be counted in all.
    progress : callable, optional
        Called with the share that is done, inside each join, too. What it raises ends the work.

    Raises
    ------
    SlidesError
        The recorded time of every area is too short for its sensors, reports of one sensor could match each other, or
        there are more than `most_matches`.
    CoincideError
        As `window_join` does.

    Examples
    --------
    Two sensors report about 1,000 times in 10,000 s each, with nothing to do with each other:

    >>> from coincide.constraints.window import Window
    >>> from coincide.templates.histogram import Histogram
    >>> rng, exact = np.random.default_rng(0), [Histogram.point()]
    >>> a, b = (Detections(rng.integers(0, 10**10, 1_000), exact, sensor=[name] * 1_000) for name in "ab")
    >>> found = time_slides({"a": a, "b": b}, ConstraintGraph.binary("a", "b", Window(2), 1.0), slides=20)
    >>> low, high = (each * 10_000 for each in found.interval_hz)
    >>> low < 400 < high  # 0.1 * 0.1 a second in 4 s of offsets, for 10,000 s
    True
    """
    heard, rule = checked_progress(progress), checked_sensor_rule(sensors)
    shifted = _ShiftedBatches.of(batches, checked_graph(graph), threshold, rule, at_least, _us(least_step_s), slides)
    counted = np.zeros((slides + 1, len(shifted.areas)), np.int64)
    for nth in range(slides + 1):  # slide 0 is the join itself

        def heard_of_slide(share: float, done: int = nth) -> None:
            heard((done + share) / (slides + 1))

        moved = shifted.slide(nth)
        if at_least is None:
            blocks = window_join_blocks(moved, graph, key, threshold, where, rule, progress=heard_of_slide)
        else:
            join = partial(window_join, at_least=at_least, max_candidates=max_candidates, progress=heard_of_slide)
            blocks = iter([join(moved, graph, key, threshold, where, rule)])
        for tuples in blocks:
            counted[nth] += shifted.by_area(tuples.members)
            if counted.sum() > most_matches:
                allowed = f"there are more, after {nth} of {slides} slides: ask for fewer slides or a higher threshold"
                raise SlidesError("most_matches", most_matches, allowed)
    return shifted.told(counted)


def _us(seconds: float | None) -> int | None:
    if seconds is None:
        return None
    if not 0 <= seconds <= 1e9:
        raise SlidesError("least_step_s", seconds, "seconds, from 0 to 1e9")
    return round(seconds * MICROSECONDS_PER_SECOND)


class _Area(NamedTuple):
    """An area's rows in each batch, the number of each row's sensor, how many there are, its time and least shift."""

    rows: Sequence[Int64Array]
    sensor: Sequence[Int64Array]
    sensors: int
    recorded: RecordedTime
    least_us: int

    @property
    def is_long(self) -> bool:
        """Whether its sensors can be shifted so far."""
        return longest_step_us(self.sensors, self.recorded.moments) >= self.least_us


@dataclass(frozen=True, eq=False)
class _ShiftedBatches:
    """Batches by role, each once, and what it takes to shift their rows."""

    roles: Mapping[str, int]  # position of each role's batch
    batches: Sequence[Detections]
    areas: Sequence[_Area]
    left_out: int
    reach_us: int
    slides: int

    @classmethod
    def of(
        cls,
        batches: Mapping[str, Detections],
        graph: ConstraintGraph,
        threshold: float | None,
        rule: SensorRule,
        at_least: int | AtLeast | None,
        further_us: int | None,
        slides: int,
    ) -> _ShiftedBatches:
        if not 1 <= slides <= MOST_SLIDES:
            raise SlidesError("slides", slides, f"how many, 1 to {MOST_SLIDES}")
        opened = [edge for edge in graph.edges if edge.window.is_open]
        if opened:
            raise WindowError("window", opened[0].window, "a window with two ends: no shift is beyond one without")
        window_join({role: batch[:0] for role, batch in batches.items()}, graph, None, threshold, None, rule)
        each = {id(batch): batch for batch in batches.values()}
        at = {name: nth for nth, name in enumerate(each)}
        roles = {role: at[id(batch)] for role, batch in batches.items()}
        distinct = [*each.values()]
        _refuse_own_matches(roles, distinct, rule)
        templates = {role: [*_used(batch)] for role, batch in batches.items()}
        reach_us = graph_reach_us(graph, threshold, templates, at_least)
        least = partial(_least_us, reach_us, further_us, slides)
        areas = [*_areas(distinct, least, by_batch=rule != "different")]
        long = [area for area in areas if area.is_long]
        if areas and not long:
            _refuse_short(areas)
        return cls(roles, distinct, long, len(areas) - len(long), reach_us, slides)

    def slide(self, number: int) -> dict[str, Detections]:
        """Return the batches of each role, shifted; in slide 0 as they are."""
        times_us = [batch.detected_at_us.copy() for batch in self.batches]
        for area in self.areas:
            shift_us = shifts_us(number, self.slides, area.sensors, area.recorded.moments, area.least_us)
            for at_us, rows, sensor in zip(times_us, area.rows, area.sensor, strict=True):
                at_us[rows] = area.recorded.turned(at_us[rows], shift_us[sensor])
        moved = [_at(batch, at_us) for batch, at_us in zip(self.batches, times_us, strict=True)]
        return {role: moved[nth] for role, nth in self.roles.items()}

    @cached_property
    def area_of(self) -> Sequence[Int64Array]:
        """Position of the area of each row of each batch; behind all others that of areas left out."""
        positions = [np.full(len(batch), len(self.areas)) for batch in self.batches]
        for nth, area in enumerate(self.areas):
            for rows, of_batch in zip(area.rows, positions, strict=True):
                of_batch[rows] = nth
        return positions

    def by_area(self, members: Int64Array) -> Int64Array:
        """Count tuples by area; every one has a member, and all of its members have one area."""
        area = np.zeros(len(members), np.int64)
        for column, nth in zip(members.T, self.roles.values(), strict=True):
            present = column >= 0
            area[present] = self.area_of[nth][column[present]]
        counted: Int64Array = np.bincount(area, minlength=len(self.areas) + 1)[:-1].astype(np.int64)
        return counted

    def told(self, counted: Int64Array) -> TimeSlides:
        """Return what was counted."""
        recorded, sensors = [area.recorded for area in self.areas], [area.sensors for area in self.areas]
        growth_us = (
            step_growth_us(self.slides, area.sensors, area.recorded.moments, area.least_us) for area in self.areas
        )
        overlaps = self.slides > 1 and any(each <= 2 * self.reach_us for each in growth_us)
        unshifted = int(counted[0].sum())
        least_us = min((area.least_us for area in self.areas), default=0)
        return TimeSlides(counted[1:], unshifted, recorded, sensors, self.left_out, least_us, overlaps)


def _least_us(reach_us: int, further_us: int | None, slides: int, sensors: int, moments: int) -> int:
    """Return the least shift: by more than twice the reach, so that neither neighbour of a shifted sensor is near."""
    if further_us is not None:
        return reach_us + max(further_us, reach_us) + 1
    return max(2 * reach_us + 1, min(USUAL_REACHES * reach_us, longest_step_us(sensors, moments) // slides))


def _refuse_short(areas: Sequence[_Area]) -> None:
    area = max(areas, key=lambda each: each.recorded.moments / (each.sensors * each.least_us))
    least_s = area.least_us / MICROSECONDS_PER_SECOND
    allowed = f"at least {area.sensors * least_s:g} s, to shift {area.sensors} sensors by {least_s:g} s each"
    raise SlidesError("recorded time", area.recorded.seconds, allowed)


def _refuse_own_matches(roles: Mapping[str, int], batches: Sequence[Detections], rule: SensorRule) -> None:
    """Refuse what shifts cannot part: reports of one sensor, or of nobody knows whom, that meet each other."""
    meets_itself = [batches[nth] for nth in set(roles.values()) if [*roles.values()].count(nth) > 1]
    if meets_itself and rule != "different":
        raise SlidesError(
            "sensors", rule, "'different' where a stream meets itself: one sensor cannot be shifted apart"
        )
    if any(batch.sensor is None and len(batch) for batch in meets_itself):
        raise SlidesError("sensor", None, "who reported each row, where a stream meets itself")


def _areas(batches: Sequence[Detections], least: Callable[[int, int], int], *, by_batch: bool) -> Iterator[_Area]:
    """Yield areas of two sensors and more, these numbered; `by_batch`: one sensor in two batches is two."""
    for area in area_times(batches):
        marks = [
            np.where(codes < 0, -1 - nth, codes.astype(np.int64) * len(batches) + nth if by_batch else codes)
            for nth, codes in enumerate(area.sensors)
        ]
        different, number = np.unique(np.concatenate(marks), return_inverse=True)
        ends = np.cumsum([len(each) for each in marks])[:-1]
        if len(different) > 1:
            sensor, least_us = np.split(number.ravel(), ends), least(len(different), area.recorded.moments)
            yield _Area(area.rows, sensor, len(different), area.recorded, least_us)


def _used(batch: Detections) -> Iterator[Histogram]:
    return (batch.templates[at] for at in np.unique(batch.template_index).tolist())


def _at(batch: Detections, at_us: Int64Array) -> Detections:
    """Return the same events at other times."""
    return Detections(at_us, batch.templates, batch.template_index, batch.area, batch.sensor, id=batch.id)

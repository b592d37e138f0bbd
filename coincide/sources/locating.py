"""located_source: where one source was that made some reports, how well that is determined, and when it was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, pi

import numpy as np

from coincide.arrays.kinds import FloatArray, Int64Array
from coincide.arrays.numbers import whole_numbers
from coincide.errors import OffsetError, PlaceError
from coincide.places.local_frame import LocalFrame
from coincide.places.place import Place
from coincide.places.place_columns import Places
from coincide.sources.arrivals import Arrivals
from coincide.sources.place_search import MOST_CELLS, Cells, FoundCells, found_cells
from coincide.sources.report_density import ReportDensity
from coincide.sources.source_rule import SourceRule
from coincide.templates.histogram import Histogram
from coincide.templates.template_columns import checked_templates

REGION = 0.9
TIME_CELLS = 512
MOST_MEMBERS = 100  # with 24 edges each their steps are numbered in 12 bits
FURTHEST_APART_US = 1_000_000_000_000  # 11 days: longer than anything travels


@dataclass(frozen=True)
class Ellipse:
    """The horizontal ellipse about the mean place that has 90 % of the probability.

    `major_m` and `minor_m` are half axes; `azimuth_deg` is that of the major one, from north over east, 0 to 180.
    """

    major_m: float
    minor_m: float
    azimuth_deg: float


@dataclass(frozen=True)
class Region:
    """Cells, the fewest that have 90 % of the probability, by falling probability.

    Attributes
    ----------
    centres : Places
        Middles of the cells.
    half_m : tuple of float
        Half the size of each, east, north and up.
    probability : ndarray of float64, shape (n,)
    """

    centres: Places
    half_m: tuple[float, float, float]
    probability: FloatArray


@dataclass(frozen=True, eq=False)
class SourceLocation:
    """Where and when one source was that explains all reports.

    Attributes
    ----------
    place : Place
        The mean place: of all places the one with the least expected squared distance.
    peak : Place
        The most probable place: the middle of the cell that the reports make most probable.
    mean_us, p05_us, p95_us : int
        When it was at the source: mean, and the ends of the central 90 %.
    residual_s : tuple of float
        For each member, how much later it came than from the most probable place, by the mean of its template.
    log_density : float
        Logarithm of the density of the reports but the first one, per second to the power of k - 1, if a source may be
        anywhere in the box with equal probability.
    lost : float
        At most so much of the probability lies in cells that were left out.
    """

    place: Place
    peak: Place
    mean_us: int
    p05_us: int
    p95_us: int
    residual_s: tuple[float, ...]
    log_density: float
    lost: float
    _frame: LocalFrame
    _found: FoundCells

    @cached_property
    def region(self) -> Region:
        """The 90 % region as cells."""
        return self.region_in(MOST_CELLS)

    def region_in(self, most_cells: int) -> Region:
        """Return the 90 % region as so many cells at most, some of them together where it has more."""
        weight = self._found.weight
        order = np.argsort(-weight, kind="stable")
        order = order[: int(np.searchsorted(np.cumsum(weight[order]), REGION)) + 1]
        cells, weight = self._found.cells.take(order), weight[order]
        while len(cells) > most_cells:
            cells, weight = _coarser(cells, weight)
        order = np.argsort(-weight, kind="stable")
        centres = Places.of([self._frame.place(*each) for each in cells.centres_m[order].tolist()])
        east, north, up = cells.half_m.tolist()
        return Region(centres, (east, north, up), weight[order])

    @cached_property
    def ellipse(self) -> Ellipse:
        """The 90 % region as an ellipse, also where its shape is another."""
        weight, flat = self._found.weight, self._found.cells.centres_m[:, :2]
        away = flat - weight @ flat
        inside = np.diag(self._found.cells.half_m[:2] ** 2 / 3)  # places are spread over each cell, too
        spread = (away * weight[:, None]).T @ away + inside
        axes, directions = np.linalg.eigh(spread)
        squares = (away @ np.linalg.inv(spread) * away).sum(axis=1)
        order = np.argsort(squares)
        reach = squares[order][min(int(np.searchsorted(np.cumsum(weight[order]), REGION)), len(order) - 1)]
        minor, major = np.sqrt(axes * reach).tolist()
        east, north = directions[:, 1].tolist()
        return Ellipse(major, minor, float(np.degrees(np.arctan2(east, north)) % 180))

    @cached_property
    def height_m(self) -> tuple[float, float]:
        """The ends of the central 90 % of the height."""
        height, weight = self._found.cells.centres_m[:, 2], self._found.weight
        order = np.argsort(height)
        at = np.searchsorted(np.cumsum(weight[order]), [0.05, 0.95])
        low, high = height[order][np.minimum(at, len(order) - 1)].tolist()
        return low, high


def located_source(
    rule: SourceRule, places: Places, templates: Sequence[Histogram], detected_at_us: Sequence[int]
) -> SourceLocation | None:
    """Return where one source was that made k members report as they did; None if no place explains all of them.

    A source at place z and time t makes member i report r_i with density u_i(t + travel_i(z) - r_i), its template. All
    times are equally likely, and all places in the box of `rule`. So the probability of a place is proportional to

        L(z) = integral prod_i u_i(t + travel_i(z) - r_i) dt

    Templates are spread by the rule's slack. L is exact at the middle of each cell but for rounding to a nanosecond.

    Parameters
    ----------
    rule : SourceRule
    places : Places
        Of each member.
    templates : sequence of Histogram
        Of each member, independent of each other: of members that are all on one clock, their own.
    detected_at_us : sequence of int
        Reported time of each member in microseconds.

    Returns
    -------
    SourceLocation or None

    Raises
    ------
    PlaceError, HistogramError, OffsetError
        Fewer members than determine a place are refused: 3 in the plane, 4 with a height.

    Examples
    --------
    Four microphones on a square of 100 m hear a bang 30 m east and 40 m north of the first:

    >>> from coincide.places import FramePlace
    >>> square = Places.of([FramePlace(0, 0), FramePlace(100, 0), FramePlace(0, 100), FramePlace(100, 100)])
    >>> heard_us = [145_773, 235_057, 195_574, 269_008]
    >>> bang = located_source(SourceRule(343, slack_s=0.004), square, [Histogram.uniform(-0.001, 0.001)] * 4, heard_us)
    >>> round(bang.place.x_m), round(bang.place.y_m), abs(bang.mean_us) < 1000
    (30, 40, True)
    """
    known, at_us = checked_members(rule, places, templates, detected_at_us)
    frame = LocalFrame.around(places)
    members_m = frame.metres(places)
    density = ReportDensity.of(known, (at_us - at_us[0]) / 1e6, rule.slack_s)
    room = rule.box_m(members_m)
    if room is None:
        return None
    box = Cells(room[0][None], room[1])
    found = found_cells(density, rule.travel, members_m, box)
    return None if found is None else _location(rule, frame, members_m, density, found, int(at_us[0]), box)


def checked_members(
    rule: SourceRule, places: Places, templates: Sequence[Histogram], detected_at_us: Sequence[int]
) -> tuple[tuple[Histogram, ...], Int64Array]:
    """Return templates and times of members that are enough, one for each place."""
    known = checked_templates("templates", templates)
    if not rule.least_members <= len(places) <= MOST_MEMBERS:
        allowed = f"{rule.least_members} to {MOST_MEMBERS} members: fewer do not determine a place"
        raise PlaceError("places", len(places), allowed)
    if len(known) != len(places):
        raise PlaceError("templates", len(known), f"one for each of {len(places)} places")
    at_us = whole_numbers("detected_at_us", detected_at_us, (len(places),), OffsetError)
    if int(at_us.max()) - int(at_us.min()) > FURTHEST_APART_US:
        raise OffsetError("detected_at_us", list(detected_at_us), "at most 1e6 seconds apart")
    return known, at_us


def _location(
    rule: SourceRule,
    frame: LocalFrame,
    members_m: FloatArray,
    density: ReportDensity,
    found: FoundCells,
    origin_us: int,
    box: Cells,
) -> SourceLocation:
    weight, centres_m = found.weight, found.cells.centres_m
    peak_m = centres_m[int(np.argmax(weight))]
    at_peak = Arrivals.of(rule.travel, members_m, peak_m[None], np.zeros(3))
    middle_s, of_piece = density.over_time(at_peak)
    came_s = float((middle_s * of_piece).sum() / of_piece.sum()) + at_peak.mean_s[0] + at_peak.apart_s[0]
    mean_us, p05_us, p95_us = (origin_us + round(each * 1e6) for each in _when_s(density, found))
    log_lost = found.log_lost - found.log_mass
    return SourceLocation(
        place=frame.place(*(weight @ centres_m).tolist()),
        peak=frame.place(*peak_m.tolist()),
        mean_us=mean_us,
        p05_us=p05_us,
        p95_us=p95_us,
        residual_s=tuple((density.mean_s - came_s).tolist()),
        log_density=found.log_mass - box.log_volume,
        lost=1.0 if log_lost > 50 else exp(log_lost) / (1 + exp(log_lost)),
        _frame=frame,
        _found=found,
    )


def _coarser(cells: Cells, weight: FloatArray) -> tuple[Cells, FloatArray]:
    """Return cells of twice the size along the axis where they are smallest, each with the weight of all in it."""
    half_m = cells.half_m.copy()
    axis = int(np.argmin(np.where(half_m > 0, half_m, np.inf)))
    size_m = 2 * half_m
    low_m = cells.centres_m.min(axis=0)
    number = np.rint(np.divide(cells.centres_m - low_m, size_m, out=np.zeros_like(cells.centres_m), where=size_m > 0))
    number[:, axis] //= 2
    half_m[axis] *= 2
    numbers, of = np.unique(number, axis=0, return_inverse=True)
    centres_m = low_m + numbers * (2 * half_m)
    centres_m[:, axis] += half_m[axis] / 2
    together: FloatArray = np.bincount(of.ravel(), weight).astype(np.float64)
    return Cells(centres_m, half_m), together


def _when_s(density: ReportDensity, found: FoundCells) -> tuple[float, float, float]:
    """Return the mean and the ends of the central 90 % of the time of the source, over all places."""
    rows = np.flatnonzero(found.weight > found.weight.max() * 3e-3)
    time_s, weight = (each.ravel() for each in density.over_time(found.arrivals.take(rows)))
    time_s, weight = time_s[weight > 0], weight[weight > 0]
    mean_s = float((time_s * weight).sum() / weight.sum())
    first_s, last_s = float(time_s.min()), float(time_s.max())
    at = ((time_s - first_s) * (TIME_CELLS / max(last_s - first_s, 1e-9))).astype(np.int64)
    below = np.append(0.0, np.cumsum(np.bincount(at, weight, TIME_CELLS)))
    edges = np.linspace(first_s, last_s, TIME_CELLS + 1)
    p05_s, p95_s = np.interp([0.05, 0.95], below[: TIME_CELLS + 1] / below[-1], edges).tolist()
    return mean_s, p05_s, p95_s


def area_m2(ellipse: Ellipse) -> float:
    """Return the area of an ellipse."""
    return pi * ellipse.major_m * ellipse.minor_m

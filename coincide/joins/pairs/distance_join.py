"""distance_join: the exact join of two batches whose window follows from the distance of the two sensors.

A template at a place takes the part of a template. So the kernel of `timing_join` looks for partners of each event in
the longest window that its sensor has, and judges them by the offsets of both templates in the window of both places.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from coincide.arrays.kinds import BoolArray, CodeArray, FloatArray, IndexArray, Int64Array, PositionArray
from coincide.constraints.conditions import SensorRule
from coincide.constraints.window import Window, checked_threshold
from coincide.errors import DetectionsError, WindowError
from coincide.joins.answers import Pairs
from coincide.joins.detections import Detections
from coincide.joins.pairs.pair_join import BatchJoin
from coincide.joins.pairs.placed import PlacedDetections
from coincide.offsets.cache import OffsetCache
from coincide.offsets.distance_offsets import distance_offset_ranges
from coincide.offsets.long_windows import least_probability
from coincide.offsets.satisfaction_table import SatisfactionTable
from coincide.places.distance_window import DistanceWindow, half_width_s, window_of_ms
from coincide.probability.difference import probabilities_within
from coincide.templates.codes import TemplatesInOrder
from coincide.templates.template_columns import TemplatePairs

TABLE_PAIRS = 1_048_576  # of templates at places: about 50 MB; where there are more, pairs are judged as they meet
REACH_MARGIN = 1.06  # distances along the Earth are off by at most 5 %


def distance_join(
    a: PlacedDetections,
    b: PlacedDetections | None,
    window: DistanceWindow,
    threshold: float,
    sensors: SensorRule = "different",
) -> Pairs:
    """Pairs with P(|Xb - Xa| <= travel time between the two places + slack) >= threshold.

    Parameters
    ----------
    a, b : PlacedDetections
        `b` None joins `a` with itself: each pair of rows counts once, as in `timing_join`.
    window : DistanceWindow
        Rounded up to a millisecond for each two places.
    threshold : float
        In (0, 1].
    sensors : {"different", "same", "any"}
        Which sensors the two events may come from.

    Returns
    -------
    Pairs
        As `timing_join` answers.

    Raises
    ------
    CoincideError
        As in `timing_join`; or the places of a and b are of two kinds.

    Examples
    --------
    >>> from coincide import Histogram
    >>> from coincide.places import FramePlace
    >>> mics = {1: FramePlace(0, 0), 2: FramePlace(343, 0), 3: FramePlace(3430, 0)}
    >>> heard = Detections([0, 1_100_000, 1_200_000], [Histogram.point()], sensor=[1, 2, 3])
    >>> pairs = distance_join(PlacedDetections.by_sensor(heard, mics), None, DistanceWindow(343), 0.5)
    >>> pairs.left.tolist(), pairs.right.tolist()  # 1 and 2 are too near for sound to take 1.1 s
    ([0, 1], [2, 2])
    """
    threshold = checked_threshold(threshold)
    sides = (_checked_placed("a", a), a if b is None else _checked_placed("b", b))
    if not isinstance(window, DistanceWindow):
        raise WindowError("window", window, "a DistanceWindow, such as DistanceWindow(343, slack_s=0.2)")
    us, vs = (_TemplatesAtPlaces.of(side) for side in sides)
    windows = _Windows(us, vs, window)
    join = BatchJoin.judged(us.batch, None if b is None else vs.batch, windows.judge(threshold), sensors)
    left, right = join.columns()
    return Pairs(left, right, _ProbabilitiesOfRows(windows, left, right))


def _checked_placed(field: str, side: object) -> PlacedDetections:
    if not isinstance(side, PlacedDetections):
        raise DetectionsError(field, side, "PlacedDetections, such as PlacedDetections.by_sensor(detections, places)")
    return side


@dataclass(frozen=True, eq=False)
class _TemplatesAtPlaces:
    """Each template at each place that a row has: their codes take the part of the templates of `batch`."""

    side: PlacedDetections
    batch: Detections
    place: IndexArray

    @classmethod
    def of(cls, side: PlacedDetections) -> _TemplatesAtPlaces:
        rows = side.detections
        names = rows.template_index.astype(np.int64) * max(1, len(side.places)) + side.place_index
        distinct, code = np.unique(names, return_inverse=True)
        template, place = np.divmod(distinct, max(1, len(side.places)))
        batch = Detections(
            rows.detected_at_us,
            [rows.templates[each] for each in template.tolist()],
            code,
            rows.area,
            rows.sensor,
            id=rows.id,
        )
        return cls(side, batch, place)


@dataclass(frozen=True, eq=False)
class _Windows:
    """The windows between the templates at places of two sides."""

    us: _TemplatesAtPlaces
    vs: _TemplatesAtPlaces
    window: DistanceWindow

    def half_width_ms(self, u: IndexArray, v: IndexArray) -> Int64Array:
        """Half of the window of each two codes, shape (n,)."""
        places, others = self.us.side.places, self.vs.side.places
        widths: Int64Array = self.window.half_width_ms(
            places.distance_m(self.us.place[u], self.vs.place[v], others=others)
        )
        return widths

    def judge(self, threshold: float) -> SatisfactionTable | OffsetCache:
        """Return what tells which offsets qualify: all worked out, or judged as pairs meet where they are many."""
        us, vs = self.us.batch.templates, self.vs.batch.templates
        if len(us) * len(vs) > TABLE_PAIRS:
            return _DistanceJudge(self, threshold)
        u, v = (each.ravel() for each in np.indices((len(us), len(vs))))
        widths_ms = self.half_width_ms(u, v)
        widest = window_of_ms(int(widths_ms.max(initial=0)))
        ranges = distance_offset_ranges(TemplatePairs(us, vs, u, v), widths_ms, threshold)
        return SatisfactionTable.of_ranges(us, vs, widest, threshold, ranges)

    @cached_property
    def widest(self) -> Window:
        """A window that is at least as wide as any, without looking at every two places: by way of the first."""
        places, others = self.us.side.places, self.vs.side.places
        out_m = places.distance_m(np.arange(len(places)), 0).max(initial=0.0)
        back_m = places.distance_m(0, np.arange(len(others)), others=others).max(initial=0.0)
        return self.window.window(REACH_MARGIN * (out_m + back_m))

    def probabilities(self, u: IndexArray, v: IndexArray, offset_us: Int64Array) -> FloatArray:
        """P of each two codes at an offset, in their own window, shape (n,)."""
        us, vs = self.us.batch.templates, self.vs.batch.templates
        widths_s = half_width_s(self.half_width_ms(u, v))
        return probabilities_within(TemplatePairs(us, vs, u, v), offset_us, widths_s)


class _DistanceJudge(OffsetCache):
    """Judges each two events as they meet: every row may bring its own template and place."""

    def __init__(self, windows: _Windows, threshold: float) -> None:
        us, vs = (TemplatesInOrder(side.batch.templates) for side in (windows.us, windows.vs))
        super().__init__(windows.widest, threshold, us, vs)
        self._windows = windows

    def contain(self, u: CodeArray, v: CodeArray, offset_us: Int64Array) -> BoolArray:
        """Whether each offset tb - ta qualifies for its templates at their places."""
        probability = self._windows.probabilities(u.astype(np.int64), v.astype(np.int64), offset_us)
        return probability >= least_probability(self.threshold)


@dataclass(frozen=True, eq=False)
class _ProbabilitiesOfRows:
    windows: _Windows
    left: PositionArray
    right: PositionArray

    def __call__(self) -> FloatArray:
        a, b = self.windows.us.batch, self.windows.vs.batch
        u, v = (side.template_index[rows].astype(np.int64) for side, rows in ((a, self.left), (b, self.right)))
        return self.windows.probabilities(u, v, b.detected_at_us[self.right] - a.detected_at_us[self.left])

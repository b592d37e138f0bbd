"""FrameLabels: areas, sensors and ids of all frames of a streaming join, as long as they are needed."""

from __future__ import annotations

import numpy as np

from coincide.area_keys import one_area
from coincide.arrays import BoolArray, CodeArray, Int64Array, LabelArray
from coincide.detections import Detections
from coincide.pairs import Pairs
from coincide.timing_join.label_codes import LabelCodes, LabelLog
from coincide.timing_join.label_kinds import LabelKinds
from coincide.timing_join.sensor_rule import unknown_sensor

LEAST_LOG = 1024


class FrameLabels:
    """Codes of areas and sensors by label, and ids and sensors by row number.

    Parameters
    ----------
    orders_ties : bool
        Whether pairs reported at the same time are to be ordered by (sensor, id).

    Examples
    --------
    >>> from coincide.histogram import Histogram
    >>> labels = FrameLabels(orders_ties=True)
    >>> area, sensor = labels.append(Detections([0, 0], [Histogram.point()], area=["bay", "sea"], id=["q", "p"]))
    >>> area.tolist(), labels.goes_first(np.array([0]), np.array([1])).tolist()
    ([0, 1], [False])
    """

    def __init__(self, *, orders_ties: bool) -> None:
        self._orders_ties = orders_ties
        self._kinds = LabelKinds()
        self._areas, self._sensors = LabelCodes(), LabelCodes()
        self._ids, self._sensor_of_row = LabelLog(), LabelLog()

    def check(self, frame: Detections) -> None:
        """Raise DetectionsError if labels are of another kind than before."""
        self._kinds.check(frame)

    def append(self, frame: Detections) -> tuple[CodeArray, CodeArray]:
        """Take the labels of the next rows, which have been checked; return their codes of area and of sensor."""
        self._kinds.keep(frame)
        if frame.id is not None:
            self._ids.append(frame.id)
        if frame.sensor is not None and self._orders_ties:
            self._sensor_of_row.append(frame.sensor)
        area = one_area(len(frame)) if frame.area is None else self._areas.of(frame.area)
        return area, unknown_sensor(len(frame)) if frame.sensor is None else self._sensors.of(frame.sensor)

    def area_code(self, area: int | str | None) -> int | None:
        """Return the code of an area; None if it is not known."""
        return 0 if area is None else self._areas.known(area)

    def named(self, pairs: Pairs) -> Pairs:
        """Return pairs of row numbers as pairs of ids, if there are any."""
        if len(self._ids) == 0:
            return pairs
        return Pairs(self._ids.of(pairs.left), self._ids.of(pairs.right), lambda: pairs.probability)

    def names(self, rows: Int64Array) -> LabelArray:
        """Return the ids of rows, or their numbers if there are no ids; of row -1, which is nobody, "" or -1."""
        if len(self._ids) == 0:
            return rows
        ids = self._ids.of(np.maximum(rows, self._ids.first))
        return np.where(rows < 0, np.array(-1 if ids.dtype.kind == "i" else "", ids.dtype), ids)

    def goes_first(self, rows: Int64Array, others: Int64Array) -> BoolArray:
        """Whether each row goes before the other by (sensor, id), else by number."""
        first: BoolArray = rows < others
        for log in (self._ids, self._sensor_of_row):
            if len(log):
                mine, theirs = log.of(rows), log.of(others)
                first = np.where(mine == theirs, first, mine < theirs)
        return first

    def is_log_long(self, held: int) -> bool:
        """Whether rows can be forgotten, of which so many are held, at a cost that earlier ones have made up for."""
        return max(len(self._ids), len(self._sensor_of_row)) > 2 * held + LEAST_LOG

    def forget_before(self, row: int) -> None:
        """Forget ids and sensors of earlier rows."""
        for log in (self._ids, self._sensor_of_row):
            if len(log):
                log.forget_before(row)

    @property
    def are_many(self) -> bool:
        """Whether areas or sensors have doubled since the last `keep_only`."""
        return self._areas.are_many or self._sensors.are_many

    def keep_only(self, areas: CodeArray, sensors: CodeArray) -> list[int]:
        """Forget all other areas and sensors; return the codes of the areas forgotten, which new ones will be given."""
        self._sensors.keep_only(sensors)
        return self._areas.keep_only(areas)

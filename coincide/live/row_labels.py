"""RowLabels: areas, sensors, ids and keys of the rows of a streaming join, by number of row."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from coincide.arrays.kinds import BoolArray, CodeArray, Int64Array, LabelArray
from coincide.constraints.conditions import unknown_sensor
from coincide.errors import DetectionsError
from coincide.joins.answers import Pairs
from coincide.joins.detections import Detections, checked_labels
from coincide.joins.keys import one_area
from coincide.live.label_codes import CodesState, LabelCodes, LabelKinds, LabelLog, LogState

LEAST_LOG = 1024


@dataclass(frozen=True, eq=False)
class LabelsState:
    """What `RowLabels` save; the logs are of ids, sensors and keys."""

    orders_ties: bool
    is_keyed: bool
    kinds: dict[str, str]
    areas: CodesState
    sensors: CodesState
    logs: tuple[LogState, LogState, LogState]


class RowLabels:
    """Codes of areas and sensors by label; ids, sensors and keys by row number.

    With `orders_ties` pairs reported at the same time are ordered by (sensor, id); with `is_keyed` every row has a key.
    """

    def __init__(self, *, orders_ties: bool, is_keyed: bool = False) -> None:
        self._orders_ties, self.is_keyed = orders_ties, is_keyed
        self._kinds = LabelKinds()
        self._areas, self._sensors = LabelCodes(), LabelCodes()
        self._ids, self._sensor_of_row, self._keys = LabelLog(), LabelLog(), LabelLog()

    @property
    def state(self) -> LabelsState:
        """All there is to save."""
        logs = self._ids.state, self._sensor_of_row.state, self._keys.state
        return LabelsState(
            self._orders_ties, self.is_keyed, self._kinds.state, self._areas.state, self._sensors.state, logs
        )

    @classmethod
    def restore(cls, state: LabelsState) -> RowLabels:
        """Return labels that go on from a state."""
        labels = cls(orders_ties=state.orders_ties, is_keyed=state.is_keyed)
        labels._kinds = LabelKinds(state.kinds)
        labels._areas, labels._sensors = LabelCodes.restore(state.areas), LabelCodes.restore(state.sensors)
        labels._ids, labels._sensor_of_row, labels._keys = map(LabelLog.restore, state.logs)
        return labels

    def check(self, detections: Detections) -> None:
        """Raise DetectionsError if labels are of another kind than before."""
        self._kinds.check(detections)

    def checked_keys(self, stream: str, detections: Detections, key: npt.ArrayLike | None) -> LabelArray | None:
        """Return the keys of the rows, one each; raise DetectionsError if the join cannot use them."""
        if key is None and not self.is_keyed:
            return None
        if (key is not None) != self.is_keyed and len(detections):
            allowed = "one key a row, as the join is keyed" if self.is_keyed else "left out: the join is not keyed"
            raise DetectionsError("key", key, allowed)
        labels = checked_labels(f"key[{stream!r}]", () if key is None else key, len(detections) if self.is_keyed else 0)
        if len(labels) and len(self._keys) and self._keys.kind != labels.dtype.kind:
            raise DetectionsError("key", f"an array of {labels.dtype}", "labels of the same kind as before")
        return labels

    def append(self, detections: Detections, keys: LabelArray | None = None) -> tuple[CodeArray, CodeArray]:
        """Take the labels and keys of the next rows, which have been checked; return codes of area and of sensor."""
        self._kinds.keep(detections)
        area, sensor = detections.area, detections.sensor
        if detections.id is not None:
            self._ids.append(detections.id)
        if sensor is not None and self._orders_ties:
            self._sensor_of_row.append(sensor)
        if keys is not None:
            self._keys.append(keys)
        return (
            one_area(len(detections)) if area is None else self._areas.of(area),
            unknown_sensor(len(detections)) if sensor is None else self._sensors.of(sensor),
        )

    def area_code(self, area: int | str | None) -> int | None:
        """Return the code of an area; None if it is not known."""
        return 0 if area is None else self._areas.known(area)

    def named(self, pairs: Pairs) -> Pairs:
        """Return pairs of row numbers as pairs of ids, if there are any."""
        if len(self._ids) == 0:
            return pairs
        return Pairs(self._ids.of(pairs.left), self._ids.of(pairs.right), partial(getattr, pairs, "probability"))

    def names(self, rows: Int64Array) -> LabelArray:
        """Return the ids of rows, or their numbers if there are no ids; for an absent row, -1, it is "" or -1."""
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

    def have_equal_keys(self, rows: Int64Array, others: Int64Array) -> BoolArray:
        """Whether two rows each have the same key."""
        equal: BoolArray = np.asarray(self._keys.of(rows) == self._keys.of(others), dtype=np.bool_)
        return equal

    def is_log_long(self, buffered: int) -> bool:
        """Whether the log is long beside the rows buffered, so that forgetting the others costs little."""
        return max(map(len, self._logs)) > 2 * buffered + LEAST_LOG

    def forget_before(self, row: int) -> None:
        """Forget ids, sensors and keys of earlier rows."""
        for log in self._logs:
            if len(log):
                log.forget_before(row)

    @property
    def are_many(self) -> bool:
        """Whether areas or sensors have doubled since the last `keep_only`."""
        return self._areas.are_many or self._sensors.are_many

    def keep_only(self, areas: CodeArray, sensors: CodeArray) -> list[int]:
        """Forget all other areas and sensors; return the codes of those areas, which new ones will be given."""
        self._sensors.keep_only(sensors)
        return self._areas.keep_only(areas)

    @property
    def _logs(self) -> tuple[LabelLog, LabelLog, LabelLog]:
        return self._ids, self._sensor_of_row, self._keys

"""What the detections of one stream say of an attribute, by group; and the queries that read them."""

from collections.abc import Hashable
from typing import TypeVar

from coincide.arrays.kinds import PositionArray
from coincide.arrays.numbers import is_number
from coincide.queries.readings_query import SENSOR
from coincide.sliding.readings import Readings
from spark_jobs.rows.areas import Areas
from spark_jobs.rows.attributes import Scalar, as_read, attribute, attributes_of
from spark_jobs.rows.event_table import EventColumns

T = TypeVar("T", bound=Hashable)
Key = tuple[bool, Scalar]  # true is not 1, though Python has it so


class ReadingColumns:
    """Reads one attribute (with `is_number` a number); a detection without it or a label is no reading."""

    def __init__(self, by: tuple[str, ...], value: str, *, is_number: bool) -> None:
        self._by = by
        self._is_number = is_number
        self._value = value
        self._groups: dict[tuple[Key, ...], int] = {}
        self._values: dict[Key, int] = {}
        self._group_keys: list[tuple[Key, ...]] = []
        self._value_keys: list[Key] = []

    def read(self, rows: EventColumns, at: PositionArray, areas: Areas) -> Readings:
        """Return the readings among the rows at these positions."""
        ts, groups, values, refs = [], [], [], []
        for row in at.tolist():
            sensor = areas.sensor_of(rows.sensor[row]).name
            read = self._read(rows.attributes[row], sensor)
            if read is not None:
                ts.append(rows.latest_us[row])
                groups.append(read[0])
                values.append(read[1])
                refs.append((sensor, rows.ids[row], int(rows.received_at_us[row])))
        return Readings.of(ts, groups, values, refs)

    def __len__(self) -> int:
        """How many codes there are, of groups and of values."""
        return len(self._groups) + len(self._values)

    def group(self, code: int) -> dict[str, Scalar]:
        """Return what makes the group of that code."""
        return {name: value for name, (_, value) in zip(self._by, self._group_keys[code], strict=True)}

    def value(self, value: float) -> Scalar:
        """Return the value as it was read; a whole number without a fraction."""
        return as_read(value) if self._is_number else self._value_keys[int(value)][1]

    def _read(self, attributes: bytes, sensor: str) -> tuple[int, float] | None:
        content = attributes_of(attributes)
        value = attribute(content, self._value)
        group = [sensor if name == SENSOR else attribute(content, name) for name in self._by]
        keys = tuple(_key(each) for each in group if isinstance(each, Scalar))
        if len(keys) < len(group) or not (is_number(value) if self._is_number else isinstance(value, Scalar)):
            return None
        code = _code(keys, self._groups, self._group_keys)
        return code, value if self._is_number else _code(_key(value), self._values, self._value_keys)


def _code(key: T, codes: dict[T, int], keys: list[T]) -> int:
    """Return the code of a key, known or new."""
    code = codes.setdefault(key, len(keys))
    if code == len(keys):
        keys.append(key)
    return code


def _key(value: Scalar) -> Key:
    return isinstance(value, bool), as_read(value)

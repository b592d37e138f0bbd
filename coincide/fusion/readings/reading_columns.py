"""What the detections of one stream say of an attribute, by group; and the queries that read them."""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
from msgspec import Raw, json

from coincide.arrays.kinds import PositionArray
from coincide.arrays.numbers import as_number
from coincide.fusion.rows.areas import Areas
from coincide.fusion.rows.elements import refused_row
from coincide.fusion.rows.event_table import EventColumns
from coincide.fusion.rows.row_codes import RowCodes
from coincide.queries.fields.checks import attribute_name
from coincide.queries.readings.reading_fields import SENSOR
from coincide.sliding.readings import Readings
from coincide.wire.detection_record import Stamp
from coincide.wire.fields import NULL, Scalar, shown
from coincide.wire.payload import as_read, attribute, attributes_of, payload_json
from coincide.wire.results.dead_letter import DeadLetter

T = TypeVar("T", bound=Hashable)
Key = tuple[bool, Scalar]  # true is not 1, though Python has it so


NoNumbers = set[tuple[int, str]]
"""The sequence number of each row that a query cannot use, and the name of the attribute that is no number, or `PLACE`.
"""
PLACE = "place"
"""Names no attribute: the row's place is not known."""


class ReadRows(NamedTuple):
    """The readings among some rows, the position of each, and the positions of rows whose value is no number."""

    readings: Readings
    at: PositionArray
    no_number: list[int]


class ReadingColumns:
    """Reads one attribute (with `is_number` a number); a detection without it or a label is no reading.

    Where it has to be a number, and is given as anything else, the reading is unknown: its value is NaN.
    """

    def __init__(self, by: tuple[str, ...], value: str, *, is_number: bool) -> None:
        self._by = by
        self._is_number = is_number
        self._value = value
        self._groups: dict[tuple[Key, ...], int] = {}
        self._values: dict[Key, int] = {}
        self._group_keys: list[tuple[Key, ...]] = []
        self._value_keys: list[Key] = []

    def read(self, rows: EventColumns, at: PositionArray, areas: Areas) -> ReadRows:
        """Return the readings among the rows at these positions."""
        found, groups, values, refs, no_number = [], [], [], [], []
        for row in at.tolist():
            sensor = areas.sensor_of(rows.sensor[row]).name
            content = attributes_of(rows.payload[row])
            value = attribute(content, self._value)
            if self._is_number:
                is_given, value = attribute_name(self._value) in content, as_number(value)
                if value is None:
                    no_number.append(row)
                    value = math.nan if is_given else None
            read = self._read(content, value, sensor)
            if read is not None:
                found.append(row)
                groups.append(read[0])
                values.append(read[1])
                refs.append((sensor, rows.ids[row], int(rows.received_at_us[row])))
        where = np.array(found, np.intp)
        return ReadRows(Readings.of(rows.latest_us[where], groups, values, refs), where, no_number)

    def __len__(self) -> int:
        """How many codes there are, of groups and of values."""
        return len(self._groups) + len(self._values)

    def codes_of(self, group: Sequence[Scalar], values: Sequence[Scalar]) -> tuple[int, list[float]]:
        """Return the code of the group that has these labels, and how values of it stand in the columns."""
        code = _code(tuple(map(_key, group)), self._groups, self._group_keys)
        return code, [self._column_value(value) for value in values]

    def group(self, code: int) -> dict[str, Scalar]:
        """Return what makes the group of that code."""
        return {name: value for name, (_, value) in zip(self._by, self._group_keys[code], strict=True)}

    def value(self, value: float) -> Scalar:
        """Return the value as it was read; a whole number without a fraction."""
        return as_read(value) if self._is_number else self._value_keys[int(value)][1]

    def _read(self, content: Mapping[str, Raw], value: Any, sensor: str) -> tuple[int, float] | None:
        group = [sensor if name == SENSOR else attribute(content, name) for name in self._by]
        keys = tuple(_key(each) for each in group if isinstance(each, Scalar))
        if len(keys) < len(group) or not isinstance(value, Scalar):
            return None
        return _code(keys, self._groups, self._group_keys), self._column_value(value)

    def _column_value(self, value: Any) -> float:
        return value if self._is_number else _code(_key(value), self._values, self._value_keys)


def _code(key: T, codes: dict[T, int], keys: list[T]) -> int:
    """Return the code of a key, known or new."""
    code = codes.setdefault(key, len(keys))
    if code == len(keys):
        keys.append(key)
    return code


def _key(value: Scalar) -> Key:
    return isinstance(value, bool), as_read(value)


NO_PLACE = "a query whose windows follow distances needs the place of its sensor, and none is known: register one"


def no_number_letters(no_numbers: NoNumbers, new: EventColumns, codes: RowCodes) -> Iterator[DeadLetter]:
    """Yield a letter for each of the `new` rows and what it lacks; the row itself stays accepted."""
    if not len(new):
        return
    begin = int(new.seq[0])
    for seq, name in sorted(each for each in no_numbers if each[0] >= begin):
        row = seq - begin
        reason, detail = "no_place", NO_PLACE
        if name != PLACE:
            written = attributes_of(new.payload[row]).get(attribute_name(name), NULL)
            reason, detail = "no_number", f"{name} is {shown(written)}: a query needs a number"
        sensor, stream = codes.areas.sensor_of(new.sensor[row]).name, codes.streams.names[new.stream[row]]
        stamp = Stamp(sensor=sensor, stream=stream, template=codes.templates.histogram(new.template[row]).id)
        shown_row = Raw(json.encode(new.ids[row])), Raw(b"%d" % new.detected_at_us[row]), payload_json(new.payload[row])
        area, received_at_us = codes.areas.area_of(new.area[row]).name, int(new.received_at_us[row])
        yield refused_row(reason, detail, area, received_at_us, stamp, shown_row)

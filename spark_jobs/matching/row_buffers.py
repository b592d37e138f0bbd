"""RowBuffers: the rows that may still match, sorted by group and earliest time, one buffer for each source."""

from collections.abc import Iterable, Mapping

import numpy as np

from coincide.arrays.kinds import CodeArray, PositionArray
from coincide.joins.buffer import Buffer
from coincide.joins.events import Events
from coincide.queries.role_filter import Source
from spark_jobs.rows.areas import Areas
from spark_jobs.rows.decoding import Scalar, attribute, attributes_of
from spark_jobs.rows.event_table import EventColumns, VerifiedTemplates

Equal = str | None  # the attribute that a query asks to be equal
NO_GROUP = -1


class AttributeGroups:
    """Codes of (area, value of `equal`); equal are JSON's strings, numbers by what they are worth, true and false."""

    def __init__(self, equal: str) -> None:
        self._equal = equal
        self._code_of: dict[tuple[int, bool, object], int] = {}

    def codes(self, area: CodeArray, attributes: list[bytes]) -> CodeArray:
        """Return the group of each detection, int32 (n,); `NO_GROUP` for those that have no such value."""
        pairs = zip(area.tolist(), attributes, strict=True)
        return np.array([self._code(code, content) for code, content in pairs], np.int32)

    def _code(self, area: int, attributes: bytes) -> int:
        value = attribute(attributes_of(attributes), self._equal)
        if not isinstance(value, Scalar):
            return NO_GROUP
        return self._code_of.setdefault((area, isinstance(value, bool), value), len(self._code_of))


class RowBuffers:
    """Buffers of all queries that group detections alike: by area, or by area and an attribute's value.

    Rows are buffered under their earliest time, not the reported one: how far apart partners may be then depends on
    how long templates are, which streams declare, and not on how far from the reported time one of them lies.
    """

    def __init__(self, streams: Mapping[str, int], areas: Areas, templates: VerifiedTemplates, equal: Equal) -> None:
        self._streams, self._areas, self._templates = streams, areas, templates
        self._groups = None if equal is None else AttributeGroups(equal)
        self._buffers: dict[Source, Buffer] = {}
        self.new: dict[Source, Events] = {}  # the rows of the last insert

    def insert(self, rows: EventColumns, sources: Iterable[Source]) -> None:
        """Buffer new rows for each of these sources; what is not among them any more goes."""
        known, every = self._buffers, np.arange(len(rows))
        self._buffers = {source: known[source] if source in known else Buffer() for source in sources}
        self.new = {source: self.events(source, rows, every) for source in self._buffers}
        for source, buffer in self._buffers.items():
            buffer.insert(self.new[source])

    def buffer(self, source: Source) -> Buffer:
        """Return the buffer of a source."""
        return self._buffers[source]

    def events(self, source: Source, rows: EventColumns, at: PositionArray) -> Events:
        """Return those of the rows at these positions that the source admits, as its buffer holds them."""
        at = self._admitted(source, rows, at[rows.stream[at] == self._streams[source.stream]])
        group = rows.area[at]
        if self._groups is not None:
            group = self._groups.codes(group, [rows.attributes[row] for row in at.tolist()])
            at, group = at[group != NO_GROUP], group[group != NO_GROUP]
        template = rows.template[at]
        return Events(
            area=group,
            detected_at_us=rows.detected_at_us[at] + self._templates.earliest_us[template],
            template=template,
            sensor=rows.sensor[at],
            ref=rows.seq[at],
        )

    def _admitted(self, source: Source, rows: EventColumns, at: PositionArray) -> PositionArray:
        if source.is_whole or len(at) == 0:
            return at
        sensors, first, nth = np.unique(rows.sensor[at], return_index=True, return_inverse=True)
        areas = rows.area[at[first]]  # a sensor is of one area
        names = zip(sensors.tolist(), areas.tolist(), strict=True)
        of_sensor = [
            source.admits_names(self._areas.sensor_of(sensor).name, self._areas.area_of(area).name)
            for sensor, area in names
        ]
        at = at[np.array(of_sensor, np.bool_)[nth]]
        if not source.filter.where:
            return at
        return at[np.array([self._says_so(source, rows.attributes[row]) for row in at.tolist()], np.bool_)]

    def _says_so(self, source: Source, attributes: bytes) -> bool:
        by_name = attributes_of(attributes)
        return source.filter.admits_attributes(lambda name: attribute(by_name, name))

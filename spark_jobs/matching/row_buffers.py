"""RowBuffers: the rows that may still match, sorted by group and earliest time, one buffer for each stream."""

import numpy as np

from coincide.arrays.kinds import CodeArray, PositionArray
from coincide.joins.buffer import Buffer
from coincide.joins.events import Events
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

    def __init__(self, streams: int, templates: VerifiedTemplates, equal: Equal) -> None:
        self._templates = templates
        self._groups = None if equal is None else AttributeGroups(equal)
        self._buffers = [Buffer() for _ in range(streams)]
        self.new: list[Events] = []  # the rows of the last insert, by stream

    def insert(self, rows: EventColumns) -> None:
        """Buffer new rows."""
        self.new = [self.events(rows, np.flatnonzero(rows.stream == code)) for code in range(len(self._buffers))]
        for buffer, events in zip(self._buffers, self.new, strict=True):
            buffer.insert(events)

    def buffer(self, stream: int) -> Buffer:
        """Return the buffer of a stream."""
        return self._buffers[stream]

    def events(self, rows: EventColumns, at: PositionArray) -> Events:
        """Return rows at these positions as the buffers hold them."""
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

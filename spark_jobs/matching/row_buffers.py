"""RowBuffers: the rows that may still match, sorted by group and earliest time, one buffer for each stream."""

from __future__ import annotations

from collections.abc import Collection

import numpy as np

from coincide.arrays.kinds import PositionArray
from coincide.joins.buffer import Buffer
from coincide.joins.events import Events, SortedEvents
from spark_jobs.rows.attributes import NO_GROUP, AttributeGroups
from spark_jobs.rows.event_table import EventColumns
from spark_jobs.rows.template_codes import VerifiedTemplates

Equal = str | None  # the attribute that a query asks to be equal


class RowBuffers:
    """Buffers shared by all queries that group detections alike: by area, or by area and an attribute's value.

    Rows are buffered under their earliest time, not the reported one: how far apart partners may be then depends on
    how long templates are, which streams declare, and not on how far from the reported time one of them lies.
    """

    def __init__(self, streams: int, templates: VerifiedTemplates) -> None:
        self._streams = streams
        self._templates = templates
        self._grouped: dict[Equal, _GroupedRows] = {}

    def insert(self, rows: EventColumns, groupings: Collection[Equal]) -> None:
        """Buffer new rows for these groupings; others are forgotten.

        A grouping that was not there before begins with these rows: the queries that need it are as new.
        """
        self._grouped = {equal: self._grouped.get(equal) or self._empty(equal) for equal in groupings}
        for grouped in self._grouped.values():
            grouped.insert(rows)

    def rebuild(self, rows: EventColumns, groupings: Collection[Equal]) -> None:
        """Buffer exactly the given rows."""
        self._grouped = {}
        self.insert(rows, groupings)

    def view(self, stream: int, equal: Equal) -> SortedEvents:
        """Return a stream's rows; valid until the buffers change."""
        return self._grouped[equal].buffers[stream].view()

    def new(self, stream: int, equal: Equal) -> Events:
        """Return the rows of the last insert."""
        return self._grouped[equal].new[stream]

    def events(self, rows: EventColumns, at: PositionArray, equal: Equal) -> Events:
        """Return rows at these positions as the buffers hold them."""
        return self._grouped[equal].events(rows, at)

    def _empty(self, equal: Equal) -> _GroupedRows:
        return _GroupedRows(self._streams, self._templates, equal)


class _GroupedRows:
    def __init__(self, streams: int, templates: VerifiedTemplates, equal: Equal) -> None:
        self._templates = templates
        self._groups = None if equal is None else AttributeGroups(equal)
        self.buffers = [Buffer() for _ in range(streams)]
        self.new: list[Events] = []

    def insert(self, rows: EventColumns) -> None:
        self.new = [self.events(rows, np.flatnonzero(rows.stream == code)) for code in range(len(self.buffers))]
        for buffer, events in zip(self.buffers, self.new, strict=True):
            buffer.insert(events)

    def events(self, rows: EventColumns, at: PositionArray) -> Events:
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

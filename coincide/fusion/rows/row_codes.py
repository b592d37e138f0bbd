"""RowCodes: what the codes in rows stand for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from coincide.arrays.kinds import CodeArray
from coincide.fusion.control.known_streams import KnownStream, KnownStreams
from coincide.fusion.rows.areas import Areas
from coincide.fusion.rows.event_table import EventColumns, VerifiedTemplates
from coincide.fusion.rows.on_time import OnTime
from coincide.fusion.rows.stamps import StampTables


@dataclass(frozen=True, eq=False)
class RowCodes:
    """Streams, areas with their sensors, and templates, by code; `stamps` remembers which codes frames meant."""

    streams: KnownStreams
    areas: Areas
    templates: VerifiedTemplates
    stamps: StampTables

    @classmethod
    def of(cls, streams: KnownStreams, max_template_buckets: int) -> RowCodes:
        """Return the codes of these streams, and none of areas and templates yet."""
        templates = VerifiedTemplates(max_template_buckets)
        return cls(streams, Areas(), templates, StampTables(streams, templates))

    def on_time(self) -> OnTime:
        """Return from when on detections are on time by now."""
        return OnTime.now(self.areas, self.streams)

    def declare(self, known: KnownStream) -> None:
        """Let a stream be so from now on."""
        self.streams.put(known)
        self.stamps.forget_declarations()

    def keep_sensors(self, *rows: EventColumns) -> bool:
        """Free the codes of sensors that none of the rows has; return whether there are any."""
        if not self.areas.keep_sensors(np.concatenate([each.sensor for each in rows])):
            return False
        self.stamps.forget_sensors()
        return True

    def keep_templates(self, *rows: EventColumns) -> CodeArray | None:
        """Forget the templates that none of the rows has, and give these the new codes.

        Return the new codes by old code (-1: forgotten); None if all are needed.
        """
        template = np.concatenate([each.template for each in rows])
        used = np.flatnonzero(np.bincount(template, minlength=len(self.templates)))
        if len(used) == len(self.templates):
            return None
        new_code = self.templates.keep_only(used.astype(np.int32))
        self.stamps.recode(new_code)
        for each in rows:
            each.template[:] = new_code[each.template]
        return new_code

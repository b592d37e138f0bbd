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
from coincide.places.place_registry import NO_PLACE, PlaceRegistry


@dataclass(frozen=True, eq=False)
class RowCodes:
    """Streams, areas with their sensors, templates and places, by code; `stamps` remembers which codes frames meant."""

    streams: KnownStreams
    areas: Areas
    templates: VerifiedTemplates
    places: PlaceRegistry
    stamps: StampTables

    @classmethod
    def of(cls, streams: KnownStreams, max_template_buckets: int) -> RowCodes:
        """Return the codes of these streams, and none of areas, templates and places yet."""
        templates, places = VerifiedTemplates(max_template_buckets), PlaceRegistry()
        return cls(streams, Areas(), templates, places, StampTables(streams, templates, places))

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

    def keep_places(self, *rows: EventColumns) -> bool:
        """Forget the places that none of the rows has, and give these the new codes; return whether there are any."""
        place = np.concatenate([each.place for each in rows])
        used = np.flatnonzero(np.bincount(place - NO_PLACE, minlength=len(self.places) + 1)[1:])
        if len(used) == len(self.places):
            return False
        new_code = np.append(self.places.keep_only(used.astype(np.int32)), np.int32(NO_PLACE))
        self.stamps.recode_places(new_code)
        for each in rows:
            each.place[:] = new_code[each.place]
        return True

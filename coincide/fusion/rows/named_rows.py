"""NamedRows: detections in columns, as a host has them that reads no frames."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter

import numpy as np
from msgspec import UNSET, UnsetType

from coincide import Histogram
from coincide.arrays.kinds import Int64Array
from coincide.fusion.rows.batch_rows import BatchRows, BatchStamps
from coincide.fusion.rows.row_codes import RowCodes
from coincide.places.place import Place
from coincide.places.place_forms import form_of_place
from coincide.places.place_registry import NO_PLACE
from coincide.wire.detection_record import Stamp

_area = itemgetter(0)


@dataclass(frozen=True, eq=False)
class NamedRows:
    """Rows in the order of arrival; columns of length n.

    `template` is a position in `templates`, `place` one in `places`, `NO_PLACE` where none is known.
    """

    area: Sequence[str]
    sensor: Sequence[str]
    stream: Sequence[str]
    ids: list[str]
    payload: list[bytes]
    template: Int64Array
    templates: Sequence[Histogram]
    place: Int64Array
    places: Sequence[Place]
    detected_at_us: Int64Array
    received_at_us: Int64Array

    def batch(self, codes: RowCodes, next_seq: int) -> BatchRows:
        """Return them as a batch each of whose frames is one row; areas and templates are known from then on."""
        areas = {name: codes.areas.area(name, next_seq).code for name in dict.fromkeys(self.area)}
        area = np.array([areas[name] for name in self.area], np.int32)
        template = codes.templates.codes(self.templates)[self.template]
        place = np.array([*map(codes.places.code, self.places), NO_PLACE], np.int32)[self.place]
        named = list(zip(area.tolist(), self.stream, self.sensor, template.tolist(), place.tolist(), strict=True))
        positions = {each: nth for nth, each in enumerate(sorted(set(named)))}
        stamps, count = _stamps([*positions], codes), len(named)
        stamp = np.array([positions[each] for each in named], np.int64)
        return BatchRows(
            stamps=stamps,
            ids=self.ids,
            payload=self.payload,
            frame=np.arange(count),
            received_at_us=self.received_at_us,
            detected_at_us=self.detected_at_us,
            latest_us=self.detected_at_us + stamps.latest_us[stamp],
            moved_us=np.zeros(count, np.int64),
            area=area,
            stamp=stamp,
            template=stamps.template[stamp],
            place=stamps.place[stamp],
            stream=stamps.stream[stamp],
        )


def _stamps(named: Sequence[tuple[int, str, str, int, int]], codes: RowCodes) -> BatchStamps:
    """Return stamps, named by area, stream, sensor, template and place, in order: a table for each area."""
    tables, areas = [], []
    for area, of_area in groupby(named, _area):
        parts = list(of_area)
        stamps = [Stamp(sensor, stream, "", _form(codes.places.place(place))) for _, stream, sensor, _, place in parts]
        tables.append(codes.stamps.of_codes(stamps, [template for *_, template, _ in parts]))
        areas.append(area)
    return BatchStamps(tables, np.array(areas, np.int32))


def _form(place: Place | None) -> dict[str, float] | UnsetType:
    return UNSET if place is None else form_of_place(place)

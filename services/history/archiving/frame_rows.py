"""FrameRows: frames of the detections topic as rows of the archive, one for each detection."""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
from msgspec import UNSET, json

from coincide.arrays.kinds import CodeArray, Int64Array
from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.control.limits import Limits
from coincide.fusion.records.kafka_records import InputRecord
from coincide.fusion.rows.decoding import DecodedFrame, decode_frame, heartbeat_us
from coincide.fusion.rows.event_table import VerifiedTemplates
from coincide.fusion.rows.stamps import StampTables
from coincide.places import place_of_form
from coincide.places.place import Place
from coincide.places.place_registry import PlaceRegistry
from coincide.wire.detection_record import Stamp
from coincide.wire.fields import FrameError

ROW_SCHEMA = pa.schema(
    [
        pa.field("area", pa.string(), nullable=False),
        pa.field("stream", pa.string(), nullable=False),
        pa.field("sensor_id", pa.string(), nullable=False),
        pa.field("id", pa.string(), nullable=False),
        pa.field("detected_at_us", pa.int64(), nullable=False),
        pa.field("received_at_us", pa.int64(), nullable=False),
        pa.field("template", pa.string(), nullable=False),
        pa.field("place", pa.string()),
        pa.field("attributes", pa.string(), nullable=False),
        pa.field("partition", pa.int32(), nullable=False),
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("position", pa.int32(), nullable=False),
    ]
)
"""Columns of a row, which docs/contracts/archive.schema.json explains."""

LABELS = ("sensor", "stream", "template")
MOST_TEMPLATES = 16_384  # that are remembered as checked; as many places
LIMITS = Limits()  # those by which the fusion core reads a frame


class FrameRows:
    """Collects the rows of frames, and the templates that they name.

    A row is kept whether or not its stream is declared today. One without a usable template is left out, and so is what
    cannot be read: fusion writes a dead letter for it.
    """

    def __init__(self) -> None:
        self.unusable = 0  # rows left out, and records that are no frames
        self._forget_templates()
        self._clear()

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, record: InputRecord) -> None:
        """Add the rows of one record; a heartbeat has none."""
        try:
            if heartbeat_us(record) is not None:
                return
            frame = decode_frame(record, LIMITS, self._stamp_tables)
        except FrameError:
            self.unusable += 1
            return
        self._add(frame, record)

    def take(self) -> tuple[pa.Table, Mapping[str, Mapping[str, object]]]:
        """Return the rows collected, and the JSON of each template that they name by its id; begin anew."""
        table, templates = self._table(), self._templates
        self._clear()
        if max(len(self._registry), len(self._places)) > MOST_TEMPLATES:
            self._forget_templates()
        return table, templates

    def _add(self, frame: DecodedFrame, record: InputRecord) -> None:
        code = frame.stamps.template[frame.stamp]
        at = np.flatnonzero(code >= 0)
        self.unusable += len(frame) - len(at) + len(frame.refused)
        if len(at) == 0:
            return
        for each in np.unique(code[at]).tolist():
            histogram = self._registry.histogram(each)
            if histogram.id not in self._templates:
                self._templates[histogram.id] = histogram.to_json()
        self._frames.append((len(at), record.partition, record.offset, frame.received_at_us))
        self._areas.append(frame.area)
        self._stamp.append(frame.stamp[at] + len(self._stamps))
        self._stamps += frame.stamps.stamps
        self._detected_at_us.append(frame.detected_at_us[at])
        self._position.append(at)
        rows = at.tolist()
        self._ids += [frame.ids[row] for row in rows]
        self._payloads += [frame.payload[row] for row in rows]

    def _table(self) -> pa.Table:
        if not self._ids:
            return ROW_SCHEMA.empty_table()
        rows, partition, offset, received_at_us = np.array(self._frames, np.int64).T
        stamp = np.concatenate(self._stamp)
        names = [pa.array([getattr(each, name) for each in self._stamps], pa.string()) for name in LABELS]
        places = pa.array([_place_json(each) for each in self._stamps], pa.string())
        sensor, stream, template, place = (column.take(pa.array(stamp)) for column in (*names, places))
        area = pa.array(self._areas, pa.string()).take(pa.array(np.repeat(np.arange(len(rows)), rows)))
        columns = [
            area,
            stream,
            sensor,
            pa.array(self._ids, pa.string()),
            pa.array(np.concatenate(self._detected_at_us)),
            pa.array(np.repeat(received_at_us, rows)),
            template,
            place,
            *_payload_columns(self._payloads),
            pa.array(np.repeat(partition, rows).astype(np.int32)),
            pa.array(np.repeat(offset, rows)),
            pa.array(np.concatenate(self._position).astype(np.int32)),
        ]
        return pa.Table.from_arrays(columns, schema=ROW_SCHEMA)

    def _clear(self) -> None:
        self._frames: list[tuple[int, int, int, int]] = []  # rows, partition, offset, received_at_us
        self._areas: list[str] = []
        self._stamps: list[Stamp] = []
        self._stamp: list[CodeArray] = []  # positions in the stamps of all frames
        self._detected_at_us: list[Int64Array] = []
        self._position: list[Int64Array] = []
        self._ids: list[str] = []
        self._payloads: list[bytes] = []
        self._templates: dict[str, Mapping[str, object]] = {}

    def _forget_templates(self) -> None:
        self._registry = VerifiedTemplates(LIMITS.max_template_buckets)
        self._places = PlaceRegistry()
        self._stamp_tables = StampTables(KnownStreams({}), self._registry, self._places)


def _place_json(stamp: Stamp) -> str | None:
    return None if stamp.place is UNSET else json.encode(stamp.place).decode()


def place_in(place: str | None) -> Place | None:
    """Return the place that a row of an archive has; None where none is known."""
    return None if place is None else place_of_form(json.decode(place))


def _payload_columns(payloads: list[bytes]) -> list[pa.Array]:
    """Return the columns of what detections carry."""
    return [pa.array(payloads, pa.binary()).cast(pa.string())]


def payloads_in(rows: pa.Table) -> list[bytes]:
    """Return what the detections of an archive's rows carry."""
    payloads: list[bytes] = rows["attributes"].cast(pa.binary()).to_pylist()
    return payloads

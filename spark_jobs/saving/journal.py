"""Journal slots: accepted rows as bytes, each slot complete in itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from msgspec import Struct, msgpack

from coincide import Histogram
from coincide.arrays.kinds import CodeArray, PositionArray
from spark_jobs.rows.areas import Areas
from spark_jobs.rows.event_table import EventColumns, VerifiedTemplates
from spark_jobs.saving.state_format import FORMAT, decode_state

ROW_BYTES = 3 * 8 + 4 * 2 + 4  # sequence number, two times, four codes, lengths of the two strings


class Slot(Struct, array_like=True, frozen=True):
    """Rows of one slot. Columns are little-endian arrays as bytes; codes are positions in the slot's own lists."""

    format: int
    number: int
    areas: list[str]
    streams: list[str]
    sensors: list[tuple[int, str]]
    templates: list[tuple[bytes, bytes]]
    seq: bytes
    detected_at_us: bytes
    received_at_us: bytes
    sensor: bytes
    template: bytes
    stream: bytes
    ids: list[str]
    attributes: list[bytes]

    @classmethod
    def decode(cls, slot: bytes) -> Slot:
        """Read what `SlotWriter` wrote; StateError if it is no slot of this format."""
        return decode_state(slot, _decoder, "a journal slot")

    def histograms(self) -> list[Histogram]:
        """Return the templates of the slot."""
        return [Histogram(np.frombuffer(edges, "<f8"), np.frombuffer(mass, "<f8")) for edges, mass in self.templates]


@dataclass(frozen=True)
class SlotWriter:
    """Writes rows of an event table into slots of bounded size."""

    areas: Areas
    templates: VerifiedTemplates
    streams: Sequence[str]
    max_slot_bytes: int

    def split(self, rows: EventColumns) -> Iterator[slice]:
        """Cut the rows into stretches that fit into a slot each, at least one row each."""
        start, size = 0, 0
        seen: set[int] = set()
        for position, template in enumerate(rows.template.tolist()):
            row_size = ROW_BYTES + len(rows.ids[position]) + len(rows.attributes[position])
            if template not in seen:
                row_size += 16 * len(self.templates.histogram(template).edges_s)
            if position > start and size + row_size > self.max_slot_bytes:
                yield slice(start, position)
                start, size = position, 0
                seen.clear()
            seen.add(template)
            size += row_size
        if start < len(rows):
            yield slice(start, len(rows))

    def encode(self, number: int, rows: EventColumns, part: slice) -> bytes:
        """Return the slot that holds part of the rows."""
        sensors, first_row, sensor = _local(rows.sensor[part])
        templates, _, template = _local(rows.template[part])
        streams, _, stream = _local(rows.stream[part])
        areas, _, area_of_sensor = _local(rows.area[part][first_row])
        histograms = [self.templates.histogram(code) for code in templates]
        slot = Slot(
            format=FORMAT,
            number=number,
            areas=[self.areas.area_of(code).name for code in areas],
            streams=[self.streams[code] for code in streams],
            sensors=[
                (int(at), self.areas.sensor_of(code).name) for at, code in zip(area_of_sensor, sensors, strict=True)
            ],
            templates=[(h.edges_s.astype("<f8").tobytes(), h.mass.astype("<f8").tobytes()) for h in histograms],
            seq=rows.seq[part].astype("<i8").tobytes(),
            detected_at_us=rows.detected_at_us[part].astype("<i8").tobytes(),
            received_at_us=rows.received_at_us[part].astype("<i8").tobytes(),
            sensor=sensor.tobytes(),
            template=template.tobytes(),
            stream=stream.tobytes(),
            ids=rows.ids[part],
            attributes=rows.attributes[part],
        )
        return msgpack.encode(slot)


def _local(codes: CodeArray) -> tuple[list[int], PositionArray, npt.NDArray[np.uint16]]:
    """Return the distinct codes in order of appearance, the first row of each, and each row's position among them."""
    distinct, first_row, position = np.unique(codes, return_index=True, return_inverse=True)
    order = np.argsort(first_row)
    rank = np.empty(len(order), "<u2")
    rank[order] = np.arange(len(order))
    return distinct[order].tolist(), first_row[order], rank[position]


_decoder = msgpack.Decoder(Slot)

"""Journal slots: accepted rows as bytes, each slot complete in itself."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from msgspec import Struct, msgpack

from coincide import Histogram
from coincide.arrays.kinds import CodeArray, Int64Array, PositionArray
from coincide.fusion.rows.areas import Areas
from coincide.fusion.rows.event_table import FEW_ROWS, EventColumns, VerifiedTemplates
from coincide.fusion.saving.state_format import FORMAT, decode_state
from coincide.places.place import EarthPlace, FramePlace, Place
from coincide.places.place_registry import PlaceRegistry
from coincide.templates.packed import packed, packed_bytes, unpacked

ROW_BYTES = 4 * 8 + 5 * 2 + 28 + 4  # sequence number, two times, offset, five codes, its place, lengths of the strings


class Slot(Struct, array_like=True, frozen=True):
    """Rows of one slot. Columns are little-endian arrays as bytes; codes are positions in the slot's own lists."""

    format: int
    number: int
    areas: list[str]
    streams: list[str]
    sensors: list[tuple[int, str]]
    templates: list[tuple[bytes, ...]]
    places: list[SavedPlace]
    seq: bytes
    detected_at_us: bytes
    received_at_us: bytes
    offset: bytes
    sensor: bytes
    template: bytes
    place: bytes
    stream: bytes
    ids: list[str]
    payload: list[bytes]

    @classmethod
    def decode(cls, slot: bytes) -> Slot:
        """Read what `SlotWriter` wrote; StateError if it is no slot of this format."""
        return decode_state(slot, _decoder, "a journal slot")

    def histograms(self) -> list[Histogram]:
        """Return the templates of the slot."""
        return [*map(unpacked, self.templates)]

    def known_places(self) -> list[Place | None]:
        """Return the places of the slot; None stands for one that is not known."""
        return [None if each is None else (EarthPlace, FramePlace)[each[0]](*each[1:]) for each in self.places]


SavedPlace = tuple[int, float, float, float] | None
"""0 for a place on the Earth or 1 for one in a frame, and its coordinates; None where it is not known."""


def _saved(place: Place | None) -> SavedPlace:
    return None if place is None else (int(isinstance(place, FramePlace)), *place.coordinates)


@dataclass(frozen=True)
class SlotWriter:
    """Writes rows of an event table into slots of bounded size."""

    areas: Areas
    templates: VerifiedTemplates
    places: PlaceRegistry
    streams: Sequence[str]
    max_slot_bytes: int

    def split(self, rows: EventColumns) -> Iterator[slice]:
        """Cut the rows into stretches that fit into a slot each, at least one row each."""
        if 0 < len(rows) <= FEW_ROWS and self._most_bytes(rows) <= self.max_slot_bytes:
            yield slice(0, len(rows))
            return
        row_bytes = ROW_BYTES + lengths(rows.ids) + lengths(rows.payload)
        before = np.concatenate(([0], np.cumsum(row_bytes)))
        start = 0
        while start < len(rows):
            stop = _fitting(before, start, self.max_slot_bytes)
            new, first_row = np.unique(rows.template[start:stop], return_index=True)
            template_bytes = np.zeros(stop - start + 1, np.int64)
            template_bytes[first_row + 1] = [self._template_bytes(code) for code in new.tolist()]
            stop = start + _fitting(before[start : stop + 1] + np.cumsum(template_bytes), 0, self.max_slot_bytes)
            yield slice(start, stop)
            start = stop

    def _most_bytes(self, rows: EventColumns) -> int:
        """Return how many bytes rows take at most: as if no two of them had the same template."""
        texts = sum(map(len, rows.ids)) + sum(map(len, rows.payload))
        templates = sum(map(self._template_bytes, rows.template.tolist()))
        return ROW_BYTES * len(rows) + texts + templates

    def _template_bytes(self, code: int) -> int:
        return packed_bytes(self.templates.histogram(code))

    def encode(self, number: int, rows: EventColumns, part: slice) -> bytes:
        """Return the slot that holds part of the rows."""
        sensors, first_row, sensor = _local(rows.sensor[part])
        templates, _, template = _local(rows.template[part])
        places, _, place = _local(rows.place[part])
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
            templates=[*map(packed, histograms)],
            places=[_saved(self.places.place(code)) for code in places],
            seq=rows.seq[part].astype("<i8").tobytes(),
            detected_at_us=rows.detected_at_us[part].astype("<i8").tobytes(),
            received_at_us=rows.received_at_us[part].astype("<i8").tobytes(),
            offset=rows.offset[part].astype("<i8").tobytes(),
            sensor=sensor.tobytes(),
            template=template.tobytes(),
            place=place.tobytes(),
            stream=stream.tobytes(),
            ids=rows.ids[part],
            payload=rows.payload[part],
        )
        return msgpack.encode(slot)


def _fitting(before: Int64Array, start: int, most_bytes: int) -> int:
    """Return where a stretch from `start` ends that has so many bytes at most, or one row; `before` is a sum."""
    return max(int(np.searchsorted(before, before[start] + most_bytes, side="right")) - 1, start + 1)


def lengths(texts: Sequence[str] | Sequence[bytes]) -> Int64Array:
    """Return how long each text is."""
    return np.fromiter(map(len, texts), np.int64, len(texts))


def _local(codes: CodeArray) -> tuple[list[int], PositionArray, npt.NDArray[np.uint16]]:
    """Return the distinct codes in order of appearance, the first row of each, and each row's position among them."""
    if len(codes) == 1:
        return codes.tolist(), *_ONE_ROW
    if len(codes) <= FEW_ROWS:
        return _local_of_few(codes.tolist())
    distinct, at = _looked_up(codes)
    first_row = np.full(len(distinct), len(codes), np.intp)
    first_row[at[::-1]] = np.arange(len(codes))[::-1]  # of equal codes the last one written is the first row
    order = np.argsort(first_row, kind="stable")[: np.count_nonzero(first_row < len(codes))]
    rank = np.empty(len(distinct), "<u2")
    rank[order] = np.arange(len(order))
    return distinct[order].tolist(), first_row[order], rank[at]


def _local_of_few(codes: list[int]) -> tuple[list[int], PositionArray, npt.NDArray[np.uint16]]:
    position = {code: nth for nth, code in enumerate(dict.fromkeys(codes))}
    first_row = np.array([codes.index(code) for code in position], np.intp)
    return list(position), first_row, np.array([position[code] for code in codes], "<u2")


def _looked_up(codes: CodeArray) -> tuple[Int64Array, PositionArray]:
    """Return some codes, among them all that are there, and each row's position in that list."""
    least, greatest = int(codes.min()), int(codes.max())
    if greatest - least <= 4 * len(codes):
        return np.arange(least, greatest + 1), (codes - least).astype(np.intp)
    distinct, at = np.unique(codes, return_inverse=True)  # a list of the whole range would be mostly empty
    return distinct.astype(np.int64), at


_ONE_ROW = np.zeros(1, np.intp), np.zeros(1, "<u2")
_decoder = msgpack.Decoder(Slot)

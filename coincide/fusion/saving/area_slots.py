"""Saved areas: each batch writes the areas that its frames came from into a slot, and small slots are merged.

So a batch writes no more because many other areas are known. What silence has done to an area since its slot was
written is worked out again after a restart: see `Silence.settle`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable
from dataclasses import dataclass, field

from msgspec import Struct, msgpack

from coincide.fusion.control.known_streams import KnownStreams
from coincide.fusion.control.limits import Limits
from coincide.fusion.rows.areas import Areas
from coincide.fusion.rows.rates import DetectionRates, SavedRates
from coincide.fusion.saving.state_format import FORMAT, decode_state
from coincide.joins.lateness import BEFORE_ALL_US

FIRST_NUMBER = 2**30  # slots of rows are numbered from 0 up, those of episodes from -1 down
TYPICAL_BYTES = 256  # of an area with a few sensors
SPARSE_BELOW = 1 / 4  # of a full slot is in no newer one


class SavedArea(Struct, array_like=True, frozen=True):
    """An area that is known, as it was after the batch that wrote it."""

    name: str
    since: int
    partition: int
    last_received_us: int
    silent_since_us: int
    watermark_us: int
    rates: SavedRates | None
    floors_us: dict[str, int]  # by stream, where its delay was raised and that still matters


class AreaSlot(Struct, array_like=True, frozen=True):
    """Some areas as bytes; one that another slot with a greater number has, too, is as it is there."""

    format: int
    number: int
    areas: list[SavedArea]

    @classmethod
    def decode(cls, slot: bytes) -> AreaSlot:
        """Read what `AreaSlots` wrote; StateError if it is no slot of this format."""
        return decode_state(slot, _decoder, "a slot of areas")


_decoder = msgpack.Decoder(AreaSlot)


@dataclass
class AreaSlots:
    """The slots that have areas; no slot has a forgotten one, which would come back with a restart."""

    areas: Areas
    streams: KnownStreams
    limits: Limits
    next: int = FIRST_NUMBER
    written: dict[int, bytes] = field(default_factory=dict)  # in this batch
    dropped: list[int] = field(default_factory=list)  # written in an earlier batch and needless now
    _names: dict[int, list[str]] = field(default_factory=dict)  # of the areas in each slot
    _number: dict[str, int] = field(default_factory=dict)  # of the newest slot that has the area
    _newest: Counter[int] = field(default_factory=Counter)  # how many areas are in no newer slot, by number
    _sparse: set[int] = field(default_factory=set)  # slots with few of them
    _stale: set[int] = field(default_factory=set)  # slots with none of them

    @property
    def live(self) -> Collection[int]:
        """The numbers of the slots that are needed."""
        return self._names.keys()

    def write(self) -> None:
        """Write what this batch has changed, by name; call it at the end of the batch, after a sweep."""
        moving, forgotten = self.areas.changes()
        self.written, self.dropped = {}, []
        for number in self._having(forgotten):
            moving.update(self._dissolved(number, but_for=forgotten))
        for name in moving:
            self._take_out(name)
        for number in self._needless():
            moving.update(self._dissolved(number))
        names, most = sorted(moving), self._most_areas  # the order in which areas are known is another after a restart
        for first in range(0, len(names), most):
            self._write(names[first : first + most])
        self.dropped.sort()

    def restore(self, slots: Iterable[AreaSlot]) -> None:
        """Take the areas of all slots, which come by number."""
        for slot in slots:
            for saved in slot.areas:
                area = self.areas.area(saved.name, saved.since)
                area.since, area.rates = saved.since, DetectionRates.restored(saved.rates, self.streams.codes)
                self.areas.times.put(area.code, saved.partition, saved.last_received_us, saved.silent_since_us)
                self.areas.watermark.put(area.code, saved.watermark_us)
                for stream, since_us in saved.floors_us.items():
                    self.areas.put_floor(area, self.streams.codes[stream], since_us)
            self._note(slot.number, [saved.name for saved in slot.areas])

    @property
    def _most_areas(self) -> int:
        """How many areas a slot has at most."""
        return max(1, self.limits.max_slot_bytes // TYPICAL_BYTES)

    def _having(self, forgotten: set[str]) -> list[int]:
        """Return the slots that have areas which are forgotten now."""
        if not forgotten:
            return []
        return [number for number, names in self._names.items() if not forgotten.isdisjoint(names)]

    def _needless(self) -> list[int]:
        """Return the slots of which every area is in a newer one, and the sparse ones once they are many."""
        return list(self._sparse if len(self._sparse) >= self.limits.merge_slots_from else self._stale)

    def _dissolved(self, number: int, but_for: Container[str] = ()) -> list[str]:
        """Take a slot away, and return the areas that are in no newer one."""
        names = [name for name in self._names.pop(number) if self._number.get(name) == number]
        for name in names:
            del self._number[name]
        del self._newest[number]
        self._sparse.discard(number)
        self._stale.discard(number)
        self.dropped.append(number)
        return [name for name in names if name not in but_for]

    def _take_out(self, name: str) -> None:
        number = self._number.pop(name, None)
        if number is not None:
            self._count(number, self._newest[number] - 1)

    def _count(self, number: int, newest: int) -> None:
        self._newest[number] = newest
        if newest < SPARSE_BELOW * self._most_areas:
            self._sparse.add(number)
        if newest == 0:
            self._stale.add(number)

    def _write(self, names: list[str]) -> None:
        saved = [self._saved(name) for name in names]
        self.written[self.next] = msgpack.encode(AreaSlot(FORMAT, self.next, saved))
        self._note(self.next, names)
        self.next += 1

    def _note(self, number: int, names: list[str]) -> None:
        for name in names:
            self._take_out(name)
        self._names[number] = names
        self._count(number, len(names))
        self._number |= dict.fromkeys(names, number)

    def _saved(self, name: str) -> SavedArea:
        area = self.areas.area(name, 0)  # known
        partition, last_received_us, silent_since_us = self.areas.times.of(area.code)
        watermark_us, rates = self.areas.watermark.us(area.code), area.rates.saved(self.streams.names)
        floors_us = self._floors_us(area.code, watermark_us)
        times = partition, last_received_us, silent_since_us, watermark_us
        return SavedArea(name, area.since, *times, rates, floors_us)

    def _floors_us(self, area: int, watermark_us: int) -> dict[str, int]:
        """Return from when on detections are on time, by stream, where that is not what its delay says.

        An area that has no watermark yet has none, whatever was reckoned from that.
        """
        floors = [(stream, int(us[area])) for stream, us in self.areas.floors_us.items() if area < len(us)]
        floors = [(stream, us) for stream, us in floors if us > BEFORE_ALL_US]
        delays_us = self.streams.delays_us
        return {self.streams.names[stream]: us for stream, us in floors if us > watermark_us - delays_us[stream]}

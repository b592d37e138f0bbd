"""Saved spells: the rows that stand for settled readings, of each query and area in slots of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from msgspec import Raw, Struct, msgpack

from coincide.fusion.episodes.episode_records import GroupKey
from coincide.fusion.saving.slot_store import SlotStore
from coincide.fusion.saving.state_format import FORMAT, decode_state

FIRST_NUMBER = -(2**30)  # those of episodes are numbered from -1 down
NUMBERS = (
    "first_us",
    "last_us",
    "first_detected_us",
    "last_detected_us",
    "last_revision",
    "count",
    "revision",
    "received_at_us",
)


class SpellReading(NamedTuple):
    """What of a reading is told of a spell that begins or ends with it; sensor and id tell it from others."""

    sensor: str
    id: str
    payload: bytes


class SettledStretch(Struct, array_like=True, frozen=True):
    """What the readings of one group have become up to an instant; as the columns of `Stretches` by these names."""

    group: GroupKey
    begins: bool
    goes_on: bool
    template: tuple[bytes, ...]  # of its first reading, packed
    values: bytes  # of its first and its last reading, as a JSON list
    first: SpellReading
    last: SpellReading
    numbers: list[int]  # by `NUMBERS`
    probability: float


class SpellSlot(Struct, array_like=True, frozen=True):
    """Some groups of one query and area, as bytes."""

    format: int
    number: int
    settled: list[SettledStretch]

    @classmethod
    def decode(cls, slot: bytes) -> SpellSlot:
        """Read what `SpellSlots` wrote; StateError if it is no slot of this format."""
        return decode_state(slot, _decoder, "a slot of spells")


_decoder = msgpack.Decoder(SpellSlot)

_Place = tuple[str, str]  # query and area


class SpellSlots(SlotStore):
    """Writes what has changed: the slots of a query and area in which nothing was settled stay as they are."""

    def __init__(self, max_slot_bytes: int) -> None:
        super().__init__(FIRST_NUMBER)
        self.max_slot_bytes = max_slot_bytes
        self._held: dict[_Place, dict[int, list[bytes]]] = {}  # content by slot

    def write(self, query: str, settled: Sequence[SettledStretch]) -> None:
        """Let the slots of a query say this, by area and group."""
        wanted = {
            (query, area): list(map(msgpack.encode, each)) for area, each in groupby(settled, lambda it: it.group.area)
        }
        for place in [place for place in self._held if place[0] == query and place not in wanted]:
            self._drop(place)
        for place, contents in wanted.items():
            held = self._held.get(place, {})
            if [each for slot in held.values() for each in slot] != contents:
                self._drop(place)
                self._held[place] = dict(self._new_slots(contents))

    def restore(self, slots: Iterable[SpellSlot]) -> None:
        """Take the slots as they were saved, by number from the first one down."""
        for slot in slots:
            group = slot.settled[0].group
            contents = list(map(msgpack.encode, slot.settled))
            self._held.setdefault((group.query, group.area), {})[slot.number] = contents
            self.live.add(slot.number)

    def settled(self, query: str) -> list[SettledStretch]:
        """Return what the slots of a query say."""
        mine = (slots for place, slots in self._held.items() if place[0] == query)
        return [_content_decoder.decode(each) for slots in mine for slot in slots.values() for each in slot]

    def _new_slots(self, contents: Sequence[bytes]) -> Iterator[tuple[int, list[bytes]]]:
        begin = size = 0
        for at, content in enumerate(contents):
            if at > begin and size + len(content) > self.max_slot_bytes:
                yield self._new_slot(contents[begin:at])
                begin, size = at, 0
            size += len(content)
        yield self._new_slot(contents[begin:])

    def _new_slot(self, contents: Sequence[bytes]) -> tuple[int, list[bytes]]:
        number = self.add(lambda number: msgpack.encode((FORMAT, number, list(map(Raw, contents)))))
        return number, list(contents)

    def _drop(self, place: _Place) -> None:
        for number in self._held.pop(place, {}):
            self.remove(number)


_content_decoder = msgpack.Decoder(SettledStretch)

"""PendingMatch: a match whose evidence is still to be told, as it is held and saved."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct, msgpack, structs

from coincide import Histogram
from coincide.fusion.saving.slot_store import SlotStore
from coincide.fusion.saving.state_format import decode_state
from coincide.templates.packed import buckets_on_clock, packed, packed_clock

FIRST_NUMBER = -(3 * 2**29)  # slots of spells are numbered from -2**30 down; a number has 32 bits
NUMBERS = 2**28
MOST_PARTS = 2_000  # of the matches of one group, those that several have counted for each: as many pairs
#: Buckets of a clock by buckets of an own error: so many more are one more part. A part of 64 by 64 takes 25 ms,
#: so that the largest group takes a second.
BUCKETS_A_PART = 80
MOST_LIVE = 64  # sensors of an area, each of which may be silent


class DetectionKey(NamedTuple):
    """What tells a detection from all others of its area, as the id of a match has it."""

    detected_at_us: int
    sensor: str
    id: str


class PendingMember(Struct, array_like=True, frozen=True):
    """One detection of a match: what its evidence needs."""

    role: int
    key: DetectionKey
    stream: str
    latest_us: int
    template: tuple[bytes, ...]  # packed
    counted_hz: float | None  # how often its sensor reported on the stream, when the match was completed
    least_hz: float  # how often, if once in all the time that was watched


class PendingMatch(Struct, array_like=True, frozen=True):
    """A match in a slot of its own; `is_told`: it stands only for detections that hang together with too much."""

    format: int
    number: int
    order: int  # of arrival among all of the shard
    query: str
    area: str
    since: int  # sequence number from which on the area is known
    id: str
    version: int
    members: tuple[PendingMember, ...]
    live: dict[str, float] | None  # how often each sensor reported that lived then; None: more than are weighed
    is_told: bool = False

    @property
    def keys(self) -> list[DetectionKey]:
        """Its detections."""
        return [each.key for each in self.members]

    @property
    def parts(self) -> int:
        """How many sets of two members or more it has; more than are weighed where too many sensors live.

        Those of members on shared clocks are weighed one by one, and count for more.
        """
        if self.live is None:
            return MOST_PARTS + 1
        return ((1 << len(self.members)) - len(self.members) - 1) * self._work_on_clocks

    @property
    def _work_on_clocks(self) -> int:
        """As how many parts one part counts; a clock that all members share cancels, and costs nothing."""
        clocks = [packed_clock(each.template) for each in self.members]
        on_shared = [
            each.template for each, clock in zip(self.members, clocks, strict=True) if clock and clocks.count(clock) > 1
        ]
        if not on_shared or len(set(clocks)) == 1:
            return 1
        return 1 + max(map(buckets_on_clock, on_shared)) // BUCKETS_A_PART

    @classmethod
    def decode(cls, slot: bytes) -> PendingMatch:
        """Read what `PendingSlots` wrote; StateError if it is no slot of this format."""
        return decode_state(slot, _decoder, "a slot of a match without evidence")


_decoder = msgpack.Decoder(PendingMatch)


class PendingSlots(SlotStore):
    """Each match has a slot of its own. `next` is the order of the next one; numbers are used again in time."""

    def __init__(self) -> None:
        super().__init__(first=0)

    def write(self, match: PendingMatch) -> PendingMatch:
        """Give a match its order and its slot."""
        made = structs.replace(match, order=self.next, number=FIRST_NUMBER - self.next % NUMBERS)
        self.next += 1
        self.live.add(made.number)
        self.written[made.number] = msgpack.encode(made)
        return made


class PackedTemplates:
    """Packs templates; what is remembered changes nothing."""

    def __init__(self, most: int = 4_096) -> None:
        self._most = most
        self._known: dict[str, tuple[bytes, ...]] = {}

    def of(self, template: Histogram) -> tuple[bytes, ...]:
        """Return the bytes of a template: one object for all that are equal."""
        known = self._known.get(template.id)
        if known is None:
            if len(self._known) >= self._most:
                self._known.clear()
            known = self._known[template.id] = packed(template)
        return known

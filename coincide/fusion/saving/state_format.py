"""The saved state: its version, by which every piece of another is refused, and the header, its small part."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from msgspec import Raw, Struct, msgpack

from coincide.fusion.control.control import SecondCount
from coincide.fusion.rows.areas import PartitionClock
from coincide.wire.status_record import Suspension, Totals

FORMAT = 16  # raise it with every change of Header, Slot or what they hold

T = TypeVar("T")


class StateError(RuntimeError):
    """A header or slot that this version cannot read, or that does not belong together with the others."""


class UnfitStateError(StateError):
    """Whole state, but of another format or of streams that are now declared otherwise."""


# What becomes of bytes that were damaged, however they still look: texts and numbers that are none, lists that are too
# short, names that nothing has.
_DAMAGE = (ValueError, LookupError, TypeError, ArithmeticError, AttributeError, RecursionError)


@contextmanager
def reading(what: str) -> Iterator[None]:
    """Turn whatever goes wrong because saved bytes are damaged into a StateError."""
    try:
        yield
    except _DAMAGE as error:
        raise StateError(f"{what} cannot be read ({type(error).__name__}: {error})") from error


def decode_state(content: bytes, decoder: msgpack.Decoder[T], what: str) -> T:
    """Decode an array that begins with its format; StateError if that is another, or it is no such array."""
    with reading(what):
        written_in = msgpack.decode(msgpack.decode(content, type=list[Raw])[0])
        if written_in != FORMAT:
            raise UnfitStateError(f"{what} has format {written_in!r}: this version reads {FORMAT}")
        return decoder.decode(content)


def number_of(slot: bytes) -> int:
    """Return the number of a slot, which comes after the format; StateError if it is no slot of this format."""
    return decode_state(slot, _numbered_decoder, "a journal slot").number


class _Numbered(Struct, array_like=True, frozen=True):
    """What every slot begins with."""

    format: int
    number: int


_numbered_decoder = msgpack.Decoder(_Numbered)


def unusable_state(error: Exception) -> tuple[bool, str] | None:
    """Return whether Spark's report of a failed query is about unfit state, and what its `StateError` said.

    That is None where there is none in the report: errors of the workers come as text.
    """
    names = f"{UnfitStateError.__name__}|{StateError.__name__}"
    said = re.search(rf"^.*\b({names}): (.*)$", str(error), re.MULTILINE)
    return said and (said[1] == UnfitStateError.__name__, said[2])


class SavedStream(Struct, array_like=True, frozen=True):
    """A stream that is known, and the version of the record that declared or removed it; 0: the file declared it."""

    name: str
    max_delay_s: float
    longest_template_s: float
    version: int
    longest_kept_s: float
    is_removed: bool
    echo_s: float | None


class SavedQuery(Struct, array_like=True, frozen=True):
    """A query in force: its JSON, and the other fields of `QueryInForce`, in their order."""

    query: bytes
    version: int
    paused: bool
    activation_seq: int
    matches: int
    episodes: int
    suspensions: dict[str, Suspension]
    match_counts: dict[str, SecondCount]
    earlier_limits: dict[int, dict[str, float]]


class Header(Struct, array_like=True, frozen=True):
    """Everything of `ShardState` but what has slots.

    That is rows, areas, episodes, matches without evidence, learnt rates and spells.
    """

    format: int
    shard: int
    next_seq: int
    next_slot: int
    first_seq: int
    swept_rows: int
    swept_areas: int
    streams: list[SavedStream]  # by code
    buffered: list[int]  # by code
    live_slots: list[int]
    next_episode_slot: int
    episode_slots: list[int]
    totals: Totals
    control_offset: int | None
    queries: list[SavedQuery]
    removed: dict[str, int]
    next_area_slot: int
    area_slots: list[int]
    next_spell_slot: int
    spell_slots: list[int]
    next_pending_match: int
    pending_slots: list[int]
    next_learnt: int
    learnt_slots: list[int]
    quiet_us: int | None  # that moved the watermarks
    clocks: dict[int, PartitionClock]
    next_held: int
    first_held: int
    next_held_slot: int
    held_slots: list[int]

    def encode(self) -> bytes:
        """Return the header as bytes."""
        return msgpack.encode(self)

    @classmethod
    def decode(cls, header: bytes, shard: int) -> Header:
        """Read what `encode` wrote; StateError if it is no header of this format, or one of another shard."""
        decoded = decode_state(header, _header_decoder, "the state's header")
        if decoded.shard != shard:
            raise StateError(f"the state is that of shard {decoded.shard}, not of shard {shard}")
        return decoded


_header_decoder = msgpack.Decoder(Header)

"""The header: the small part of the fusion core's state, as bytes."""

from __future__ import annotations

from msgspec import Struct, msgpack

from spark_jobs.records.status import Totals
from spark_jobs.rows.areas import PartitionClock
from spark_jobs.rows.rates import SavedRates
from spark_jobs.saving.state_format import StateError, decode_state


class SavedArea(Struct, array_like=True, frozen=True):
    """An area that is known."""

    name: str
    since: int
    last_received_us: int
    watermark_us: int
    partition: int
    silent_since_us: int
    rates: SavedRates | None


class Header(Struct, array_like=True, frozen=True):
    """Everything of `ShardState` but rows and episodes, which have slots."""

    format: int
    shard: int
    next_seq: int
    next_slot: int
    first_seq: int
    swept_rows: int
    swept_areas: int
    buffered: dict[str, int]
    live_slots: list[int]
    next_episode_slot: int
    episode_slots: list[int]
    totals: Totals
    control_offset: int | None
    queries: list[tuple[bytes, int, bool, int, int, int]]  # its JSON, and the other fields of `QueryInForce`
    removed: dict[str, int]
    areas: list[SavedArea]
    clocks: dict[int, PartitionClock]

    def encode(self) -> bytes:
        """Return the header as bytes."""
        return msgpack.encode(self)

    @classmethod
    def decode(cls, header: bytes, shard: int) -> Header:
        """Read what `encode` wrote; StateError if it is no header of this format, or one of another shard."""
        decoded = decode_state(header, _decoder, "the state's header")
        if decoded.shard != shard:
            raise StateError(f"the state is that of shard {decoded.shard}, not of shard {shard}")
        return decoded


_decoder = msgpack.Decoder(Header)

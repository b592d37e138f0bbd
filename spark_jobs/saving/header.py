"""The header: the small part of the fusion core's state, as bytes."""

from __future__ import annotations

from msgspec import Struct, json, msgpack

from coincide.queries import query_from_json
from spark_jobs.core.active_queries import ActiveQuery, ActiveReadings, in_force
from spark_jobs.records.status import Totals
from spark_jobs.rows.rates import SavedRates
from spark_jobs.saving.state_format import StateError, decode_state


class SavedQuery(Struct, array_like=True, frozen=True):
    """A query in force; `query` is its JSON."""

    version: int
    paused: bool
    activation_seq: int
    matches: int
    episodes: int
    query: bytes

    @classmethod
    def of(cls, active: ActiveQuery | ActiveReadings) -> SavedQuery:
        """Return the state of a query in force."""
        content = json.encode(active.query.to_json())
        counts = (active.matches, active.episodes)
        return cls(active.version, active.paused, active.activation_seq, *counts, content)

    def active(self) -> ActiveQuery | ActiveReadings:
        """Return the query in force."""
        query = query_from_json(json.decode(self.query))
        return in_force(query, self.version, self.paused, self.activation_seq, self.matches, self.episodes)


class SavedArea(Struct, array_like=True, frozen=True):
    """An area that is known."""

    name: str
    since: int
    last_received_us: int
    watermark_us: int
    partition: int
    silent_since_us: int
    rates: SavedRates | None


class SavedClock(Struct, array_like=True, frozen=True):
    """The clock of a partition of the detections topic."""

    partition: int
    heard_us: int
    missed_us: int


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
    queries: list[SavedQuery]
    removed: dict[str, int]
    areas: list[SavedArea]
    clocks: list[SavedClock]

    def encode(self) -> bytes:
        """Return the header as bytes."""
        return msgpack.encode(self)

    @classmethod
    def decode(cls, header: bytes, shard: int) -> Header:
        """Read what `encode` wrote.

        Raises
        ------
        StateError
            The bytes are no header of this format, or one of another shard.
        """
        decoded = decode_state(header, _decoder, "the state's header")
        if decoded.shard != shard:
            raise StateError(f"the state is that of shard {decoded.shard}, not of shard {shard}")
        return decoded


_decoder = msgpack.Decoder(Header)

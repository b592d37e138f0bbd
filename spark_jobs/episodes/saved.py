"""Saved episodes: each in a slot of its own, written once and dropped with it."""

from __future__ import annotations

from msgspec import Struct, msgpack

from coincide.query_coalesce import EpisodeRule
from spark_jobs.episodes.live_episode import LiveEpisode
from spark_jobs.episodes.part import Part
from spark_jobs.episodes.records import GroupKey
from spark_jobs.state_format import FORMAT, decode_state


class EpisodeSlot(Struct, array_like=True, frozen=True):
    """An episode as bytes; its number is below 0, those of rows are not."""

    format: int
    number: int
    group: GroupKey
    settled: list[Part]
    loose: dict[str, Part]
    revision: int

    @classmethod
    def decode(cls, slot: bytes) -> EpisodeSlot:
        """Read what `slot_of` wrote.

        Raises
        ------
        StateError
            The bytes are no slot of this format.
        """
        return decode_state(slot, _decoder, "an episode's slot")

    def episode(self, rule: EpisodeRule) -> LiveEpisode:
        """Return the episode; its phase follows from the watermark."""
        return LiveEpisode(self.group, tuple(self.settled), self.loose, rule, self.revision, self.number)


def slot_of(episode: LiveEpisode) -> bytes:
    """Return the slot that holds the episode."""
    content = (FORMAT, episode.slot, episode.group, episode.settled, episode.loose, episode.revision)
    return msgpack.encode(content)


_decoder = msgpack.Decoder(EpisodeSlot)

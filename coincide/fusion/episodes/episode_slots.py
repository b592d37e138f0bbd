"""Saved episodes: each in a slot of its own, written once and dropped with it."""

from __future__ import annotations

from msgspec import Struct, msgpack

from coincide.fusion.episodes.episode_records import GroupKey, Part
from coincide.fusion.episodes.live_episode import LiveEpisode
from coincide.fusion.saving.slot_store import SlotStore
from coincide.fusion.saving.state_format import FORMAT, decode_state
from coincide.queries import EpisodeRule


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
        """Read what `EpisodeSlots` wrote; StateError if it is no slot of this format."""
        return decode_state(slot, _decoder, "an episode's slot")

    def episode(self, rule: EpisodeRule) -> LiveEpisode:
        """Return the episode; its phase follows from the watermark."""
        return LiveEpisode(self.group, tuple(self.settled), self.loose, rule, self.revision, self.number)


_decoder = msgpack.Decoder(EpisodeSlot)


class EpisodeSlots(SlotStore):
    """Each episode has a slot of its own."""

    def __init__(self) -> None:
        super().__init__(first=-1)

    def write(self, episode: LiveEpisode) -> None:
        """Give an episode its slot."""
        group, parts = episode.group, (episode.settled, episode.loose)
        episode.slot = self.add(lambda number: msgpack.encode((FORMAT, number, group, *parts, episode.revision)))

    def drop(self, episode: LiveEpisode) -> None:
        """Drop the slot of an episode that is no more."""
        self.remove(episode.slot)

"""Saved episodes: each in a slot of its own, written once and dropped with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from msgspec import Struct, msgpack

from coincide.fusion.episodes.episode_records import GroupKey, Part
from coincide.fusion.episodes.live_episode import LiveEpisode
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
        """Read what `slot_of` wrote; StateError if it is no slot of this format."""
        return decode_state(slot, _decoder, "an episode's slot")

    def episode(self, rule: EpisodeRule) -> LiveEpisode:
        """Return the episode; its phase follows from the watermark."""
        return LiveEpisode(self.group, tuple(self.settled), self.loose, rule, self.revision, self.number)


def slot_of(episode: LiveEpisode) -> bytes:
    """Return the slot that holds the episode."""
    content = (FORMAT, episode.slot, episode.group, episode.settled, episode.loose, episode.revision)
    return msgpack.encode(content)


_decoder = msgpack.Decoder(EpisodeSlot)


@dataclass
class EpisodeSlots:
    """Slots are numbered from -1 downwards, so that they never meet those of rows."""

    next: int = -1
    live: set[int] = field(default_factory=set)
    written: dict[int, bytes] = field(default_factory=dict)  # in this batch
    dropped: list[int] = field(default_factory=list)  # written in an earlier batch and needless now

    def begin(self) -> None:
        """Begin a batch."""
        self.written, self.dropped = {}, []

    def write(self, episode: LiveEpisode) -> None:
        """Give an episode its slot."""
        episode.slot = self.next
        self.next -= 1
        self.live.add(episode.slot)
        self.written[episode.slot] = slot_of(episode)

    def drop(self, episode: LiveEpisode) -> None:
        """Drop the slot of an episode that is no more."""
        self.live.remove(episode.slot)
        if self.written.pop(episode.slot, None) is None:
            self.dropped.append(episode.slot)

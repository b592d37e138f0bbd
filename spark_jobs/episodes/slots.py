"""EpisodeSlots: which slots episodes are saved in, and which of them one batch wrote and dropped."""

from __future__ import annotations

from dataclasses import dataclass, field

from spark_jobs.episodes.live_episode import LiveEpisode
from spark_jobs.episodes.saved import slot_of


@dataclass
class EpisodeSlots:
    """Slots are numbered from -1 downwards, so that they never meet those of rows.

    Attributes
    ----------
    next : int
        Number of the next slot.
    live : set of int
        Slots that hold an episode.
    written : dict of int to bytes
        What is to be written.
    dropped : list of int
        Slots that were written in an earlier batch and are needless now.
    """

    next: int = -1
    live: set[int] = field(default_factory=set)
    written: dict[int, bytes] = field(default_factory=dict)
    dropped: list[int] = field(default_factory=list)

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

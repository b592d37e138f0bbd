"""LiveEpisode: an episode that may still change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from msgspec import json

from coincide.fusion.episodes.episode_records import (
    GroupKey,
    Part,
    episode_id,
    united,
)
from coincide.fusion.episodes.live_span import Entry, LiveSpan, Phase
from coincide.queries import EpisodeRule


@dataclass(eq=False)
class LiveEpisode(LiveSpan):
    """An episode; it never changes but for its phase: one with other matches is another object in another slot."""

    group: GroupKey
    settled: tuple[Part, ...]  # matches that nothing can remove any more, those that touch united
    loose: Mapping[str, Part]  # by match id; a larger match may still supersede them
    rule: EpisodeRule
    revision: int  # offset of the frame that last added or removed a match
    slot: int = 0
    phase: Phase = Phase.OPEN
    whole: Part = field(init=False)
    start_us: int = field(init=False)
    end_us: int = field(init=False)
    id: str = field(init=False)

    def __post_init__(self) -> None:
        self.whole = united([*self.settled, *self.loose.values()])
        self.start_us, self.end_us = self.whole.start_us, self.whole.end_us
        self.id = episode_id(self.group, self.rule, self.whole.members[0], self.start_us)

    @property
    def parts(self) -> int:
        """Of how many parts it is made."""
        return len(self.settled) + len(self.loose)

    def told(self) -> Entry:
        """Return the record of the episode as it is."""
        whole = self.whole
        lasted_us = whole.last_us - whole.first_us
        return self.standing(
            whole.query_version,
            group=dict(zip(self.rule.by, json.decode(self.group.values), strict=True)),
            duration_s=lasted_us / 1e6,
            uncertainty_s=(whole.end_us - whole.start_us - lasted_us) / 1e6,
            count=whole.count,
            best_probability=whole.best_probability,
            received_at_us=whole.received_at_us,
            members=[each.to_record() for each in whole.members],
            members_truncated=whole.truncated,
        )

"""LiveEpisode: an episode that may still change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum

from msgspec import json

from coincide.fusion.episodes.episode_records import (
    GroupKey,
    Part,
    episode_id,
    united,
)
from coincide.queries import EpisodeRule
from coincide.wire.episode_record import EpisodeRecord


class Phase(IntEnum):
    """How far time has gone past an episode."""

    OPEN = 0  # no more than the gap
    CLOSED = 1
    FINAL = 2  # so far that nothing on time can change it


@dataclass(eq=False)
class LiveEpisode:
    """An episode; it never changes but for its phase: one with other matches is another object in another slot."""

    group: GroupKey
    settled: tuple[Part, ...]  # matches that nothing can remove any more, those that touch united
    loose: Mapping[str, Part]  # by match id; a larger match may still supersede them
    rule: EpisodeRule
    revision: int  # offset of the frame that last added or removed a match
    slot: int = 0
    phase: Phase = Phase.OPEN
    whole: Part = field(init=False)
    id: str = field(init=False)

    def __post_init__(self) -> None:
        self.whole = united([*self.settled, *self.loose.values()])
        self.id = episode_id(self.group, self.rule, self.whole.members[0], self.whole.start_us)

    @property
    def parts(self) -> int:
        """Of how many parts it is made."""
        return len(self.settled) + len(self.loose)

    def record(self) -> EpisodeRecord:
        """Return the record of the episode as it is."""
        whole, group = self.whole, self.group
        lasted_us = whole.last_us - whole.first_us
        return EpisodeRecord(
            id=self.id,
            query=group.query,
            query_version=whole.query_version,
            area=group.area,
            group=dict(zip(self.rule.by, json.decode(group.values), strict=True)),
            revision=self.revision,
            start_us=whole.start_us,
            end_us=whole.end_us,
            duration_s=lasted_us / 1e6,
            uncertainty_s=(whole.end_us - whole.start_us - lasted_us) / 1e6,
            count=whole.count,
            best_probability=whole.best_probability,
            open=self.phase is Phase.OPEN,
            final=self.phase is Phase.FINAL,
            received_at_us=whole.received_at_us,
            members=[each.to_record() for each in whole.members],
            members_truncated=whole.truncated,
        )

    def retraction(self, revision: int, replaced_by: Sequence[LiveEpisode]) -> EpisodeRecord:
        """Return the record that takes it back, where others are in its place."""
        return EpisodeRecord(
            id=self.id,
            query=self.group.query,
            query_version=self.whole.query_version,
            area=self.group.area,
            revision=revision,
            retracted=True,
            replaced_by=[other.id for other in replaced_by],
        )

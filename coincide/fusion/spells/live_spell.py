"""LiveSpell: a spell that may still change, and what is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from msgspec import Raw

from coincide.arrays.kinds import Int64Array
from coincide.fusion.episodes.episode_records import EpisodeRecordMember, GroupKey
from coincide.fusion.episodes.live_span import Entry, LiveSpan, Phase
from coincide.wire.content_ids import content_id
from coincide.wire.fields import Scalar


@dataclass(frozen=True)
class LiveSpell(LiveSpan):
    """A spell that is not final; `end_us` is that of the reading which ended it, or of its last one."""

    group: GroupKey
    area: int  # its code
    label: Mapping[str, Scalar]
    first: EpisodeRecordMember
    last: EpisodeRecordMember
    start_us: int
    end_us: int
    is_ended: bool
    over_us: int  # when silence, or the reading that ended it, has ended it
    count: int
    revision: int
    received_at_us: int
    probability: float
    value: Scalar
    phase: Phase = Phase.OPEN

    @cached_property
    def id(self) -> str:  # type: ignore[override] # nobody sets it
        """Its id: "e-" and 32 hex digits that `content_id` makes from its query, area, group and first reading.

        The JSON is ``["spell",query,area,[value,..],[detected_at_us,sensor,id,stream]]``. A reading begins one
        spell only.
        """
        return content_id("e", ["spell", self.group.query, self.group.area, Raw(self.group.values), self.first.name])

    @property
    def told(self) -> tuple[object, ...]:
        """What is told anew when it changes: of an open spell only that it is there."""
        grown = () if self.phase is Phase.OPEN else (self.end_us, self.count, self.revision)
        return self.phase, *grown

    def at(self, watermark_us: Int64Array, on_time_us: Int64Array) -> LiveSpell:
        """Return it as it is when the watermarks are there, and what is on time is; final once nothing can change it.

        Both are by area code.
        """
        phase = Phase.CLOSED if self.is_ended or self.over_us < watermark_us[self.area] else Phase.OPEN
        if self.over_us < on_time_us[self.area]:
            phase = Phase.FINAL
        return self if phase is self.phase else replace(self, phase=phase)

    def ended(self) -> LiveSpell:
        """Return it as final."""
        return replace(self, phase=Phase.FINAL)

    def revised(self, version: int) -> Entry:
        """Return the record of the spell as it is."""
        members = [self.first, self.last] if self.count > 1 else [self.first]
        return self.standing(
            version,
            group=self.label,
            duration_s=(self.end_us - self.start_us) / 1e6,
            count=self.count,
            best_probability=self.probability,
            received_at_us=self.received_at_us,
            members=[member.to_record() for member in members],
            members_truncated=self.count > len(members),
            value=self.value,
        )

    def overlapping(self, others: Sequence[LiveSpell]) -> list[LiveSpell]:
        """Return those of the others, which are of its group, that lie where it was."""
        return [other for other in others if other.start_us <= self.end_us and self.start_us <= other.end_us]

"""LiveSpell: a spell that may still change, and what is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from msgspec import Raw

from coincide.arrays.kinds import Int64Array
from coincide.fusion.episodes.episode_records import EpisodeRecordMember, GroupKey
from coincide.fusion.episodes.live_episode import Phase
from coincide.wire.content_ids import content_id
from coincide.wire.episode_record import EpisodeRecord
from coincide.wire.fields import Scalar

Entry = tuple[str, bytes, int, str, EpisodeRecord]  # changes are told by area, group, start and id


@dataclass(frozen=True)
class LiveSpell:
    """A spell that is not final; `end_us` is that of the reading which ended it, or of its last one."""

    key: GroupKey
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
    def id(self) -> str:
        """Its id: "e-" and 32 hex digits that `content_id` makes from its query, area, group and first reading.

        The JSON is ``["spell",query,area,[value,..],[detected_at_us,sensor,id,stream]]``. A reading begins one
        spell only.
        """
        return content_id("e", ["spell", self.key.query, self.key.area, Raw(self.key.values), self.first.name])

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

    def entry(self, record: EpisodeRecord) -> Entry:
        """Return a record about it with what puts it in order."""
        return self.key.area, self.key.values, self.start_us, self.id, record

    def revised(self, version: int) -> Entry:
        """Return the record of the spell as it is."""
        members = [self.first, self.last] if self.count > 1 else [self.first]
        record = EpisodeRecord(
            id=self.id,
            query=self.key.query,
            query_version=version,
            area=self.key.area,
            group=self.label,
            revision=self.revision,
            start_us=self.start_us,
            end_us=self.end_us,
            duration_s=(self.end_us - self.start_us) / 1e6,
            count=self.count,
            best_probability=self.probability,
            open=self.phase is Phase.OPEN,
            final=self.phase is Phase.FINAL,
            received_at_us=self.received_at_us,
            members=[member.to_record() for member in members],
            members_truncated=self.count > len(members),
            value=self.value,
        )
        return self.entry(record)

    def retracted(self, version: int, revision: int, others: Sequence[LiveSpell]) -> Entry:
        """Return the record that takes it back; the others are those of its group now."""
        there = [other.id for other in others if other.start_us <= self.end_us and self.start_us <= other.end_us]
        record = EpisodeRecord(
            id=self.id,
            query=self.key.query,
            query_version=version,
            area=self.key.area,
            revision=revision,
            retracted=True,
            replaced_by=there,
        )
        return self.entry(record)

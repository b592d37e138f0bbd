"""What lasts, an episode or a spell: its lifecycle, the records that tell of it, and their order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any

from coincide.fusion.episodes.episode_records import GroupKey
from coincide.wire.results.episode_record import EpisodeRecord

Entry = tuple[str, bytes, int, str, EpisodeRecord]
"""A record, and what it is told by: area, group, start and id."""


class Phase(IntEnum):
    """How far time has gone past it."""

    OPEN = 0  # it may go on
    CLOSED = 1
    FINAL = 2  # so far that nothing on time can change it


class LiveSpan:
    """It is open, then closed, then final. Until then it is told anew when it changes, or is taken back."""

    group: GroupKey
    id: str
    start_us: int
    end_us: int
    revision: int  # offset of the frame that changed it last
    phase: Phase

    def standing(self, version: int, **fields: Any) -> Entry:
        """Return the record of it as it is; `fields` says what it is made of."""
        is_open, is_final = self.phase is Phase.OPEN, self.phase is Phase.FINAL
        times = {"start_us": self.start_us, "end_us": self.end_us}
        return self._entry(version, self.revision, open=is_open, final=is_final, **times, **fields)

    def retracted(self, version: int, revision: int, others: Iterable[LiveSpan]) -> Entry:
        """Return the record that takes it back, where others are in its place."""
        return self._entry(version, revision, retracted=True, replaced_by=[other.id for other in others])

    def _entry(self, version: int, revision: int, **fields: Any) -> Entry:
        query, area, _, values = self.group
        record = EpisodeRecord(id=self.id, query=query, query_version=version, area=area, revision=revision, **fields)
        return area, values, self.start_us, self.id, record


def in_order(entries: Iterable[Entry]) -> list[EpisodeRecord]:
    """Return the records of one query in the order in which they are told."""
    return [record for *_, record in sorted(entries, key=lambda entry: entry[:-1])]


def taken_out(by_query: dict[str, Any], wanted: Mapping[str, Any]) -> dict[str, Any]:
    """Take out, by query, and return what does not go on with the queries in force."""
    over = [id_ for id_, kept in by_query.items() if id_ not in wanted or not kept.goes_on_with(wanted[id_])]
    return {id_: by_query.pop(id_) for id_ in over}

"""What a query over readings says of one window, as records of the episodes topic."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, starmap
from typing import NamedTuple

from msgspec import json

from coincide.fusion.control.control import ActiveReadings
from coincide.fusion.readings.reading_columns import ReadingColumns
from coincide.joins.search.work import checked
from coincide.sliding.counts import RunReadings, SlidingExtent
from coincide.sliding.questions import Answers
from coincide.wire.content_ids import content_id
from coincide.wire.fields import Scalar
from coincide.wire.results.episode_record import EpisodeRecord, QueriedWindow


def answer_id(query: str, area: str, group: Mapping[str, Scalar], window_end_us: int, start_us: int) -> str:
    """Return "e-" and 32 hex digits that `content_id` makes from the arguments."""
    return content_id("e", [query, area, group, window_end_us, start_us])


SIDES = ("a", "b")
ROWS_AT_ONCE = 4_096  # a tenth of a second


class _Side(NamedTuple):
    """One group of an answer; those of a join are told apart by their JSON."""

    text: bytes
    group: dict[str, Scalar]
    held: RunReadings


class _Row(NamedTuple):
    window_end_us: int
    sides: list[_Side]
    start_us: int
    end_us: int

    def order(self) -> tuple[list[bytes], int]:
        return [side.text for side in self.sides], self.start_us


@dataclass(frozen=True)
class AnswerWriter:
    """Writes the answers of one query in one area."""

    active: ActiveReadings
    extent: SlidingExtent
    columns: ReadingColumns
    area: str
    check: Callable[[], None]

    def written(self, found: Answers) -> Iterator[EpisodeRecord]:
        """Yield the answers, which are by window, as records by window, group and start."""
        for _, of_window in groupby(self._rows(found), key=lambda row: row.window_end_us):
            rows = sorted(of_window, key=_Row.order)
            yield from starmap(self._answer, rows)

    def _rows(self, found: Answers) -> Iterator[_Row]:
        groups = zip(*(codes.tolist() for codes in found.groups), strict=True)
        spans = (found.intervals.start_us.tolist(), found.intervals.end_us.tolist())
        columns = zip(found.window_end_us.tolist(), groups, *spans, strict=True)
        for end, codes, *span in checked(columns, ROWS_AT_ONCE, self.check):
            sides = sorted((self._side(code, *span) for code in codes), key=lambda side: side.text)
            yield _Row(end, sides, *span)

    def _side(self, code: int, start_us: int, end_us: int) -> _Side:
        group = self.columns.group(code)
        return _Side(json.encode(group), group, self.extent.readings_in(code, start_us, end_us))

    def _answer(self, window_end_us: int, sides: list[_Side], start_us: int, end_us: int) -> EpisodeRecord:
        query = self.active.query
        group = _named(sides)
        values = [self.columns.value(query.rule.value_of(side.held.value)) for side in sides]
        return EpisodeRecord(
            id=answer_id(query.id, self.area, group, window_end_us, start_us),
            query=query.id,
            query_version=self.active.version,
            area=self.area,
            group=group,
            revision=0,
            start_us=start_us,
            end_us=end_us,
            duration_s=(end_us - start_us) / 1e6,
            count=sum(side.held.readings for side in sides),
            best_probability=None,  # at `latest_us` a reading is certainly so
            open=False,
            final=True,
            received_at_us=max(received_at_us for _, _, received_at_us in (side.held.newest for side in sides)),
            members=(),
            members_truncated=False,
            window=QueriedWindow(window_end_us - query.time_us, window_end_us),
            value=values[0] if len(sides) == 1 else dict(zip(SIDES, values, strict=True)),
        )


def _named(sides: list[_Side]) -> dict[str, Scalar]:
    """Return the group of one side, or those of both with a name before each field."""
    if len(sides) == 1:
        return sides[0].group
    return {f"{name}.{by}": value for name, side in zip(SIDES, sides, strict=True) for by, value in side.group.items()}

"""What a query over readings says of one window, as records of the episodes topic."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, starmap
from typing import NamedTuple

from msgspec import Struct, json

from coincide.fusion.control.control import ActiveReadings
from coincide.fusion.readings.reading_columns import ReadingColumns
from coincide.fusion.records.kafka_records import OutputRecord
from coincide.fusion.rows.attributes import Scalar
from coincide.joins.search.work import checked
from coincide.sliding.counts import RunReadings, SlidingExtent
from coincide.sliding.questions import Answers
from coincide.wire.content_ids import content_id


class AnsweredWindow(Struct, frozen=True):
    """The window [start, end)."""

    start_us: int
    end_us: int


class WindowAnswer(Struct, frozen=True, kw_only=True):
    """One answer of one window: final, and never given again.

    `start_us` and `end_us` are of a run, or of what two have in common, cut to the window; `count` readings hold in it.
    Of a join, `group` has the names "a.sensor" and "b.sensor" and `value` is {"a": .., "b": ..}. `received_at_us` is
    when ingest had the newest reading in it. There is no probability: at `latest_us` a reading is certainly so.
    """

    v: int = 1
    id: str
    query: str
    query_version: int
    area: str
    group: Mapping[str, Scalar]
    revision: int = 0
    start_us: int
    end_us: int
    duration_s: float
    count: int
    best_probability: None = None
    open: bool = False
    final: bool = True
    received_at_us: int
    members: Sequence[object] = ()
    members_truncated: bool = False
    window: AnsweredWindow
    value: Scalar | Mapping[str, Scalar]

    def to_record(self) -> OutputRecord:
        """Return the record to write, keyed by area."""
        return OutputRecord(self.area.encode(), json.encode(self))


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

    def written(self, found: Answers) -> Iterator[WindowAnswer]:
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

    def _answer(self, window_end_us: int, sides: list[_Side], start_us: int, end_us: int) -> WindowAnswer:
        query = self.active.query
        group = _named(sides)
        values = [self.columns.value(query.rule.value_of(side.held.value)) for side in sides]
        return WindowAnswer(
            id=answer_id(query.id, self.area, group, window_end_us, start_us),
            query=query.id,
            query_version=self.active.version,
            area=self.area,
            group=group,
            start_us=start_us,
            end_us=end_us,
            duration_s=(end_us - start_us) / 1e6,
            count=sum(side.held.readings for side in sides),
            received_at_us=max(received_at_us for _, _, received_at_us in (side.held.newest for side in sides)),
            window=AnsweredWindow(window_end_us - query.time_us, window_end_us),
            value=values[0] if len(sides) == 1 else dict(zip(SIDES, values, strict=True)),
        )


def _named(sides: list[_Side]) -> dict[str, Scalar]:
    """Return the group of one side, or those of both with a name before each field."""
    if len(sides) == 1:
        return sides[0].group
    return {f"{name}.{by}": value for name, side in zip(SIDES, sides, strict=True) for by, value in side.group.items()}

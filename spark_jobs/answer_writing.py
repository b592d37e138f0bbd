"""Answer writing: from answers in columns to records."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import starmap
from typing import NamedTuple

from msgspec import json

from coincide.sliding.answers import Answers
from coincide.sliding.extent import Held, SlidingExtent
from spark_jobs.active_readings import ActiveReadings
from spark_jobs.attributes import Scalar
from spark_jobs.reading_columns import ReadingColumns
from spark_jobs.window_answers import AnsweredWindow, WindowAnswer, answer_id

SIDES = ("a", "b")


class _Side(NamedTuple):
    """One group of an answer; those of a join are told apart by their JSON."""

    text: bytes
    group: dict[str, Scalar]
    held: Held


@dataclass(frozen=True)
class AnswerWriter:
    """Writes the answers of one query in one area."""

    active: ActiveReadings
    extent: SlidingExtent
    columns: ReadingColumns
    area: str

    def written(self, found: Answers) -> Iterator[WindowAnswer]:
        """Return the answers as records, by window, group and start."""
        groups = zip(*(codes.tolist() for codes in found.groups), strict=True)
        spans = (found.intervals.start_us.tolist(), found.intervals.end_us.tolist())
        rows = [
            (end, sorted((self._side(code, start, stop) for code in codes), key=lambda side: side.text), start, stop)
            for end, codes, start, stop in zip(found.window_end_us.tolist(), groups, *spans, strict=True)
        ]
        rows.sort(key=lambda row: (row[0], [side.text for side in row[1]], row[2]))
        return starmap(self._answer, rows)

    def _side(self, code: int, start_us: int, end_us: int) -> _Side:
        group = self.columns.group(code)
        return _Side(json.encode(group), group, self.extent.held(code, start_us, end_us))

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
            count=sum(side.held.readings for side in sides),
            received_at_us=max(side.held.newest.received_at_us for side in sides),
            window=AnsweredWindow(window_end_us - query.time_us, window_end_us),
            value=values[0] if len(sides) == 1 else dict(zip(SIDES, values, strict=True)),
        )


def _named(sides: list[_Side]) -> dict[str, Scalar]:
    """Return the group of one side, or those of both with a name before each field."""
    if len(sides) == 1:
        return sides[0].group
    return {f"{name}.{by}": value for name, side in zip(SIDES, sides, strict=True) for by, value in side.group.items()}

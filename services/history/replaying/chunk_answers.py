"""Tasks of a complete run: to cut the rows of a hash into chunks, and to answer for one chunk."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
import pyarrow as pa
from msgspec.json import encode

from coincide import Histogram, Stream
from coincide.chunks.key_ranges import KeyRange
from services.history.archiving.layout import written_whole
from services.history.replaying.complete_answer import FoundTuples, complete_tuples, match_records, reach_us
from services.history.replaying.expected_by_chance import role_counts
from services.history.replaying.match_curves import MatchColumns
from services.history.replaying.question import Question
from services.history.replaying.request import RunError
from services.history.rows.archive_rows import HashRows, RowChunk
from services.history.rows.played_rows import PlayedRows

Check = Callable[[], None]
"""Raises an error if nobody wants the answer any more."""


@dataclass(frozen=True)
class CutTask:
    """Cuts the rows of one hash into chunks of about so many rows."""

    rows: HashRows
    question: Question
    chunk_rows: int

    def answer(self, check: Check) -> list[KeyRange]:
        """Return where the chunks are."""
        check()
        looks_back = self.question.query.at_least is not None
        return self.rows.cut(partial(reach_us, self.question.asked[0]), self.chunk_rows, looks_back=looks_back)


class ChunkAnswer(NamedTuple):
    """What one chunk has given."""

    detections: int
    no_number: int
    no_place: int
    matches: int
    figures: list[list[MatchColumns]]  # for each threshold asked
    counts: list[pa.Table]  # of `role_counts`
    templates: Mapping[str, Histogram]
    echoes: int


def refuse_more_matches(matches: int, most: int) -> None:
    """Raise RunError if so many are too many to be written."""
    if matches > most:
        raise RunError(f"there are more than {most} matches (max_matches)")


def refuse_more_counted(matches: int, most: int) -> None:
    """Raise RunError if so many are too many to be counted."""
    if matches > most:
        raise RunError(
            f"there are more than {most} matches to be counted (max_counted): ask for a shorter range or a higher "
            "min_threshold"
        )


@dataclass(frozen=True)
class ChunkTask:
    """Answers for one chunk of a hash; match records go into the file `lines`, if there is one."""

    rows: HashRows
    keys: KeyRange
    question: Question
    streams: Mapping[str, Stream]
    lines: Path | None
    most_written: int
    most_counted: int

    def answer(self, check: Check) -> ChunkAnswer:
        """Answer; whoever does it again, even at the same time, writes the same file."""
        chunk = self.rows.read(self.keys)
        if self.lines is None:
            return self._answer(chunk, None, check)
        with written_whole(self.lines) as out:
            return self._answer(chunk, out, check)

    def _answer(self, chunk: RowChunk, out: BinaryIO | None, check: Check) -> ChunkAnswer:
        played, matches = PlayedRows.of(self.question.query, chunk), 0
        figures: list[list[MatchColumns]] = [[] for _ in self.question.thresholds]
        for nth, asked in enumerate(self.question.asked):
            for tuples in complete_tuples(played, asked, self.question.levels, check):
                figures[nth].append(MatchColumns.of_tuples(played, tuples, self.question.query.coalesce))
                refuse_more_counted(sum(len(each.reached) for each in figures[nth]), self.most_counted)
                if nth == self.question.telling:
                    matches += self._write(played, tuples, out, check)
                    refuse_more_matches(matches if out else 0, self.most_written)
        told = int(played.is_own.sum()), len(played.no_numbers), played.without_place, matches
        return ChunkAnswer(*told, figures, role_counts(played), chunk.templates, chunk.echoes)

    def _write(self, played: PlayedRows, tuples: FoundTuples, out: BinaryIO | None, check: Check) -> int:
        """Write the records of what reaches the query's own threshold; return how many they are."""
        at = np.flatnonzero(tuples.reached >= self.question.query.own_threshold)
        if out is not None:
            for match in match_records(played, tuples.rows[at], self.streams, check):
                out.write(encode(match) + b"\n")
        return len(at)

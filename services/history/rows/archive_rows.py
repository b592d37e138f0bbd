"""Rows of the archive in chunks, each small enough for memory, and the topic as such an archive."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coincide import Histogram
from coincide.arrays.kinds import BoolArray, IndexArray, Int64Array
from coincide.chunks.key_ranges import Key, KeyRange, RowGroup, key_ranges
from coincide.fusion.records.kafka_records import InputRecord
from services.history.archiving.file_names import FileName, batch_file
from services.history.archiving.folders import Archive
from services.history.archiving.frame_rows import ROW_SCHEMA, FrameRows
from services.history.archiving.layout import is_archive
from services.history.replaying.request import RunError
from services.history.rows.counting_rows import EchoesUs, echoes_in, first_of_each
from services.history.rows.topic_records import ReadShare, TopicRecords, records_between

Progress = Callable[[float], None]
"""Is told which share of the reading is done; what it raises ends the reading."""

ReachOf = Callable[[Mapping[str, Sequence[Histogram]]], int]
"""Returns how far members of a match may lie apart, given the templates of each stream."""

T = TypeVar("T")

CHUNK_ROWS = 400_000
TRIES = 3  # where files are just being merged
ROWS_OF_TOPIC = 200_000  # that become one file


@dataclass(frozen=True)
class Wanted:
    """Which detections are wanted: of some streams, detected in [from_us, to_us), no echoes; at most so many at once.

    What was reported just before tells which are echoes, and is read as well.
    """

    streams: Collection[str]
    from_us: int
    to_us: int
    most: int
    echoes_us: EchoesUs = field(default_factory=dict)

    @property
    def echo_us(self) -> int:
        """How far behind another report an echo of any stream is at most."""
        return max(self.echoes_us.values(), default=0)

    @property
    def read_from_us(self) -> int:
        """From when on rows are read."""
        return self.from_us - self.echo_us

    def mask(self, rows: pa.Table) -> pa.Array:
        """Whether each row is read."""
        of_stream = pc.is_in(rows["stream"], pa.array(sorted(self.streams), pa.string()))
        at = rows["detected_at_us"]
        return pc.and_(of_stream, pc.and_(pc.greater_equal(at, self.read_from_us), pc.less(at, self.to_us)))


@dataclass(frozen=True, eq=False)
class RowChunk:
    """Rows with their templates, and which of them are the chunk's own; it sees the others beyond its ends.

    Each detection is there once, and none is an echo. So many `echoes` would have been its own.
    """

    rows: pa.Table
    is_own: BoolArray
    templates: Mapping[str, Histogram]
    echoes: int = 0


@dataclass(frozen=True)
class HashRows:
    """The wanted rows of all areas of one hash; no match has members in two hashes."""

    archive: Archive
    area_hash: int
    wanted: Wanted

    def cut(self, reach_of: ReachOf, chunk_rows: int, *, looks_back: bool) -> list[KeyRange]:
        """Cut them into chunks, each of which sees as far beyond its ends as its matches may reach."""
        return in_spite_of_merging(lambda: self._cut(reach_of, chunk_rows, looks_back))

    def read(self, keys: KeyRange) -> RowChunk:
        """Read a chunk; where a merged file has taken the place of others since, its rows are found again."""
        try:
            return self._chunk(keys)
        except FileNotFoundError:
            return in_spite_of_merging(lambda: self._chunk(self._placed_again(keys)))

    def _cut(self, reach_of: ReachOf, chunk_rows: int, looks_back: bool) -> list[KeyRange]:
        if not is_archive(self.archive.path):
            raise RunError(f"{self.archive.path} is no archive here: on a cluster, every worker has to see it there")
        groups, places = _in_stretches(self._groups(), chunk_rows)
        if not groups:
            return []
        reach_us = reach_of(self._templates(places))
        back_us = (reach_us if looks_back else 0) + self.wanted.echo_us
        ranges = key_ranges(groups, reach_us, chunk_rows, back_us)
        return [replace(keys, own=_placed(keys.own, places), beside=_placed(keys.beside, places)) for keys in ranges]

    def _groups(self) -> list[list[RowGroup]]:
        """Return the row groups of each file that counts, as far as they may have rows of the range."""
        files = (self.archive.folder(day, self.area_hash) / file.name for day, file in self._counting)
        return [[*_row_groups(file, self.wanted)] for file in files]

    @property
    def _counting(self) -> Iterator[tuple[int, FileName]]:
        return self.archive.counting(self.area_hash, self.wanted.read_from_us, self.wanted.to_us)

    def _placed_again(self, keys: KeyRange) -> KeyRange:
        groups = chain.from_iterable(self._groups())
        return replace(keys, own=tuple(group for group in groups if keys.may_see(group)), beside=())

    def _chunk(self, keys: KeyRange) -> RowChunk:
        """Return what the chunk sees; its own are the rows between its keys and within the time of its files."""
        if keys.rows > self.wanted.most:
            raise RunError(
                f"{keys.rows} detections would be in memory at once, more than {self.wanted.most} (max_detections): "
                "the files of that day are not merged yet, or the query's windows are too long"
            )
        rows = _taken(read := self._read(keys), first_of_each(read))
        are_echoes, at_us = echoes_in(rows, self.wanted.echoes_us), rows["detected_at_us"].to_numpy()
        is_own = _between(rows, keys.first, keys.end) & (at_us >= max(keys.first_us, self.wanted.from_us))
        is_own &= at_us <= keys.last_us
        counts = np.flatnonzero(self._are_judged(keys, rows) & ~are_echoes)
        rows, echoes = _taken(rows, counts), int(np.count_nonzero(is_own & are_echoes))
        return RowChunk(rows, is_own[counts], self.archive.templates(rows["template"].unique().to_pylist()), echoes)

    def _are_judged(self, keys: KeyRange, rows: pa.Table) -> BoolArray:
        """Whether the chunk sees all that tells whether a row is an echo; the others are not wanted by the query."""
        back_us = keys.back_us - self.wanted.echo_us
        first = Key(keys.first.area, keys.first.time_us - back_us)
        least_us = max(self.wanted.from_us, keys.first_us - back_us)
        judged: BoolArray = _between(rows, first, None) & (rows["detected_at_us"].to_numpy() >= least_us)
        return judged

    def _read(self, keys: KeyRange) -> pa.Table:
        """Return the rows that a chunk sees, and those that tell which of them are echoes."""
        parts = [
            file.read_row_groups(numbers, ROW_SCHEMA.names) for file, numbers in _opened((*keys.own, *keys.beside))
        ]
        rows = pa.concat_tables([part.select(ROW_SCHEMA.names) for part in parts] or [ROW_SCHEMA.empty_table()])
        rows = rows.filter(self.wanted.mask(rows)).cast(ROW_SCHEMA)
        is_seen, at_us = _between(rows, *keys.seen), rows["detected_at_us"].to_numpy()
        is_seen &= (at_us >= keys.first_us - keys.back_us) & (at_us <= keys.last_us + keys.reach_us)
        return rows if is_seen.all() else rows.filter(pa.array(is_seen))

    def _templates(self, groups: Sequence[RowGroup]) -> Mapping[str, Sequence[Histogram]]:
        """Return the templates that each wanted stream has in some groups, which are read one at a time."""
        named = {
            (row["stream"], row["template"])
            for file, numbers in _opened(groups, dictionaries=["stream", "template"])
            for number in numbers
            for row in _distinct(file.read_row_group(number, ["stream", "template"]))
        }
        known = self.archive.templates({id_ for stream, id_ in named if stream in self.wanted.streams})
        return {
            wanted: [known[id_] for stream, id_ in sorted(named) if stream == wanted] for wanted in self.wanted.streams
        }


def copy_topic(frames: TopicRecords, wanted: Wanted, archive: Archive, progress: Progress) -> None:
    """Write the wanted rows of the whole topic, and their templates, into an archive that is new."""
    starts, ends = frames.first_offsets(), frames.end_offsets()
    share, rows, written = ReadShare(progress, records_between(starts, ends)), FrameRows(), 0
    for chunk in frames.chunks(starts, ends, share):
        for record in chunk:
            rows.add(InputRecord("detections", *record))
        share.done += len(chunk)
        if len(rows) >= ROWS_OF_TOPIC:
            _write(archive, rows, wanted, written)
            written += 1
    _write(archive, rows, wanted, written)


def _write(archive: Archive, frames: FrameRows, wanted: Wanted, written: int) -> None:
    rows, templates = frames.take()
    archive.write_templates(templates)
    archive.write(rows.filter(wanted.mask(rows)), batch_file(written, 0, 0))


def in_spite_of_merging(read: Callable[[], T]) -> T:
    """Read, and begin again where files that it has found are merged before it opens them."""
    for _ in range(TRIES - 1):
        with suppress(FileNotFoundError):
            return read()
    return read()


def _taken(rows: pa.Table, at: Int64Array) -> pa.Table:
    """Return some rows, which rise; all of them are not copied."""
    return rows if len(at) == len(rows) else rows.take(pa.array(at))


def _opened(groups: Sequence[RowGroup], dictionaries: Sequence[str] = ()) -> Iterator[tuple[pq.ParquetFile, list[int]]]:
    """Yield each file, and which of its groups are among these."""
    by_file: dict[str, list[int]] = {}
    for group in groups:
        by_file.setdefault(group.file, []).append(group.number)
    for path, numbers in by_file.items():
        with pq.ParquetFile(path, read_dictionary=list(dictionaries)) as file:
            yield file, numbers


def _distinct(rows: pa.Table) -> list[dict[str, str]]:
    distinct: list[dict[str, str]] = rows.group_by(rows.column_names).aggregate([]).to_pylist()
    return distinct


def _row_groups(path: Path, wanted: Wanted) -> Iterator[RowGroup]:
    """Yield what a file says of its row groups, those that have no row of the range left out."""
    metadata = pq.read_metadata(path)
    at_area, at_time = (ROW_SCHEMA.get_field_index(name) for name in ("area", "detected_at_us"))
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        areas, times = group.column(at_area).statistics, group.column(at_time).statistics
        if not (areas and areas.has_min_max and times and times.has_min_max):
            raise RunError(f"{path} says nothing of the areas and times in it")
        if times.min < wanted.to_us and times.max >= wanted.read_from_us:
            yield RowGroup(str(path), number, group.num_rows, areas.min, areas.max, times.min, times.max)


def _in_stretches(files: Sequence[Sequence[RowGroup]], chunk_rows: int) -> tuple[list[RowGroup], list[RowGroup]]:
    """Let small files that follow one another count as one, so that no chunk is smaller than need be.

    Return the groups, named by their stretch and by their position in the second list, which has them as they are.
    """
    groups, places, rows = list[RowGroup](), list[RowGroup](), chunk_rows
    for of_file in sorted((each for each in files if each), key=lambda each: min(group.first_us for group in each)):
        more = sum(group.rows for group in of_file)
        stretch, rows = (of_file[0].file, more) if rows + more > chunk_rows else (groups[-1].file, rows + more)
        for group in of_file:
            groups.append(group._replace(file=stretch, number=len(places)))
            places.append(group)
    return groups, places


def _placed(groups: Sequence[RowGroup], places: Sequence[RowGroup]) -> tuple[RowGroup, ...]:
    return tuple(places[group.number] for group in groups)


def _between(rows: pa.Table, first: Key, end: Key | None) -> BoolArray:
    """Whether first <= (area, time) < end, row by row."""
    area = rows["area"].combine_chunks().dictionary_encode()
    names, code = area.dictionary.to_pylist(), area.indices.to_numpy(zero_copy_only=False)
    at_us = rows["detected_at_us"].to_numpy()
    inside: BoolArray = _compared(names, first.area)[code] * 2 + (at_us >= first.time_us) > 0
    if end is not None:
        inside &= _compared(names, end.area)[code] * 2 - (at_us < end.time_us) < 0
    return inside


def _compared(names: Sequence[str], area: str) -> IndexArray:
    """Return -1, 0 or 1 for names that go before an area, are it, or go after it."""
    return np.array([(name > area) - (name < area) for name in names], np.intp)

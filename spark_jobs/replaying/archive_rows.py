"""Rows of the archive in chunks, each small enough for memory, and the topic as such an archive."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coincide import Histogram
from coincide.arrays.kinds import BoolArray, IndexArray
from coincide.chunks.key_ranges import Key, KeyRange, RowGroup, key_ranges
from spark_jobs.archiving.file_names import FileName, batch_file
from spark_jobs.archiving.folders import DAY_US, Archive, counting_files
from spark_jobs.archiving.frame_rows import ROW_SCHEMA, FrameRows
from spark_jobs.records.kafka_records import InputRecord
from spark_jobs.replaying.request import RunError
from spark_jobs.replaying.topic_records import ReadShare, TopicRecords, records_between

Progress = Callable[[float], None]
"""Is told which share of the reading is done; what it raises ends the reading."""

ReachOf = Callable[[Mapping[str, Sequence[Histogram]]], int]
"""Returns how far members of a match may lie apart, given the templates of each stream."""

CHUNK_ROWS = 400_000
ROWS_OF_TOPIC = 200_000  # that become one file


@dataclass(frozen=True)
class Wanted:
    """Which detections are read: of some streams, detected in [from_us, to_us); at most so many at once."""

    streams: Collection[str]
    from_us: int
    to_us: int
    most: int

    def mask(self, rows: pa.Table) -> pa.Array:
        """Whether each row is wanted."""
        of_stream = pc.is_in(rows["stream"], pa.array(sorted(self.streams), pa.string()))
        at = rows["detected_at_us"]
        return pc.and_(of_stream, pc.and_(pc.greater_equal(at, self.from_us), pc.less(at, self.to_us)))


@dataclass(frozen=True, eq=False)
class RowChunk:
    """Rows with their templates, and which of them are the chunk's own; it sees the others beyond its ends."""

    rows: pa.Table
    is_own: BoolArray
    templates: Mapping[str, Histogram]


@dataclass(frozen=True, eq=False)
class HashChunks:
    """The wanted rows of all areas of one hash, in chunks; no match has members in two hashes.

    `places` says where the row groups are that the ranges name: the file, and which of its groups. Reading raises
    FileNotFoundError where a merged file has taken the place of others since: begin again.
    """

    archive: Archive
    wanted: Wanted
    ranges: Sequence[KeyRange]
    places: Sequence[tuple[str, int]]

    @classmethod
    def of(cls, archive: Archive, area_hash: int, wanted: Wanted, reach_of: ReachOf, *, looks_back: bool) -> HashChunks:
        """Cut the rows of a hash so that each chunk sees as far beyond its ends as its matches may reach."""
        files = (archive.folder(day, area_hash) / file.name for day, file in _counting(archive, area_hash, wanted))
        groups, places = _in_stretches([[*_row_groups(file, wanted)] for file in files])
        uncut = cls(archive, wanted, (), places)
        if not groups:
            return uncut
        reach_us = reach_of(uncut._templates(groups))
        return replace(uncut, ranges=list(key_ranges(groups, reach_us, CHUNK_ROWS, looks_back=looks_back)))

    def read(self, keys: KeyRange) -> RowChunk:
        """Read a chunk."""
        if keys.rows > self.wanted.most:
            raise RunError(
                f"{keys.rows} detections would be in memory at once, more than {self.wanted.most} (max_detections): "
                "the files of that day are not merged yet, or the query's windows are too long"
            )
        own, beside = (self._seen(groups, keys) for groups in (keys.own, keys.beside))
        rows = pa.concat_tables([own, beside])
        is_own = _between(rows, keys.first, keys.end)
        is_own[len(own) :] = False
        return RowChunk(rows, is_own, archived_templates(self.archive, rows["template"].unique().to_pylist()))

    def _templates(self, groups: Sequence[RowGroup]) -> Mapping[str, Sequence[Histogram]]:
        """Return the templates that each wanted stream has in some groups."""
        named = self._read(groups, ["stream", "template"]).group_by(["stream", "template"]).aggregate([])
        ids: dict[str, list[str]] = {stream: [] for stream in self.wanted.streams}
        for stream, id_ in zip(named["stream"].to_pylist(), named["template"].to_pylist(), strict=True):
            if stream in ids:
                ids[stream].append(id_)
        known = archived_templates(self.archive, {id_ for each in ids.values() for id_ in each})
        return {stream: [known[id_] for id_ in each] for stream, each in ids.items()}

    def _seen(self, groups: Sequence[RowGroup], keys: KeyRange) -> pa.Table:
        """Return the wanted rows of some groups that the chunk sees."""
        rows = self._read(groups, ROW_SCHEMA.names)
        rows = rows.filter(self.wanted.mask(rows)).cast(ROW_SCHEMA)
        is_seen, at_us = _between(rows, *keys.seen), rows["detected_at_us"].to_numpy()
        is_seen &= (at_us >= keys.first_us - keys.back_us) & (at_us <= keys.last_us + keys.reach_us)
        return rows if is_seen.all() else rows.filter(pa.array(is_seen))

    def _read(self, groups: Sequence[RowGroup], names: Sequence[str]) -> pa.Table:
        by_file: dict[str, list[int]] = {}
        for path, number in (self.places[group.number] for group in groups):
            by_file.setdefault(path, []).append(number)
        parts = [pq.ParquetFile(path).read_row_groups(numbers, list(names)) for path, numbers in by_file.items()]
        empty = pa.schema([ROW_SCHEMA.field(name) for name in names]).empty_table()
        return pa.concat_tables([part.select(names) for part in parts]) if parts else empty


def archived_templates(archive: Archive, ids: Collection[str]) -> dict[str, Histogram]:
    """Return templates of the archive by id."""
    try:
        return {id_: Histogram.from_json(json.loads(_template_path(archive, id_).read_text())) for id_ in sorted(ids)}
    except (OSError, ValueError) as error:
        raise RunError(f"a template of the archive cannot be read: {error}") from None


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


def _counting(archive: Archive, area_hash: int, wanted: Wanted) -> Iterator[tuple[int, FileName]]:
    for day in range(wanted.from_us // DAY_US, (wanted.to_us - 1) // DAY_US + 1):
        yield from ((day, file) for file in counting_files(archive.folder(day, area_hash)))


def _row_groups(path: Path, wanted: Wanted) -> Iterator[RowGroup]:
    """Yield what a file says of its row groups, those that have no row of the range left out."""
    metadata = pq.read_metadata(path)
    at_area, at_time = (ROW_SCHEMA.get_field_index(name) for name in ("area", "detected_at_us"))
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        areas, times = group.column(at_area).statistics, group.column(at_time).statistics
        if not (areas and areas.has_min_max and times and times.has_min_max):
            raise RunError(f"{path} says nothing of the areas and times in it")
        if times.min < wanted.to_us and times.max >= wanted.from_us:
            yield RowGroup(str(path), number, group.num_rows, areas.min, areas.max, times.min, times.max)


def _in_stretches(files: Sequence[Sequence[RowGroup]]) -> tuple[list[RowGroup], list[tuple[str, int]]]:
    """Let small files that follow one another count as one, so that no chunk is smaller than need be.

    Return the groups, named by their stretch and by their position in the list of places, and that list.
    """
    groups, places, rows = list[RowGroup](), list[tuple[str, int]](), CHUNK_ROWS
    for of_file in sorted((each for each in files if each), key=lambda each: min(group.first_us for group in each)):
        more = sum(group.rows for group in of_file)
        stretch, rows = (of_file[0].file, more) if rows + more > CHUNK_ROWS else (groups[-1].file, rows + more)
        for group in of_file:
            groups.append(group._replace(file=stretch, number=len(places)))
            places.append((group.file, group.number))
    return groups, places


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


def _template_path(archive: Archive, id_: str) -> Path:
    return archive.path / "templates" / f"{id_}.json"

"""Rows of the archive, and of the topic in the same form: the detections of some streams in a range of time."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from coincide import Histogram
from spark_jobs.archiving.folders import DAY_US, Archive, counting_files
from spark_jobs.archiving.frame_rows import ROW_SCHEMA, FrameRows
from spark_jobs.records.kafka_records import InputRecord
from spark_jobs.replaying.request import RunError
from spark_jobs.replaying.topic_records import ReadShare, TopicRecords, records_between

Progress = Callable[[float], None]
"""Is told which share of the reading is done; what it raises ends the reading."""

TRIES = 3  # of a folder whose files are just being merged


@dataclass(frozen=True)
class Wanted:
    """Which detections are read: of some streams, detected in [from_us, to_us), at most so many."""

    streams: Collection[str]
    from_us: int
    to_us: int
    most: int

    def mask(self, rows: pa.Table) -> pa.Array:
        """Whether each row is wanted."""
        of_stream = pc.is_in(rows["stream"], pa.array(sorted(self.streams), pa.string()))
        at = rows["detected_at_us"]
        return pc.and_(of_stream, pc.and_(pc.greater_equal(at, self.from_us), pc.less(at, self.to_us)))

    def refuse_more(self, rows: int) -> None:
        """Raise RunError if so many rows are too many."""
        if rows > self.most:
            raise RunError(f"the range has more than {self.most} detections (max_detections): ask for a shorter one")


def archived_rows(archive: Archive, wanted: Wanted, progress: Progress) -> pa.Table:
    """Return the wanted rows of the archive."""
    folders = [
        archive.folder(day, area_hash)
        for day in range(wanted.from_us // DAY_US, (wanted.to_us - 1) // DAY_US + 1)
        for area_hash in range(archive.area_hashes)
    ]
    parts = [ROW_SCHEMA.empty_table()]
    for nth, folder in enumerate(folders):
        progress(nth / len(folders))
        parts.append(_rows_of(folder, wanted))
        wanted.refuse_more(sum(map(len, parts)))
    return pa.concat_tables(parts)


def archived_templates(archive: Archive, ids: Collection[str]) -> dict[str, Histogram]:
    """Return templates of the archive by id."""
    try:
        return {id_: Histogram.from_json(json.loads(_template_path(archive, id_).read_text())) for id_ in ids}
    except (OSError, ValueError) as error:
        raise RunError(f"a template of the archive cannot be read: {error}") from None


def topic_rows(frames: TopicRecords, wanted: Wanted, progress: Progress) -> tuple[pa.Table, dict[str, Histogram]]:
    """Return the wanted rows of the whole topic, and their templates."""
    parts, contents = [ROW_SCHEMA.empty_table()], dict[str, Mapping[str, object]]()
    for table, templates in _decoded(frames, progress):
        parts.append(table.filter(wanted.mask(table)))
        contents |= templates
        wanted.refuse_more(sum(map(len, parts)))
    return pa.concat_tables(parts), {id_: Histogram.from_json(content) for id_, content in contents.items()}


def _decoded(frames: TopicRecords, progress: Progress) -> Iterator[tuple[pa.Table, Mapping[str, Mapping[str, object]]]]:
    starts, ends = frames.first_offsets(), frames.end_offsets()
    share, rows = ReadShare(progress, records_between(starts, ends)), FrameRows()
    for chunk in frames.chunks(starts, ends, share):
        for record in chunk:
            rows.add(InputRecord("detections", *record))
        share.done += len(chunk)
        yield rows.take()


def _rows_of(folder: Path, wanted: Wanted) -> pa.Table:
    """Return the wanted rows of one folder; its files may be replaced by a merged one meanwhile."""
    for attempt in range(TRIES):
        try:
            parts = [_read(folder / file.name, wanted) for file in counting_files(folder)]
            return pa.concat_tables([ROW_SCHEMA.empty_table(), *parts])
        except FileNotFoundError:
            if attempt == TRIES - 1:
                raise
    raise AssertionError("unreachable: the last attempt returns or raises")


def _read(path: Path, wanted: Wanted) -> pa.Table:
    """Return the wanted rows of one file; statistics tell which of its row groups have none."""
    file = pq.ParquetFile(path)
    at = ROW_SCHEMA.get_field_index("detected_at_us")
    groups = [
        number
        for number in range(file.num_row_groups)
        if _overlaps(file.metadata.row_group(number).column(at).statistics, wanted)
    ]
    rows = file.read_row_groups(groups).select(ROW_SCHEMA.names)
    return rows.filter(wanted.mask(rows)).cast(ROW_SCHEMA)


def _overlaps(statistics: pq.Statistics | None, wanted: Wanted) -> bool:
    if statistics is None or not statistics.has_min_max:
        return True
    return bool(statistics.min < wanted.to_us and statistics.max >= wanted.from_us)


def _template_path(archive: Archive, id_: str) -> Path:
    return archive.path / "templates" / f"{id_}.json"

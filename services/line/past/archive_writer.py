"""ArchiveWriter: follows the detections of a log of this machine into the archive.

**Exactly once.** Rows of a batch are written and on the disk before the position behind them is. What a process left
that was killed in between is deleted before the next batch, which has the same number.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from msgspec import json

from coincide.fusion.records.kafka_records import InputRecord
from services.common.settings import SettingsError
from services.history.archiving.file_names import batch_file
from services.history.archiving.folders import Archive
from services.history.archiving.frame_rows import FrameRows
from services.history.archiving.layout import POSITION, sweep, write_whole
from services.history.archiving.merging import merge_folders
from services.history.rows.topic_records import TopicRecords
from services.line.past.archive_position import ArchivePosition, read_position

LOCK = ".lock"
ROWS_IN_BATCH = 200_000  # so many are in memory at once
MERGE_EVERY = 10  # batches

Offsets = Mapping[int, int]


class ArchiveWriter:
    """Writes what the archive has not yet; one process at a time, others wait."""

    def __init__(self, archive: Archive, detections: TopicRecords, *, allow_data_loss: bool) -> None:
        self._archive, self._detections, self._allow_data_loss = archive, detections, allow_data_loss

    def catch_up(self) -> None:
        """Write all that the log has now; a `SettingsError` says why that cannot be."""
        with self._alone():
            position = self._position()
            for folder in self._archive.folders():
                sweep(folder, position.next_batch)
            ends = self._detections.end_offsets()
            starts = self._starts(position, ends)
            rows, reached = FrameRows(), dict(starts)
            for chunk in self._detections.chunks(starts, ends, lambda: None):
                for record in chunk:
                    rows.add(InputRecord("detections", *record))
                    reached[record.partition] = record.offset + 1
                if len(rows) >= ROWS_IN_BATCH:
                    position = self._written(rows, position, reached)
            if {**starts, **ends} != position.offsets:
                self._written(rows, position, {**reached, **ends})

    @contextmanager
    def _alone(self) -> Iterator[None]:
        with (self._archive.path / LOCK).open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield

    def _position(self) -> ArchivePosition:
        """Return how far the archive is, which has to be one of this log."""
        position, topic_id = read_position(self._archive.path), self._detections.topic_id
        if position is None and self._archive.checkpoint.exists():
            raise SettingsError(f"the archive in {self._archive.path} is one of Spark's job: choose another folder")
        if position is not None and position.topic_id != topic_id:
            raise SettingsError(f"the archive in {self._archive.path} is of another log: move it away")
        return position or ArchivePosition(topic_id, 0, {})

    def _starts(self, position: ArchivePosition, ends: Offsets) -> dict[int, int]:
        firsts = self._detections.first_offsets()
        if any(at > ends[each] for each, at in position.offsets.items()):
            raise SettingsError(
                f"the archive in {self._archive.path} has more than the log, which is older: move it away"
            )
        lost = [each for each, at in position.offsets.items() if at < firsts[each]]
        if lost and not self._allow_data_loss:
            raise SettingsError(
                f"the log deleted detections before they were archived, of partition {lost[0]} those from "
                f"{position.offsets[lost[0]]} up to {firsts[lost[0]]}: archive.yaml's allow_data_loss goes on without"
            )
        return {each: max(first, position.offsets.get(each, 0)) for each, first in firsts.items()}

    def _written(self, frames: FrameRows, position: ArchivePosition, reached: Offsets) -> ArchivePosition:
        """Write a batch, then that it is there."""
        archive, batch = self._archive, position.next_batch
        rows, templates = frames.take()
        archive.write_templates(templates)
        if len(rows):
            archive.write(rows, batch_file(batch, 0, 0))
        after = ArchivePosition(position.topic_id, batch + (len(rows) > 0), dict(reached))
        _sync_folders(archive.path)
        write_whole(archive.path / POSITION, json.encode(after))
        _sync(archive.path)
        if after.next_batch > batch and after.next_batch % MERGE_EVERY == 0:
            merge_folders(archive, after.next_batch, time.strftime("%Y-%m-%d", time.gmtime()))
        return after


def _sync_folders(path: Path) -> None:
    """Let the names of all files below a folder be on the disk."""
    for each in (path, *(Path(folder) for folder, _, _ in os.walk(path))):
        _sync(each)


def _sync(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)

"""Merging: which small files of the archive become one, and how."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from services.history.archiving.file_names import FileName, merged_file
from services.history.archiving.folders import Archive, write_rows
from services.history.archiving.layout import counting_files, day_of, sweep

MERGE_FROM = 32  # small files of a folder
MOST_ROWS = 4_000_000  # of a merged file: so many are in memory at once
SETTLED_AFTER = 20  # batches without a row for a day that is over


def merge_folders(archive: Archive, next_batch: int, today: str, merge_from: int = MERGE_FROM) -> int:
    """Merge where it is due, given the first batch that is not committed and the day as 2026-11-22.

    The files of a batch that may be written again are left alone. Return how many files were merged.
    """
    return sum(
        merge(folder, group, next_batch)
        for folder in archive.folders()
        for group in due(folder, next_batch, is_over=day_of(folder) < today, merge_from=merge_from)
    )


def due(folder: Path, next_batch: int, *, is_over: bool, merge_from: int = MERGE_FROM) -> Iterator[list[FileName]]:
    """Yield the files of a folder that are to become one, in the order of their batches.

    Those are its small files once there are many. Once the day is over and nothing has come for a while, all are.
    """
    files = [file for file in counting_files(folder) if file.stop <= next_batch]
    is_settled = is_over and bool(files) and next_batch - files[-1].stop >= SETTLED_AFTER
    if is_settled and len(files) > 1:
        yield from _bounded(folder, files)
        return
    for is_merged, run in groupby(files, key=lambda file: file.is_merged):
        small = list(run)
        if not is_merged and len({file.first for file in small}) >= merge_from:
            yield from _bounded(folder, small)


def merge(folder: Path, files: Sequence[FileName], next_batch: int) -> int:
    """Put one sorted file in place of these, which follow each other; return how many they were."""
    rows = pa.concat_tables([pq.ParquetFile(folder / file.name).read() for file in files])
    write_rows(folder / merged_file(files[0].first, max(file.stop for file in files)), rows)
    sweep(folder, next_batch)
    return len(files)


def _bounded(folder: Path, files: Sequence[FileName]) -> Iterator[list[FileName]]:
    """Part files so that each part has at most `MOST_ROWS`; files of one batch stay together, one alone is no part."""
    part: list[FileName] = []
    rows = 0
    for _, batch in groupby(files, key=lambda file: file.first):
        together = list(batch)
        more = sum(pq.read_metadata(folder / file.name).num_rows for file in together)
        if part and rows + more > MOST_ROWS:
            yield from [part] if len(part) > 1 else []
            part, rows = [], 0
        part += together
        rows += more
    yield from [part] if len(part) > 1 else []
